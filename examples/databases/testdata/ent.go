// The program of TestEnt: it makes rows by the code that ent has made of the schema, and prints their keys.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/randflake/randflake/examples/databases/orm"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	db, err := sql.Open("pgx", os.Args[1])
	if err != nil {
		return err
	}
	client := orm.NewClient(orm.Driver(entsql.OpenDB("postgres", db)))
	defer client.Close()
	if err := client.Schema.Create(ctx); err != nil {
		return err
	}
	made, err := client.Parcel.CreateBulk(
		client.Parcel.Create().SetItem("tea"),
		client.Parcel.Create().SetItem("cups").SetID(-1),
		client.Parcel.Create().SetItem("a pot"),
	).Save(ctx)
	if err != nil {
		return err
	}
	for _, row := range made {
		back, err := client.Parcel.Get(ctx, row.ID)
		if err != nil {
			return err
		}
		fmt.Println(back.ID, back.Item)
	}
	return nil
}
