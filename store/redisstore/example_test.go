package redisstore_test

import (
	"context"
	"errors"
	"log"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/redisstore"
)

func ExampleOpen() {
	ctx := context.Background()
	const url = "rediss://app:password@redis.example.com:6379"
	s, err := redisstore.Open(ctx, url)
	if errors.Is(err, store.ErrNoStore) {
		s, err = redisstore.Create(ctx, url) // once; see store.Create before this goes into a program
	}
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
}
