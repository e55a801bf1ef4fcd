package postgres_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/postgres"
)

// A program keeps its leases in the database that it uses anyway.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	engine, err := postgres.New(pool, postgres.Config{})
	if err != nil {
		log.Fatal(err)
	}
	space, err := lease.Open(ctx, engine, lease.Config{}) // randflake store init has made it, once
	if err != nil {
		log.Fatal(err)
	}
	defer space.Close()
	fmt.Println(space) // for lease.Keep, whose example goes on from here
}
