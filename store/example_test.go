package store_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// The spaces of one engine are apart: here one for each kind of ID, each bound to its secret from the start. (Memory
// forgets everything; a service has a directory or a server.)
func ExampleCreate() {
	ctx, data := context.Background(), storetest.NewMemory()
	for name, check := range map[string]store.CheckValue{"orders": {1}, "invoices": {2}} {
		space, err := store.Create(ctx, data.Connect(), store.WithSpace(name), store.ForSecret(store.Keys{{Check: check}}), store.ForNewSecret())
		if err != nil {
			fmt.Println(err)
			return
		}
		space.Close()
	}
	space, err := store.Open(ctx, data.Connect(), store.WithSpace("orders"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer space.Close()
	_, err = store.Open(ctx, data.Connect(), store.WithSpace("refunds"))
	fmt.Println(errors.Is(err, store.ErrNoStore))
	// Output: true
}

// OrCreate spares the step of Create. Such a space grants nothing that starts before its floor: it may have been there
// and got lost.
func ExampleOrCreate() {
	ctx, data := context.Background(), storetest.NewMemory()
	space, err := store.Open(ctx, data.Connect(), store.OrCreate())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer space.Close()
	fmt.Println("opened")
	// Output: opened
}
