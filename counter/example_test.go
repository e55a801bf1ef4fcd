package counter_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/file"
	"github.com/randflake/randflake/lease/leasetest"
)

// Two processes number orders. Each takes runs of ten numbers or more, so its numbers grow, and no number
// comes twice.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "store") // a program has a directory that stays, or a server
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	engine, err := file.New(dir)
	if err != nil {
		log.Fatal(err)
	}
	space, err := lease.Create(ctx, engine, lease.Config{NeverUsed: true}) // once, and then lease.Open
	if err != nil {
		log.Fatal(err)
	}
	defer space.Close()

	counters := counter.From(space)
	for _, process := range []string{"a", "b"} {
		orders, err := counters.Open(ctx, "orders", counter.OrCreate(counter.Config{Start: 1000}))
		if err != nil {
			log.Fatal(err)
		}
		defer orders.Close()
		for range 3 {
			n, err := orders.Wait(ctx)
			fmt.Println(process, n, err)
		}
	}
	// Output:
	// a 1000 <nil>
	// a 1001 <nil>
	// a 1002 <nil>
	// b 1010 <nil>
	// b 1011 <nil>
	// b 1012 <nil>
}

// exampleCounters are in memory. A program has them in a directory or on a server that keeps them.
func exampleCounters(ctx context.Context) *counter.Counters {
	space, err := lease.Create(ctx, leasetest.NewMemory().Connect(), lease.Config{NeverUsed: true})
	if err != nil {
		log.Fatal(err)
	}
	return counter.From(space)
}

// Tickets are numbered in the order in which people come, whichever process they come to.
func ExampleCounters_OpenStrict() {
	ctx := context.Background()
	counters := exampleCounters(ctx)
	var processes [2]*counter.Strict
	for i := range processes {
		tickets, err := counters.OpenStrict(ctx, "tickets", counter.OrCreate(counter.Config{}))
		if err != nil {
			log.Fatal(err)
		}
		defer tickets.Close()
		processes[i] = tickets
	}
	for i := range 4 {
		n, err := processes[i%2].Next(ctx)
		fmt.Println(n, err)
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
	// 4 <nil>
}

// Two hundred rows get their numbers before they are inserted. The counter ends at 250.
func ExampleCounter_FillWait() {
	ctx := context.Background()
	rows, err := exampleCounters(ctx).Open(ctx, "rows", counter.OrCreate(counter.Config{Last: 250}))
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	numbers := make([]int64, 200)
	n, err := rows.FillWait(ctx, numbers)
	fmt.Println(n, numbers[0], numbers[n-1], err)
	n, err = rows.FillWait(ctx, numbers) // the first 50 are good
	fmt.Println(n, numbers[0], numbers[n-1], errors.Is(err, lease.ErrCounterEnded))
	// Output:
	// 200 1 200 <nil>
	// 50 201 250 true
}
