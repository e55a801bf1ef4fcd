// Package worker is the process that the harness breaks: it holds a lease and makes IDs under it,
// as a service would, or takes numbers from counters, and notes all of that in its journal.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/check"
	"github.com/randflake/randflake/lease"
)

// Config is what the harness asks of a worker.
type Config struct {
	Journal, Page string   // files
	Store         string   // a URL
	Replicas      []string // of the service, to ask instead of the store, with the token
	Token         string
	Secret        string // 32 hexadecimal digits
	Seed          uint64

	Outage time.Duration // of the store that IDs outlive, which is also how long a call may take
	Nodes  int           // in a lease
	Rate   int           // IDs a second

	Counters []string // to take numbers from, instead of making IDs

	ShiftClock bool            // the harness steps the clock of the process
	Adopt      json.RawMessage `json:",omitempty"` // the leases that another process has, to go on with as its copy
	Bug        Bug             // planted
}

// Space is the name that the service has for the space.
const Space = "chaos"

// A worker is what Run has at hand.
type worker struct {
	Config
	page    *Page
	journal *check.Journal
	secret  randflake.Secret
}

// Run works until SIGTERM.
func Run(c Config) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	w := worker{Config: c}
	if w.secret, err = randflake.ParseSecret(c.Secret); err != nil {
		return err
	}
	if w.page, err = MapPage(c.Page); err != nil {
		return err
	}
	if w.ShiftClock {
		if err := shiftClock(&w.page.Offset); err != nil {
			return err
		}
	}
	if w.journal, err = check.Create(c.Journal); err != nil {
		return err
	}
	var space *lease.Space
	if len(w.Replicas) == 0 {
		err := w.insist(ctx, func(ctx context.Context) (err error) {
			space, err = w.open(ctx)
			return err
		})
		if err != nil {
			return nil // told to stop before there was a store
		}
		defer space.Close()
	}
	if len(w.Counters) > 0 {
		return w.count(ctx, space)
	}
	return w.lease(ctx, space)
}

// insist calls f until it succeeds or ctx ends, and counts its failures.
func (w *worker) insist(ctx context.Context, f func(context.Context) error) error {
	for {
		limited, cancel := context.WithTimeout(ctx, w.Outage)
		err := f(limited)
		cancel()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		slog.Warn("no store, lease or counter yet", "error", err)
		w.page.Refused[RefusalOf(err)].Add(1)
		pause(ctx, 300*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// lease makes IDs under leases until ctx ends.
func (w *worker) lease(ctx context.Context, space *lease.Space) error {
	var source lease.Source
	err := w.insist(ctx, func(ctx context.Context) (err error) {
		source, err = w.leases(ctx, space)
		return err
	})
	if err != nil {
		return nil
	}
	var k *lease.Keeper[*randflake.Generator]
	err = w.insist(ctx, func(ctx context.Context) (err error) {
		k, err = w.keep(ctx, source)
		return err
	})
	if err != nil {
		return nil
	}
	w.page.Holding.Store(1)
	making, closed := context.WithCancel(context.Background())
	var makers sync.WaitGroup
	errs := make(chan error, len(ways))
	for i, way := range ways {
		makers.Go(func() { errs <- w.make(making, k.Generator(), way, rand.New(rand.NewPCG(w.Seed, uint64(i)))) })
	}
	<-ctx.Done()
	// The makers don't stop for this: the last IDs are made while the generator is being closed.
	k.Close()
	closed()
	makers.Wait()
	return errors.Join(<-errs, <-errs, <-errs)
}

// A way fills ids with new IDs. It returns how many it made, and why there are no more.
type way func(g *randflake.Generator, ids []randflake.ID) (int, error)

// ways are the ways to make IDs; each has a goroutine.
var ways = [3]way{(*randflake.Generator).Fill, each((*randflake.Generator).Generate), each(wait)}

func wait(g *randflake.Generator) (randflake.ID, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return g.Wait(ctx)
}

func each(one func(*randflake.Generator) (randflake.ID, error)) way {
	return func(g *randflake.Generator, ids []randflake.ID) (n int, err error) {
		for n < len(ids) && err == nil {
			if ids[n], err = one(g); err == nil {
				n++
			}
		}
		return n, err
	}
}

// rest is the time between two batches of a goroutine.
const rest = 20 * time.Millisecond

// make makes IDs until ctx ends. They are in the journal before anything else is done with them.
func (w *worker) make(ctx context.Context, g *randflake.Generator, way way, random *rand.Rand) error {
	ids := make([]randflake.ID, max(2*w.Rate/len(ways)*int(rest)/int(time.Second), 1))
	for ; ctx.Err() == nil; time.Sleep(rest) {
		n, err := way(g, ids[:1+random.IntN(len(ids))])
		if err := w.journal.IDs(ids[:n]); err != nil {
			return err
		}
		w.page.Made.Add(uint64(n))
		if err != nil && !errors.Is(err, randflake.ErrClosed) {
			w.page.Refused[RefusalOf(err)].Add(1)
		}
	}
	return nil
}

// A Page is memory that the harness and one worker share. The harness reads it also when the worker
// hangs, is stopped or is dead, and steps the worker's clock in the middle of whatever the worker
// does. Each field has one writer.
type Page struct {
	Offset atomic.Int64 // how far the worker's clock is off, in seconds; the harness writes it

	Made    atomic.Uint64           // IDs, or numbers
	Refused [Refusals]atomic.Uint64 // attempts to make an ID or to get a first lease, a store or a number
	Unknown atomic.Uint64           // calls of the store without a known outcome
	Lost    atomic.Uint64           // calls that said that data were lost
	Calling atomic.Int64            // 1 while a lease is asked for
	Holding atomic.Int64            // 1 with a first lease, or the handles on counters

	// Leases that were granted so far, or calls of the strict counter, and the end of the newest lease.
	Grants atomic.Uint64
	End    atomic.Int64
}

// MapPage maps the page in the file at path, and makes the file first if it is missing. The mapping
// stays until the process ends.
func MapPage(path string) (*Page, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := os.Getpagesize()
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("worker: map %s: %w", path, err)
	}
	return (*Page)(unsafe.Pointer(&memory[0])), nil
}
