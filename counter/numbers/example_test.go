package numbers_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/counter/numbers"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// exampleClock stands still, so that examples print the same each day.
func exampleClock() time.Time { return time.Date(2026, 11, 22, 23, 30, 0, 0, time.UTC) }

// exampleCounters are in memory. A program has them in a directory or on a server that keeps them.
func exampleCounters() *counter.Counters {
	config := lease.Config{NeverUsed: true, Clock: exampleClock}
	space, err := lease.Create(context.Background(), leasetest.NewMemory().Connect(), config)
	if err != nil {
		panic(err)
	}
	return counter.From(space)
}

// exampleSecret is a Secret that a program has from where it is kept.
func exampleSecret() randflake.Secret {
	secret, err := randflake.ParseSecret("dffd6021000000000000000000000000")
	if err != nil {
		panic(err)
	}
	return secret
}

func Example() {
	ctx := context.Background()
	orders, err := numbers.Open(ctx, exampleCounters(), "orders", "ORD-{date:20060102}-{n:6}{check:mod97-10}",
		numbers.WithClock(exampleClock))
	if err != nil {
		panic(err)
	}
	defer orders.Close()
	for range 2 {
		number, err := orders.Next(ctx)
		fmt.Println(number, err)
	}

	number, err := orders.Parse("ORD-20261122-00000170")
	fmt.Println(number.Period, number.N, err)
	_, err = orders.Parse("ORD-20261122-00001070")
	fmt.Println(errors.Is(err, numbers.ErrInvalidNumber))
	// Output:
	// ORD-20261122-00000170 <nil>
	// ORD-20261122-00000267 <nil>
	// 2026-11-22 1 <nil>
	// true
}

// Customers see numbers that do not tell how many orders there are.
func ExampleEncrypted() {
	ctx := context.Background()
	orders, err := numbers.Open(ctx, exampleCounters(), "orders", "ORD-{date:2006}-{n:8:consonants}",
		numbers.Encrypted(exampleSecret()), numbers.WithClock(exampleClock))
	if err != nil {
		panic(err)
	}
	defer orders.Close()
	for range 3 {
		number, err := orders.Next(ctx)
		fmt.Println(number.N, number, err)
	}
	// Output:
	// 1 ORD-2026-CB3N1NK1 <nil>
	// 2 ORD-2026-T5C9R2JR <nil>
	// 3 ORD-2026-05R7SBSM <nil>
}

// The day is printed, and the counter goes on through the year.
func ExampleWithPeriods() {
	invoices, err := numbers.NewFormat("invoices", "{date:060102}-{n:5}", numbers.WithPeriods(numbers.Year))
	if err != nil {
		panic(err)
	}
	number, err := invoices.Number(exampleClock(), 1234)
	fmt.Println(number, number.Period, err)
	// Output:
	// 261122-01234 2026 <nil>
}

// A service that reads numbers needs no store.
func ExampleFormat_Parse() {
	orders, err := numbers.NewFormat("orders", "ORD-{date:20060102}-{n:6}", numbers.Encrypted(exampleSecret()))
	if err != nil {
		panic(err)
	}
	number, err := orders.Parse("ORD-20261123-961689")
	fmt.Println(number.Period, number.N, err)
	_, err = orders.Parse("ORD-20261131-961689")
	fmt.Println(err)
	// Output:
	// 2026-11-23 1 <nil>
	// numbers: invalid number: "ORD-20261131-961689": date "20261131": want a day of the calendar, as in "ORD-{date:20060102}-{n:6}"
}
