package mariadb_test

import (
	"context"
	"fmt"
	"log"

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
	fmt.Println(space) // for lease.Keep, whose example goes on from here
}
