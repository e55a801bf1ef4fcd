package counter_test

import (
	"context"
	"fmt"
	"log"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/leasetest"
)

// exampleSpace is a new space in memory. A service has one on a server: postgres.Open, redis.Open and so on.
func exampleSpace() *store.Space {
	space, err := store.Create(context.Background(), leasetest.NewMemory().Connect(), store.ForNewSecret())
	if err != nil {
		log.Fatal(err)
	}
	return space
}

func Example() {
	ctx := context.Background()
	counters := counter.On(exampleSpace())
	orders, err := counters.Open(ctx, "orders", counter.OrCreate())
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		n, err := orders.Wait(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n)
	}
	if err := orders.Close(); err != nil { // the numbers that are left go back
		log.Fatal(err)
	}
	info, err := counters.Get(ctx, "orders")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("next:", info.Next)
	// Output:
	// 1
	// 2
	// 3
	// next: 4
}

func ExampleCounters_OpenStrict() {
	ctx := context.Background()
	counters := counter.On(exampleSpace())
	here, err := counters.OpenStrict(ctx, "tickets", counter.OrCreate())
	if err != nil {
		log.Fatal(err)
	}
	there, err := counters.OpenStrict(ctx, "tickets") // another process
	if err != nil {
		log.Fatal(err)
	}
	first, err := here.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	second, err := there.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first, second)
	// Output: 1 2
}

// Two databases side by side, each with a space of its own, give numbers that are different.
func ExampleWithStride() {
	ctx := context.Background()
	for place, space := range []*store.Space{exampleSpace(), exampleSpace()} {
		c, err := counter.On(space).Open(ctx, "orders", counter.OrCreate(), counter.WithStride(5), counter.WithStart(int64(place)+1))
		if err != nil {
			log.Fatal(err)
		}
		var numbers [3]int64
		if _, err := c.FillWait(ctx, numbers[:]); err != nil {
			log.Fatal(err)
		}
		fmt.Println(numbers)
	}
	// Output:
	// [1 6 11]
	// [2 7 12]
}
