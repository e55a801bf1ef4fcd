package url_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
)

// The environment says where the leases are from: RANDFLAKE_STORE and RANDFLAKE_SECRET. Without
// them they are from a directory of the user.
func ExampleKeep() {
	keeper, err := url.Keep(context.Background(), "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer keeper.Close()
	fmt.Println(keeper.Generator().Generate())
}

func ExampleOpen() {
	ctx := context.Background()
	space, err := url.Open(ctx, os.Getenv("RANDFLAKE_STORE"), lease.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer space.Close()
	info, err := space.Info(ctx)
	fmt.Println(space.Limits().Nodes, "nodes,", info.TakenNodes, "are taken:", err)
}

// An orderIDs makes IDs of orders.
type orderIDs struct{ *randflake.Generator }

func (g orderIDs) next() (string, error) {
	id, err := g.Generate()
	return "order_" + id.String(), err
}

// A program keeps a generator of its own in leases of a space.
func ExampleOpen_keepFor() {
	ctx := context.Background()
	space, err := url.Open(ctx, "postgres://app:password@db.example.com/app?sslmode=verify-full&space=orders", lease.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer space.Close()
	secret, err := randflake.ParseSecret(os.Getenv("RANDFLAKE_SECRET"))
	if err != nil {
		log.Print(err)
		return
	}
	keeper, err := lease.KeepFor(ctx, space, func(first randflake.Lease) (orderIDs, error) {
		g, err := randflake.New(secret, first)
		return orderIDs{g}, err
	})
	if err != nil {
		log.Print(err)
		return
	}
	defer keeper.Close()
	fmt.Println(keeper.Generator().next())
}
