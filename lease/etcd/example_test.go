package etcd_test

import (
	"context"
	"fmt"
	"log"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/etcd"
)

// A program keeps its leases in a cluster of three members.
func Example() {
	ctx := context.Background()
	const url = "etcds://app:password@etcd1:2379,etcd2:2379,etcd3:2379/?prefix=/ids/&ca=/etc/etcd/ca.pem"
	engine, err := etcd.Connect(ctx, url)
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
