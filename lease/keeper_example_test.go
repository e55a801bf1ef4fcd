package lease_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// Memory forgets everything, so it is for tests: a service opens a store that keeps its records.
func ExampleKeep() {
	store := storetest.NewLeases(store.DefaultLimits(), nil)
	keeper, err := lease.Keep(context.Background(), store, randflake.NewSecret(), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := keeper.Generator().Generate()
	fmt.Println(id != 0, err)
	fmt.Println(keeper.Close())
	// Output:
	// true <nil>
	// <nil>
}
