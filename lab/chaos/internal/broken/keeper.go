package broken

import (
	"context"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// A Keeper makes IDs under a lease as lease.Keeper does, but has the bug RenewAnyway: it takes a
// failed renewal for one that went well.
type Keeper struct {
	store     lease.Source
	generator *randflake.Generator
	ttl       time.Duration
	held      lease.Record // the background goroutine's alone, until done

	stop context.CancelFunc
	done sync.WaitGroup
}

// Keep takes a lease of so many nodes, and renews it each third of ttl until Close.
func Keep(ctx context.Context, store lease.Source, secret randflake.Secret, nodes int, ttl time.Duration) (*Keeper, error) {
	held, err := store.Acquire(ctx, lease.Request{Nodes: nodes, TTL: ttl, Owner: lease.NewToken(time.Now())})
	if err != nil {
		return nil, err
	}
	k := &Keeper{store: store, ttl: ttl, held: held}
	if k.generator, err = randflake.New(secret, held.Lease()); err != nil {
		return nil, err
	}
	background, stop := context.WithCancel(context.Background())
	k.stop = stop
	k.done.Go(func() { k.run(background) })
	return k, nil
}

// Generator returns the generator.
func (k *Keeper) Generator() *randflake.Generator { return k.generator }

func (k *Keeper) run(ctx context.Context) {
	tick := time.NewTicker(k.ttl / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.renew(ctx)
		}
	}
}

func (k *Keeper) renew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, k.ttl/6)
	defer cancel()
	renewed, err := k.store.Renew(ctx, k.held, lease.Renewal{TTL: k.ttl, Token: lease.NewToken(time.Now())})
	if err == nil {
		k.held = renewed
		k.generator.Extend(renewed.Lease().End)
		return
	}
	k.generator.Extend(time.Now().Add(k.ttl).Truncate(time.Second)) // the bug
}

// Close ends the generator and gives the lease back.
func (k *Keeper) Close() error {
	k.stop()
	k.done.Wait()
	lastUsed, err := k.generator.Close()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return k.store.Release(ctx, k.held, lastUsed)
}
