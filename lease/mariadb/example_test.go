package mariadb_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/mariadb"
)

// A program keeps its leases in a table, by TLS.
func Example() {
	ctx := context.Background()
	const url = "mysql://app:password@db.example.com:3306/app?table=ids&ca=/etc/ssl/db.pem"
	engine, err := mariadb.Connect(ctx, url)
	if err != nil {
		log.Fatal(err)
	}
	space, err := lease.Open(ctx, engine, lease.Config{}) // randflake store init has made it, once
	if err != nil {
		log.Fatal(err)
	}
	defer space.Close()
	secret, err := randflake.ParseSecret(os.Getenv("RANDFLAKE_SECRET"))
	if err != nil {
		log.Print(err)
		return
	}
	keeper, err := lease.Keep(ctx, space, secret)
	if err != nil {
		log.Print(err)
		return
	}
	defer keeper.Close()
	fmt.Println(keeper.Generator().Generate())
}
