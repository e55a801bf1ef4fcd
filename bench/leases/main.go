// Command leases measures what leases cost on an engine: go run ./leases -ranges 60000 URL, with file:// and a directory, or
// the URL of a server. It creates a space of its own there and leaves it behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/randflake/randflake/bench/internal/measure"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storeurl"
)

var (
	ranges = flag.Int("ranges", 0, "ranges that are leased to others meanwhile")
	slice  = flag.Duration("for", 3*time.Second, "how long each thing is done")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: go run ./leases [flags] URL")
	}
	if err := run(context.Background(), flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string) error {
	name := store.WithSpace(fmt.Sprintf("leases-%d", time.Now().UnixNano()))
	space, err := storeurl.Create(ctx, url, name, store.ForNewSecret(), store.WithLimits(store.Limits{MaxTTL: time.Hour, MaxSkew: time.Minute}))
	if err != nil {
		return err
	}
	defer space.Close()
	leases := lease.On(space)
	if err := acquire(ctx, leases, *ranges, time.Hour); err != nil {
		return err
	}
	for _, holders := range []int{1, 32} {
		callers, err := renewals(ctx, leases, holders)
		if err != nil {
			return err
		}
		if err := report(ctx, fmt.Sprint("renewals, holders at once: ", holders), callers); err != nil {
			return err
		}
	}
	start := time.Now()
	if err := twentyProcesses(ctx, url, name); err != nil {
		return err
	}
	fmt.Printf("%-36s %8.2f s\n", "1,000 acquisitions at once", time.Since(start).Seconds())
	if err := report(ctx, "acquisitions, callers at once: 8", alike(8, func(ctx context.Context) error {
		_, err := leases.Acquire(ctx, lease.Request{Nodes: 1, TTL: time.Second})
		return err
	})); err != nil {
		return err
	}
	if err := leases.ReportLoss(ctx); err != nil {
		return err
	}
	return report(ctx, "refusals under a floor, at once: 32", alike(32, func(ctx context.Context) error {
		if _, err := leases.Acquire(ctx, lease.Request{Nodes: 1, TTL: time.Minute}); !errors.Is(err, lease.ErrNoRange) {
			return fmt.Errorf("under a floor: %w", err)
		}
		return nil
	}))
}

// acquire takes n leases of a node each, up to 64 at once.
func acquire(ctx context.Context, leases lease.Source, n int, ttl time.Duration) error {
	callers := min(n, 64)
	return atOnce(callers, func(caller int) error {
		for i := caller; i < n; i += callers {
			if _, err := leases.Acquire(ctx, lease.Request{Nodes: 1, TTL: ttl}); err != nil {
				return err
			}
		}
		return nil
	})
}

// renewals returns callers that each renew a lease of their own.
func renewals(ctx context.Context, leases lease.Source, holders int) (callers []measure.Caller, err error) {
	for range holders {
		held, err := leases.Acquire(ctx, lease.Request{Nodes: 1, TTL: time.Minute})
		if err != nil {
			return nil, err
		}
		callers = append(callers, func(ctx context.Context) (err error) {
			held, err = leases.Renew(ctx, held, lease.Renewal{TTL: time.Minute, Token: lease.NewToken(time.Now())})
			return err
		})
	}
	return callers, nil
}

// twentyProcesses opens the space as twenty processes would, all at once, and acquires 50 leases in each.
func twentyProcesses(ctx context.Context, url string, name store.Option) error {
	return atOnce(20, func(int) error {
		space, err := storeurl.Open(ctx, url, name)
		if err != nil {
			return err
		}
		defer space.Close()
		return acquire(ctx, lease.On(space), 50, time.Minute)
	})
}

func alike(n int, call measure.Caller) []measure.Caller {
	callers := make([]measure.Caller, n)
	for i := range callers {
		callers[i] = call
	}
	return callers
}

// report prints how often a second the callers call.
func report(ctx context.Context, what string, callers []measure.Caller) error {
	calls, took, err := measure.Concurrently(ctx, callers, *slice)
	fmt.Printf("%-36s %8.0f /s\n", what, float64(calls)/took.Seconds())
	return err
}

// atOnce calls do in n goroutines.
func atOnce(n int, do func(caller int) error) error {
	failed := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { failed[i] = do(i) })
	}
	all.Wait()
	return errors.Join(failed...)
}
