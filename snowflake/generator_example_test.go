package snowflake_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake/snowflake"
)

func ExampleGenerator_Fill() {
	generator, err := snowflake.New(snowflake.Twitter(), snowflake.Forever(7))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer generator.Close()
	ids := make([]snowflake.ID, 100)
	n, err := generator.Fill(ids)
	fmt.Println(n, err, ids[0] < ids[99])
	// Output: 100 <nil> true
}

// More than there are in two milliseconds take that long.
func ExampleGenerator_FillWait() {
	generator, err := snowflake.New(snowflake.Twitter(), snowflake.Forever(7))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer generator.Close()
	ids := make([]snowflake.ID, 10_000)
	n, err := generator.FillWait(context.Background(), ids)
	fmt.Println(n, err, ids[0] < ids[9_999])
	// Output: 10000 <nil> true
}

// Generate does not wait.
func ExampleGenerator_Generate() {
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	layout, _ := snowflake.ParseLayout("javascript53") // 128 IDs a millisecond
	generator, err := snowflake.New(layout, snowflake.Forever(7),
		snowflake.WithClock(func() time.Time { return noon }))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 128 {
		if _, err := generator.Generate(); err != nil {
			fmt.Println(err)
		}
	}
	_, err = generator.Generate()
	fmt.Println(errors.Is(err, snowflake.ErrExhausted))
	// Output: true
}

// A clock that was set back is waited for, by 15 milliseconds at most.
func ExampleGenerator_Wait() {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	layout, _ := snowflake.ParseLayout("javascript53") // 128 IDs a millisecond
	generator, err := snowflake.New(layout, snowflake.Forever(7),
		snowflake.WithClock(func() time.Time { return now }))
	if err != nil {
		fmt.Println(err)
		return
	}
	generator.Generate()
	now = now.Add(-time.Minute)
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Millisecond)
	defer cancel()
	_, err = generator.Wait(ctx)
	fmt.Println(errors.Is(err, context.DeadlineExceeded), errors.Is(err, snowflake.ErrClockBackward))
	// Output: true true
}

// In a burst, the generator borrows from the next 10 milliseconds.
func ExampleRunAhead() {
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	layout, _ := snowflake.ParseLayout("javascript53")
	generator, err := snowflake.New(layout, snowflake.Forever(7),
		snowflake.RunAhead(10*time.Millisecond), snowflake.WithClock(func() time.Time { return noon }))
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := make([]snowflake.ID, 1000)
	n, err := generator.Fill(ids)
	fields, _ := layout.Inspect(ids[999])
	fmt.Println(n, err, fields.Time.Sub(noon))
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
	fields, _ := layout.Inspect(id)
	fmt.Println(fields.Static, err)
	// Output: map[datacenter:9 worker:2] <nil>
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

// Few IDs are made, and a hash of the last bits is to spread them over 16 shards.
func ExampleRandomStart() {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	generator, err := snowflake.New(snowflake.Twitter(), snowflake.Forever(7), snowflake.RandomStart(16), snowflake.WithClock(func() time.Time { return now }))
	if err != nil {
		fmt.Println(err)
		return
	}
	shards := make(map[snowflake.ID]bool)
	for range 1000 {
		id, _ := generator.Generate()
		shards[id%16] = true
		now = now.Add(time.Second)
	}
	fmt.Println(len(shards), "shards")
	// Output: 16 shards
}

// An alarm goes off when IDs run out.
func ExampleOnRefusal() {
	noon := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	layout, _ := snowflake.ParseLayout("javascript53") // 128 IDs a millisecond
	generator, err := snowflake.New(layout, snowflake.Forever(7),
		snowflake.WithClock(func() time.Time { return noon }),
		snowflake.OnRefusal(func(err error, _ bool) { fmt.Println(err) }))
	if err != nil {
		fmt.Println(err)
		return
	}
	n, _ := generator.Fill(make([]snowflake.ID, 1000))
	fmt.Println(n)
	// Output:
	// snowflake: no ID left in this unit of time: wait for the next one, run ahead of the clock, or use more workers
	// 128
}
