//go:build linux

package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/pgstore"
)

// A deployment creates the store once (randflake lease init -store URL), and services open it.
func Example() {
	ctx := context.Background()
	store, err := pgstore.Open(ctx, "postgres://app:password@db.example.com/app?sslmode=verify-full")
	if errors.Is(err, lease.ErrNoStore) {
		log.Fatal("create it first: ", err)
	}
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	var secret randflake.Secret // from where the service keeps it
	keeper, err := lease.Keep(ctx, store, secret)
	if err != nil {
		log.Fatal(err)
	}
	defer keeper.Close()
	id, err := keeper.Generator().Generate()
	fmt.Println(id, err)
}

// For a database administrator who lets no program create tables.
func ExampleDDL() {
	statements, err := pgstore.DDL("leases")
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(statements) {
		if strings.Contains(line, "GRANT") {
			fmt.Print(line)
		}
	}
	// Output:
	// --   GRANT USAGE ON SCHEMA "leases" TO role;
	// --   GRANT SELECT, INSERT, UPDATE ON "leases".meta, "leases".ranges TO role;
	// --   GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA "leases" TO role;
}
