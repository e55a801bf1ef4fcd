package sonyflake_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/randflake/randflake/compat/sonyflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

func Example() {
	machine := func() (uint16, error) { return 7, nil }
	sf := sonyflake.NewSonyflake(sonyflake.Settings{MachineID: machine})
	if sf == nil {
		fmt.Println("no Sonyflake")
		return
	}
	id, err := sf.NextID()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sonyflake.MachineID(id), sonyflake.ElapsedTime(id) > 10*365*24*time.Hour)
	// Output: 7 true
}

// Memory forgets everything, so it is for tests: a service opens a space that lasts, by package lease/url.
func ExampleKeep() {
	ctx := context.Background()
	config := lease.Config{Limits: lease.Limits{Nodes: 65536}, NeverUsed: true}
	space, err := lease.Create(ctx, leasetest.NewMemory().Connect(), config)
	if err != nil {
		fmt.Println(err)
		return
	}
	sf, err := sonyflake.Keep(ctx, space, time.Time{}, lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sf.Close()
	id, err := sf.NextID()
	fmt.Println(sonyflake.MachineID(id), err)
	// Output: 0 <nil>
}
