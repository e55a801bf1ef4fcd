package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/client"
)

// Counters that workers use: one that takes runs, and a strict one.
const (
	orders  = "orders"
	tickets = "tickets"
)

// count takes numbers by a handle on each counter until ctx ends, and closes them.
func (w *worker) count(ctx context.Context, space *lease.Space) (err error) {
	var counters *counter.Counters
	if space != nil {
		counters = counter.From(space)
	} else if counters, err = client.NewCounters(spaceName, w.Replicas, client.WithToken(token), client.WithPlaintext()); err != nil {
		return err
	}
	errs := make(chan error, len(w.Counters))
	for i, name := range w.Counters {
		go func() { errs <- w.countBy(ctx, counters, name, w.random(i)) }()
	}
	for range w.Counters {
		err = errors.Join(err, <-errs)
	}
	return err
}

// A handle is on a counter.
type handle interface {
	Fill(ctx context.Context, dst []int64) (int, error)
	Close() error
}

// A relaxed handle takes runs of numbers, so that some of them are lost when its process is killed.
type relaxed struct{ *counter.Counter }

func (r relaxed) Fill(ctx context.Context, dst []int64) (int, error) {
	if len(dst)%2 == 0 {
		return r.Counter.Fill(dst)
	}
	return r.FillWait(ctx, dst)
}

// countBy takes numbers from one counter. They are in the journal before anything else is done with
// them. Now and then the handle is closed, and opened anew.
func (w *worker) countBy(ctx context.Context, counters *counter.Counters, name string, random *rand.Rand) error {
	held := int64(0)
	for ctx.Err() == nil {
		h, err := insist(ctx, w, func(ctx context.Context) (handle, error) { return w.openCounter(ctx, counters, name) })
		if err != nil {
			return nil
		}
		w.page.Holding.Add(1 - held)
		held = 1
		for range 50 + random.IntN(200) {
			if ctx.Err() != nil {
				break
			}
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Outage)
			dst := make([]int64, 1+random.IntN(60))
			n, err := h.Fill(limited, dst)
			cancel()
			if err := w.journal.Encode(event{Counter: name, Runs: runsOf(dst[:n])}); err != nil {
				return err
			}
			w.page.Made.Add(uint64(n))
			if name == tickets && n > 0 {
				w.page.Grants.Add(1)
			}
			// By itself ErrPending says that callers are faster than the space.
			if err != nil && err != counter.ErrPending && ctx.Err() == nil {
				w.page.Refused[refusalOf(err)].Add(1)
			}
			pause(ctx, rest)
		}
		h.Close() // if that fails, numbers are lost
	}
	return nil
}

func (w *worker) openCounter(ctx context.Context, counters *counter.Counters, name string) (h handle, err error) {
	if name == tickets {
		return counters.OpenStrict(ctx, name, counter.OrCreate(counter.Config{}))
	}
	c, err := counters.Open(ctx, name, counter.OrCreate(counter.Config{}), counter.WithRunLength(10, 2000))
	if err != nil {
		return nil, err
	}
	if w.Bug == repeat {
		return &repeating{handle: relaxed{c}, file: filepath.Join(filepath.Dir(w.Page), "numbers")}, nil
	}
	return relaxed{c}, nil
}

// runsOf returns the runs that numbers are in.
func runsOf(numbers []int64) (runs [][2]int64) {
	for _, n := range numbers {
		if last := len(runs) - 1; last >= 0 && runs[last][1]+1 == n {
			runs[last][1] = n
		} else {
			runs = append(runs, [2]int64{n, n})
		}
	}
	return runs
}
