package etcdstore_test

import (
	"context"
	"fmt"
	"log"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/etcdstore"
)

func Example() {
	ctx := context.Background()
	store, err := etcdstore.Open(ctx, "etcds://etcd-1:2379,etcd-2:2379,etcd-3:2379/?ca=/etc/etcd/ca.pem")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	keeper, err := lease.Keep(ctx, store, randflake.NewSecret())
	if err != nil {
		log.Fatal(err)
	}
	defer keeper.Close()
	id, err := keeper.Generator().Generate()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id)
}
