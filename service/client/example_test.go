package client_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/client"
)

// A program makes its IDs itself, under a lease that randflaked grants.
func Example() {
	ctx := context.Background()
	secret, err := randflake.ParseSecret(os.Getenv("RANDFLAKE_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	replicas := []string{"https://ids-1.example:8443", "https://ids-2.example:8443"}
	leases, err := client.OpenLeases(ctx, "orders", replicas, client.WithToken(os.Getenv("RANDFLAKED_TOKEN")))
	if err != nil {
		log.Fatal(err)
	}
	keeper, err := lease.Keep(ctx, leases, secret)
	if err != nil {
		log.Fatal(err)
	}
	defer keeper.Close()
	id, err := keeper.Generator().Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id)
}
