package mysqlstore_test

import (
	"context"
	"errors"
	"log"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/mysqlstore"
)

func ExampleOpen() {
	ctx := context.Background()
	const url = "mysql://app:password@db.example.com:3306/app?tls=true"
	s, err := mysqlstore.Open(ctx, url)
	if errors.Is(err, store.ErrNoStore) {
		s, err = mysqlstore.Create(ctx, url) // once; see store.Create before this goes into a program
	}
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
}
