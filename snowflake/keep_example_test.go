package snowflake_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// Memory forgets everything, so it is for tests: a service opens a store that keeps its records.
func ExampleKeep() {
	layout, err := snowflake.NewLayout("orders", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Millisecond,
		snowflake.Time(41), snowflake.Static("region", 3), snowflake.Static("worker", 7), snowflake.Sequence(12))
	if err != nil {
		fmt.Println(err)
		return
	}
	store := storetest.NewLeases(store.DefaultLimits(), nil)
	keeper, err := snowflake.Keep(context.Background(), store, layout,
		snowflake.Pin("region", 2),
		snowflake.Leasing(lease.WithTTL(time.Minute), lease.WithLogger(slog.New(slog.DiscardHandler))))
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := keeper.Generator().Generate()
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, _ := layout.Inspect(id)
	fmt.Println(fields.Static)
	fmt.Println(keeper.Close())
	// Output:
	// map[region:2 worker:0]
	// <nil>
}
