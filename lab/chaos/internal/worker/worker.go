// Package worker is the process that the harness breaks: it holds leases and makes IDs under them, as a
// service would, and notes each ID and each call of the store; or it takes numbers from counters, and notes those.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lab/chaos/internal/broken"
	"github.com/randflake/randflake/lab/chaos/internal/clock"
	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// Config is what the harness asks of a worker.
type Config struct {
	Name    string
	Journal string          // the directory of its journal, which the worker makes
	Page    string          // the file that it shares with the harness
	Store   string          // a URL
	Service *engine.Service // to ask in place of the store, or nil
	Secret  string          // 32 hexadecimal digits
	Seed    uint64

	TTL     time.Duration
	Nodes   int           // in each lease
	Keepers int           // how many leases it holds at a time, or handles on counters
	Minters int           // goroutines that make IDs
	Rate    int           // IDs a second, all in all
	Pause   time.Duration // between two batches of a minter

	Counters []Counter     // take numbers from these, by a handle each, and hold no leases
	GiveBack time.Duration // how often each handle gives back what it has; 0 for at the end alone

	ShiftClock bool          // the harness steps the clock of the process
	Adopt      *lease.Record // hold this lease, which another process has, instead of acquiring one
	Pending    lease.Token   // that of a renewal that it sent, without a reply, when it was copied
	Bug        broken.Bug    // planted
}

// A worker is what Run has at hand.
type worker struct {
	Config
	page    *page.Page
	journal *journal.Writer
	secret  randflake.Secret

	mu         sync.Mutex
	generators []*randflake.Generator
}

// Run works until SIGTERM. On SIGUSR1 it makes its own calls of fsync fail.
func Run(c Config) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go failSyncsOnSignal()
	w := worker{Config: c}
	if w.secret, err = randflake.ParseSecret(c.Secret); err != nil {
		return err
	}
	if w.page, err = page.Map(c.Page); err != nil {
		return err
	}
	if w.ShiftClock {
		if err := clock.Shift(&w.page.Offset); err != nil {
			return err
		}
	}
	if w.journal, err = journal.Create(c.Journal, c.Name); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.journal.Close()) }()
	if w.Service != nil {
		return w.remotely(ctx)
	}
	space, err := w.open(ctx)
	if err != nil {
		return nil // told to stop before there was a store
	}
	defer space.Close()
	if len(w.Counters) > 0 {
		return w.count(ctx, counter.On(space))
	}
	if w.Bug == broken.Forgetful {
		return w.lease(ctx, broken.Forget(func(ctx context.Context) (*store.Space, error) { return engine.Open(ctx, w.Store, w.Bug) }))
	}
	return w.lease(ctx, lease.On(space))
}

// remotely works with what a service has.
func (w *worker) remotely(ctx context.Context) error {
	if len(w.Counters) > 0 {
		counters, err := w.Service.Counters(w.Bug)
		if err != nil {
			return err
		}
		return w.count(ctx, counters)
	}
	leases, err := w.Service.Leases(w.Bug)
	if err != nil {
		return err
	}
	return w.lease(ctx, leases)
}

// lease makes IDs under leases, of which it notes all calls.
func (w *worker) lease(ctx context.Context, leases lease.Source) error {
	leases = journal.Store(w.Bug.Leases(leases), w.journal)
	if w.Adopt != nil {
		leases = &adopted{Source: leases, record: *w.Adopt, pending: w.Pending}
	}
	return w.work(ctx, leases)
}

// work mints until ctx ends and all leases are given back.
func (w *worker) work(ctx context.Context, leases lease.Source) error {
	minting, closed := context.WithCancel(context.Background())
	defer closed()
	errs := make(chan error, w.Minters)
	for i := range w.Minters {
		go func() { errs <- w.mint(minting, i) }()
	}
	var keepers sync.WaitGroup
	for i := range w.Keepers {
		keepers.Go(func() { w.keep(ctx, leases, i == 0) })
	}
	keepers.Wait()
	closed()
	var err error
	for range w.Minters {
		err = errors.Join(err, <-errs)
	}
	return err
}

func failSyncsOnSignal() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	<-asked
	if err := failSyncs(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// open opens the store, as often as it takes.
func (w *worker) open(ctx context.Context) (space *store.Space, err error) {
	err = w.insist(ctx, func(ctx context.Context) (err error) {
		space, err = engine.Open(ctx, w.Store, w.Bug)
		return err
	})
	return space, err
}

// keep holds one lease after another until ctx ends.
func (w *worker) keep(ctx context.Context, leases lease.Source, publish bool) {
	var k keeper
	err := w.insist(ctx, func(ctx context.Context) (err error) {
		k, err = w.newKeeper(ctx, leases)
		return err
	})
	if err != nil {
		return
	}
	w.mu.Lock()
	w.generators = append(w.generators, k.Generator())
	w.mu.Unlock()
	w.page.Holding.Add(1)
	for ctx.Err() == nil {
		if k, ok := k.(*lease.Keeper[*randflake.Generator]); ok && publish {
			w.page.SetHeld(k.Status().Record)
		}
		pause(ctx, 20*time.Millisecond)
	}
	// The minters don't stop for this: the last IDs are made while the generator is being closed.
	if err := k.Close(); err != nil {
		slog.Warn("lease is not given back", "error", err)
	}
}

// A keeper is a lease.Keeper, or one with a planted bug.
type keeper interface {
	Generator() *randflake.Generator
	Close() error
}

func (w *worker) newKeeper(ctx context.Context, leases lease.Source) (keeper, error) {
	if w.Bug == broken.RenewAnyway {
		return broken.Keep(ctx, leases, w.secret, w.Nodes, w.TTL)
	}
	return lease.Keep(ctx, leases, w.secret, lease.WithNodes(w.Nodes), lease.WithTTL(w.TTL))
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// insist calls f until it succeeds or ctx ends, and counts its failures.
func (w *worker) insist(ctx context.Context, f func(context.Context) error) error {
	for {
		limited, cancel := context.WithTimeout(ctx, w.TTL)
		err := f(limited)
		cancel()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		slog.Warn("no store, lease or counter yet", "error", err)
		w.page.Refused[page.KindOf(err)].Add(1)
		pause(ctx, 300*time.Millisecond)
	}
}
