package etcdstore_test

import (
	"context"
	"errors"
	"log"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/etcdstore"
)

func ExampleOpen() {
	ctx := context.Background()
	const url = "etcds://app:password@etcd-1.example.com:2379,etcd-2.example.com:2379/?prefix=/ids/"
	s, err := etcdstore.Open(ctx, url)
	if errors.Is(err, store.ErrNoStore) {
		s, err = etcdstore.Create(ctx, url) // once; see store.Create before this goes into a program
	}
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
}
