// Command measure tells what leases cost on an engine: go run ./measure -ranges 60000 URL, with file:// and a directory, or
// the URL of a server. It makes a space of its own there, which it leaves behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/chaos/internal/broken"
	"github.com/randflake/randflake/chaos/internal/engine"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

var (
	ranges   = flag.Int("ranges", 0, "ranges that are leased to others meanwhile")
	duration = flag.Duration("for", 3*time.Second, "how long each thing is done")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: go run ./measure [flags] URL")
	}
	if err := measure(context.Background(), flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

func measure(ctx context.Context, url string) error {
	name := store.WithSpace(fmt.Sprintf("measure-%d", time.Now().UnixNano()))
	if err := engine.Create(ctx, url, name, store.ForNewSecret(), store.WithLimits(store.Limits{MaxTTL: time.Hour, MaxSkew: time.Minute})); err != nil {
		return err
	}
	open := func() (*store.Space, error) { return engine.Open(ctx, url, broken.None, name) }
	space, err := open()
	if err != nil {
		return err
	}
	defer space.Close()
	leases := lease.On(space)
	acquire := func(ttl time.Duration) (lease.Record, error) {
		return leases.Acquire(ctx, lease.Request{Nodes: 1, TTL: ttl})
	}
	if _, err := many(64, *ranges, 0, func(int) error { _, err := acquire(time.Hour); return err }); err != nil {
		return err
	}
	for _, holders := range []int{1, 32} {
		held := make([]lease.Record, holders)
		for i := range held {
			if held[i], err = acquire(time.Minute); err != nil {
				return err
			}
		}
		renew := func(i int) (err error) {
			held[i], err = leases.Renew(ctx, held[i], lease.Renewal{TTL: time.Minute, Token: lease.NewToken(time.Now())})
			return err
		}
		if err := report(fmt.Sprint("renewals, holders at once: ", holders), holders, renew); err != nil {
			return err
		}
	}
	if err := herd(ctx, open); err != nil {
		return err
	}
	if err := report("acquisitions, callers at once: 8", 8, func(int) error { _, err := acquire(time.Second); return err }); err != nil {
		return err
	}
	if err := leases.ReportLoss(ctx); err != nil {
		return err
	}
	return report("refusals under a floor, at once: 32", 32, func(int) error {
		if _, err := acquire(time.Minute); !errors.Is(err, lease.ErrNoRange) {
			return fmt.Errorf("under a floor: %w", err)
		}
		return nil
	})
}

// herd prints how long it takes until 20 processes that open the space at once have 50 leases each.
func herd(ctx context.Context, open func() (*store.Space, error)) error {
	start := time.Now()
	_, err := many(20, 20, 0, func(int) error {
		space, err := open()
		if err != nil {
			return err
		}
		defer space.Close()
		leases := lease.On(space)
		_, err = many(50, 50, 0, func(int) error {
			_, err := leases.Acquire(ctx, lease.Request{Nodes: 1, TTL: time.Minute})
			return err
		})
		return err
	})
	fmt.Printf("%-36s %8.2f s\n", "1,000 acquisitions at once", time.Since(start).Seconds())
	return err
}

// report does something for a while, and prints how often a second.
func report(what string, callers int, do func(caller int) error) error {
	start := time.Now()
	n, err := many(callers, 0, *duration, do)
	fmt.Printf("%-36s %8.0f /s\n", what, float64(n)/time.Since(start).Seconds())
	return err
}

// many has callers do something, so many times in all, or for a while.
func many(callers, times int, while time.Duration, do func(caller int) error) (n int64, err error) {
	var done atomic.Int64
	var first atomic.Pointer[error]
	end := time.Now().Add(while)
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for first.Load() == nil && (while > 0 && time.Now().Before(end) || done.Load() < int64(times)) {
				if while == 0 && done.Add(1) > int64(times) {
					return
				}
				if err := do(caller); err != nil {
					first.CompareAndSwap(nil, &err)
				}
				if while > 0 {
					done.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if failed := first.Load(); failed != nil {
		return done.Load(), *failed
	}
	return done.Load(), nil
}
