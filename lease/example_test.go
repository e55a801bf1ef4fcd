package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/file"
	"github.com/randflake/randflake/snowflake"
)

// makeSpace makes a space in a directory, as the command randflake store init does once.
func makeSpace(ctx context.Context, dir string) (*lease.Space, error) {
	engine, err := file.New(dir)
	if err != nil {
		return nil, err
	}
	return lease.Create(ctx, engine, lease.Config{New: true})
}

// The store is a directory here. All processes on this machine that open it, and have the same secret, share one kind of ID.
func ExampleKeep() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ids")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	space, err := makeSpace(ctx, dir)
	if err != nil {
		log.Fatal(err)
	}
	defer space.Close()

	secret := randflake.NewSecret()
	keeper, err := lease.Keep(ctx, space, secret, lease.WithNodes(4), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer keeper.Close()

	id, err := keeper.Generator().Generate()
	fields := keeper.Generator().Cipher().Inspect(id)
	fmt.Println(err, fields.Node < 4, time.Since(fields.Time) < time.Minute)
	// Output:
	// <nil> true true
}

// Worker numbers of Snowflakes are leased too, here by a generator with an option of its own. [snowflake.Keep] does it in one call.
func ExampleKeepFor() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ids")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	engine, err := file.New(dir)
	if err != nil {
		log.Fatal(err)
	}
	layout := snowflake.Twitter()
	limits := lease.Limits{Nodes: uint32(layout.Workers())}
	space, err := lease.Create(ctx, engine, lease.Config{New: true, Limits: limits})
	if err != nil {
		log.Fatal(err)
	}
	defer space.Close()

	keeper, err := lease.KeepFor(ctx, space, func(first randflake.Lease) (*snowflake.Generator, error) {
		return snowflake.New(layout, first)
	}, lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer keeper.Close()

	id, err := keeper.Generator().Generate()
	if err != nil {
		log.Fatal(err)
	}
	fields, err := layout.Inspect(id)
	fmt.Println(fields.Static, err)
	// Output:
	// map[datacenter:0 worker:0] <nil>
}

// A program opens the space that was made for its IDs. It makes none, so that no program starts in an empty store by mistake.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ids")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	engine, err := file.New(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	_, err = lease.Open(ctx, engine, lease.Config{Name: "orders"})
	fmt.Println(errors.Is(err, lease.ErrNoSpace))

	_, err = lease.Create(ctx, engine, lease.Config{Name: "orders", New: true})
	fmt.Println(err)
	space, err := lease.Open(ctx, engine, lease.Config{Name: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(space.Limits().Window, space.Limits().Nodes)
	// Output:
	// true
	// <nil>
	// 1m0s 131072
}

// A counter of invoices. Package counter takes runs of numbers ahead, and hands them out of memory.
func ExampleSpace_TakeNumbers() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ids")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	space, err := makeSpace(ctx, dir)
	if err != nil {
		log.Fatal(err)
	}
	defer space.Close()

	if err := space.CreateCounter(ctx, lease.Counter{Name: "invoices", Start: 1}); err != nil {
		log.Fatal(err)
	}
	for _, n := range []int64{1, 10, 1} {
		run, err := space.TakeNumbers(ctx, "invoices", lease.Period{}, n)
		fmt.Println(run.First, run.N, err)
	}
	// Output:
	// 1 1 <nil>
	// 2 10 <nil>
	// 12 1 <nil>
}
