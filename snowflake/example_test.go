package snowflake_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/snowflake"
)

// Worker number 7 is this process's own: nobody else may have it. Keep gets such numbers from a store.
func Example() {
	layout := snowflake.Twitter()
	generator, err := snowflake.New(layout, snowflake.Forever(7))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer generator.Close()

	first, err := generator.Generate()
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := generator.Generate()
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, err := layout.Inspect(second)
	fmt.Println(first < second, fields.Static, err)
	// Output:
	// true map[datacenter:0 worker:7] <nil>
}

// The clock steps back by a minute, and the IDs of that time get another rollback.
func ExampleStepBack() {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	layout, _ := snowflake.ParseLayout("node8")
	generator, err := snowflake.New(layout, snowflake.Forever(7), snowflake.StepBack(), snowflake.WithClock(func() time.Time { return now }))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		id, err := generator.Generate()
		fields, _ := layout.Inspect(id)
		fmt.Println(fields.Time.Format(time.TimeOnly), fields.Rollback, err)
		now = now.Add(-time.Minute)
	}
	// Output:
	// 12:00:00 0 <nil>
	// 11:59:00 1 <nil>
}

func ExampleParseLayout() {
	layout, err := snowflake.ParseLayout("orders: time 41, region 3, worker 7, sequence 12; 1ms since 2025-01-01T00:00:00Z")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(layout)
	fmt.Println(layout.Workers(), "workers until", layout.Expires().Year())

	_, err = snowflake.ParseLayout("orders: time 41, worker 10, sequence 14; 1ms since 2025-01-01T00:00:00Z")
	fmt.Println(err)
	// Output:
	// orders: time 41, region 3, worker 7, sequence 12; 1ms since 2025-01-01T00:00:00Z
	// 1024 workers until 2094
	// snowflake: invalid layout: time 41, worker 10, sequence 14: 65 bits together: want at most 64
}

func ExampleLayout_Inspect() {
	id, err := snowflake.Parse("175928847299117063")
	if err != nil {
		fmt.Println(err)
		return
	}
	layout, err := snowflake.ParseLayout("discord")
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, err := layout.Inspect(id)
	fmt.Println(fields.Time, fields.Static, fields.Sequence, err)
	// Output:
	// 2016-04-30 11:18:25.796 +0000 UTC map[process:0 worker:1] 7 <nil>
}

func ExampleLayout_Range() {
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	first, last, err := snowflake.Twitter().Range(day, day.AddDate(0, 0, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("SELECT * FROM posts WHERE id BETWEEN %d AND %d\n", first, last)
	// Output:
	// SELECT * FROM posts WHERE id BETWEEN 2123929381893046272 AND 2124291769758646271
}

// Memory forgets everything, so it is for tests: a service opens a space that lasts.
func ExampleKeep() {
	layout, err := snowflake.ParseLayout("orders: time 41, region 3, worker 7, sequence 12; 1ms since 2025-01-01T00:00:00Z")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	space, err := lease.Create(ctx, leasetest.NewMemory().Connect(), lease.Config{Limits: lease.Limits{Nodes: 128}, NeverUsed: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	keeper, err := snowflake.Keep(ctx, space, layout,
		snowflake.Pin("region", 2), snowflake.Leasing(lease.WithLogger(slog.New(slog.DiscardHandler))))
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
