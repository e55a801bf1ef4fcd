package snowflake_test

import (
	"context"
	"fmt"
	"time"

	"github.com/randflake/randflake/snowflake"
)

func ExampleGenerator_Fill() {
	generator, err := snowflake.New(snowflake.Worker10(), snowflake.Forever(7))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer generator.Close()
	ids := make([]snowflake.ID, 10_000) // more than there are in two milliseconds: Fill waits
	n, err := generator.Fill(ids)
	fmt.Println(n, err, ids[0] < ids[9_999])
	// Output: 10000 <nil> true
}

// Who must not be held up has the next call fail instead.
func ExampleRefuseWhenUsedUp() {
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	generator, err := snowflake.New(snowflake.JavaScript53(), snowflake.Forever(7),
		snowflake.RefuseWhenUsedUp(), snowflake.WithClock(func() time.Time { return noon }))
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := generator.Fill(make([]snowflake.ID, 1000))
	fmt.Println(n, err == snowflake.ErrExhausted)
	// Output: 128 true
}

// In a burst, the generator borrows from the next 10 milliseconds.
func ExampleRunAhead() {
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	layout := snowflake.JavaScript53()
	generator, err := snowflake.New(layout, snowflake.Forever(7),
		snowflake.RunAhead(10*time.Millisecond), snowflake.WithClock(func() time.Time { return noon }))
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := make([]snowflake.ID, 1000)
	n, err := generator.Fill(ids)
	parts, _ := layout.Inspect(ids[999])
	fmt.Println(n, err, parts.Time.Sub(noon))
	// Output: 1000 <nil> 7ms
}

func ExamplePin() {
	layout := snowflake.Twitter()
	generator, err := snowflake.New(layout, snowflake.Forever(2), snowflake.Pin("datacenter", 9))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer generator.Close()
	id, err := generator.Wait(context.Background())
	parts, _ := layout.Inspect(id)
	fmt.Println(parts.Static, err)
	// Output: map[datacenter:9 worker:2] <nil>
}
