package kubernetes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/kubernetes"
)

// A pod keeps its leases in a ConfigMap of its namespace.
func Example() {
	ctx := context.Background()
	engine, err := kubernetes.Connect(ctx, "kubernetes:shop/ids")
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
