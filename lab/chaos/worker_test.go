package chaos

import (
	"context"
	"encoding/gob"
	"log/slog"
	"math/rand/v2"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// A workerConfig is what the harness asks of a worker: a process that makes IDs under leases, as a
// service would, or takes numbers from counters, and notes all of that in its journal.
type workerConfig struct {
	Journal, Page string   // files
	Store         string   // a URL
	Replicas      []string // of the service, to ask instead of the store
	Secret        string   // 32 hexadecimal digits
	Seed          uint64

	Outage time.Duration // of the store that IDs outlive, which is also how long a call may take
	Wait   time.Duration // for a first lease, in one call
	Nodes  int           // in a lease
	Rate   int           // IDs a second

	Counters []string // to take numbers from, instead of making IDs

	ShiftClock bool              // the harness steps the clock of the process
	Adopt      []randflake.Lease // of another process, to go on with as its copy
	Bug        bug               // planted
}

// A worker is what runs in the process.
type worker struct {
	workerConfig
	page    *page
	journal *gob.Encoder
	secret  randflake.Secret
	making  sync.Mutex // while the page's times change
}

// runWorker works until SIGTERM.
func runWorker(c workerConfig) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	w := worker{workerConfig: c}
	if w.secret, err = randflake.ParseSecret(c.Secret); err != nil {
		return err
	}
	if w.page, err = mapPage(c.Page); err != nil {
		return err
	}
	if w.ShiftClock {
		if err := shiftClock(&w.page.Offset); err != nil {
			return err
		}
	}
	if w.journal, err = newJournal(c.Journal); err != nil {
		return err
	}
	var space *lease.Space
	if len(w.Replicas) == 0 {
		if space, err = insist(ctx, &w, w.open); err != nil {
			return nil // told to stop before there was a store
		}
		defer space.Close()
	}
	if len(w.Counters) > 0 {
		return w.count(ctx, space)
	}
	return w.lease(ctx, space)
}

// insist calls f until it succeeds, and counts its failures. It returns an error only if ctx has ended.
func insist[T any](ctx context.Context, w *worker, f func(context.Context) (T, error)) (T, error) {
	for {
		limited, cancel := context.WithTimeout(ctx, w.Outage)
		found, err := f(limited)
		cancel()
		if err == nil || ctx.Err() != nil {
			return found, ctx.Err()
		}
		slog.Warn("no store, lease or counter yet", "error", err)
		w.page.Refused[refusalOf(err)].Add(1)
		pause(ctx, 300*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// rest is the time between two batches of a goroutine.
const rest = 20 * time.Millisecond

// random returns the choices of one goroutine.
func (w *worker) random(goroutine int) *rand.Rand {
	return rand.New(rand.NewPCG(w.Seed, uint64(goroutine)))
}
