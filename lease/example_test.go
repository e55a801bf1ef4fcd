package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/file"
	"github.com/randflake/randflake/snowflake"
)

// directory returns an engine whose store is a new directory. All processes of one machine may share one.
func directory() (engine lease.Engine, remove func()) {
	dir, err := os.MkdirTemp("", "ids")
	if err != nil {
		log.Fatal(err)
	}
	engine, err = file.New(dir)
	if err != nil {
		log.Fatal(err)
	}
	return engine, func() { os.RemoveAll(dir) }
}

var quiet = lease.WithLogger(slog.New(slog.DiscardHandler))

// The space is made here, as the command randflake store init does once. A program opens it with
// [lease.Open].
func ExampleKeep() {
	ctx := context.Background()
	engine, remove := directory()
	defer remove()
	space, err := lease.Create(ctx, engine, lease.Config{NeverUsed: true})
	if err != nil {
		log.Fatal(err)
	}
	secret := randflake.NewSecret()
	keeper, err := lease.Keep(ctx, space, secret, lease.WithNodes(4), quiet)
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

// Two regions share the nodes of a secret, and need no call between them.
func ExampleConfig_part() {
	ctx := context.Background()
	secret := randflake.NewSecret()
	parts := []lease.Limits{{FirstNode: 0, Nodes: 65536}, {FirstNode: 65536, Nodes: 65536}}
	for _, part := range parts {
		store, remove := directory() // one in each region
		defer remove()
		space, err := lease.Create(ctx, store, lease.Config{Limits: part, Part: true, CheckValue: secret.CheckValue(), NeverUsed: true})
		if err != nil {
			log.Fatal(err)
		}
		limits := space.Limits()
		fmt.Printf("nodes %d to %d, a reserve of %d\n", limits.FirstNode, limits.LastNode(), limits.Reserve)
	}
	fmt.Println(parts[0].Overlaps(parts[1]))
	// Output:
	// nodes 0 to 65535, a reserve of 512
	// nodes 65536 to 131071, a reserve of 512
	// false
}

// Worker numbers of Snowflakes are leased too. [snowflake.Keep] does this in one call.
func ExampleKeepFor() {
	ctx := context.Background()
	engine, remove := directory()
	defer remove()
	layout := snowflake.Twitter()
	limits := lease.Limits{Nodes: uint32(layout.Workers())}
	space, err := lease.Create(ctx, engine, lease.Config{NeverUsed: true, Limits: limits})
	if err != nil {
		log.Fatal(err)
	}
	keeper, err := lease.KeepFor(ctx, space, func(first randflake.Lease) (*snowflake.Generator, error) {
		return snowflake.New(layout, first)
	}, quiet)
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

type orderIDs struct{ *randflake.Generator }

type visitIDs struct{ *snowflake.Generator }

// TestKeepForEmbedded: a type that embeds a generator makes IDs from one lease to the next.
func TestKeepForEmbedded(t *testing.T) {
	newOrders := func(first randflake.Lease) (orderIDs, error) {
		g, err := randflake.New(randflake.NewSecret(), first, randflake.WithClock(time.Now))
		return orderIDs{g}, err
	}
	newVisits := func(first randflake.Lease) (*visitIDs, error) {
		g, err := snowflake.New(snowflake.Twitter(), first, snowflake.WithClock(time.Now))
		return &visitIDs{g}, err
	}
	keepFor(t, newOrders, func(g orderIDs) error { _, err := g.Generate(); return err })
	keepFor(t, newVisits, func(g *visitIDs) error { _, err := g.Generate(); return err })
}

// keepFor keeps a generator in leases of a directory, and calls next each second of three windows.
func keepFor[G lease.Generator](t *testing.T, begin func(randflake.Lease) (G, error), next func(G) error) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(1800000000, 0)))
		engine, err := file.New(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		space, err := lease.Create(t.Context(), engine, lease.Config{NeverUsed: true, Limits: lease.Limits{Nodes: 1024}})
		if err != nil {
			t.Fatal(err)
		}
		defer space.Close()
		keeper, err := lease.KeepFor(t.Context(), space, begin, lease.WithClock(time.Now), quiet)
		if err != nil {
			t.Fatal(err)
		}
		defer keeper.Close()
		for range 180 {
			if err := next(keeper.Generator()); err != nil {
				t.Fatalf("%T: %v", keeper.Generator(), err)
			}
			time.Sleep(time.Second)
		}
	})
}

// A program opens the space of its IDs. It makes none, so that it does not start in an empty store by
// mistake.
func ExampleOpen() {
	ctx := context.Background()
	engine, remove := directory()
	defer remove()

	_, err := lease.Open(ctx, engine, lease.Config{Name: "orders"})
	fmt.Println(errors.Is(err, lease.ErrNoSpace))

	_, err = lease.Create(ctx, engine, lease.Config{Name: "orders", NeverUsed: true})
	fmt.Println(err)
	space, err := lease.Open(ctx, engine, lease.Config{Name: "orders"})
	fmt.Println(space.Limits().Window, space.Limits().Nodes, err)
	// Output:
	// true
	// <nil>
	// 1m0s 131072 <nil>
}

// A counter of invoices. Package counter takes runs of numbers ahead, and hands them out of memory.
func ExampleSpace_TakeNumbers() {
	ctx := context.Background()
	engine, remove := directory()
	defer remove()
	space, err := lease.Create(ctx, engine, lease.Config{NeverUsed: true})
	if err != nil {
		log.Fatal(err)
	}
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
