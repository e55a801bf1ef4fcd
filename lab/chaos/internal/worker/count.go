package worker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lab/chaos/internal/broken"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lab/chaos/internal/page"
)

// A Counter asks for a handle on a counter of this name: one that takes runs, or a strict one.
type Counter struct {
	Name   string
	Strict bool
}

// Bounds of what a worker does with each handle.
const (
	Least, Most = 10, 2000 // numbers in a run
	Callers     = 3        // goroutines that take numbers
	Batch       = 64       // numbers that one of them takes before it notes them
	StrictBatch = 3

	strictPause = 30 * time.Millisecond // between two calls of a caller
)

// A tap is a handle on a counter from which callers take numbers.
type tap struct {
	*worker
	Counter
	handle
	number   int    // of this handle in its process
	doubtful uint64 // see journal.Books
	unsure   uint64 // numbers of first runs that came too late, perhaps
}

// A handle is what both kinds have in common.
type handle interface {
	Status() counter.Status
	Close() error
}

// A taking fills dst with numbers. It returns how many there were, and why there are no more.
type taking func(ctx context.Context, dst []int64) (int, error)

// count takes numbers by one handle for each counter until ctx ends, and closes them.
func (w *worker) count(ctx context.Context, counters *counter.Counters) error {
	errs := make(chan error, len(w.Counters))
	for i, c := range w.Counters {
		go func() { errs <- w.countWith(ctx, counters, &tap{worker: w, Counter: c, number: i}) }()
	}
	var err error
	for range w.Counters {
		err = errors.Join(err, <-errs)
	}
	return err
}

// countWith opens a handle, as often as it takes, has callers take numbers by it until ctx ends, and closes it.
func (w *worker) countWith(ctx context.Context, counters *counter.Counters, t *tap) error {
	var takings []taking
	err := w.insist(ctx, func(ctx context.Context) (err error) {
		takings, err = t.open(ctx, counters)
		return err
	})
	if err != nil {
		return nil // told to stop before there was a handle
	}
	w.page.Holding.Add(1)
	errs := make(chan error, len(takings))
	for i, taking := range takings {
		go func() { errs <- t.call(ctx, taking, rand.New(rand.NewPCG(w.Seed, uint64(i)))) }()
	}
	if c, ok := t.handle.(broken.Counter); ok && w.GiveBack > 0 {
		t.giveBack(ctx, c)
	}
	for range takings {
		err = errors.Join(err, <-errs)
	}
	if t.Strict { // those that callers stopped waiting for are served before this one
		err = errors.Join(err, t.once(context.Background(), takings[0], make([]int64, 1)))
	}
	return errors.Join(err, t.close())
}

// open opens the handle, and returns the ways in which its callers take numbers.
func (t *tap) open(ctx context.Context, counters *counter.Counters) ([]taking, error) {
	if t.Strict {
		s, err := counters.OpenStrict(ctx, t.Name, counter.OrCreate())
		t.handle = s
		one := func(ctx context.Context, dst []int64) (n int, err error) {
			if dst[0], err = s.Next(ctx); err == nil {
				n++
			}
			return n, err
		}
		return []taking{s.Fill, s.Fill, one}, err
	}
	c, err := counters.Open(ctx, t.Name, counter.OrCreate(), counter.WithRunLength(Least, Most))
	if err != nil {
		t.unsure += Least
		return nil, err
	}
	b := t.Bug.Counter(c)
	t.handle = b
	return []taking{
		func(_ context.Context, dst []int64) (int, error) { return b.Fill(dst) },
		each(func(context.Context) (int64, error) { return b.Next() }),
		either(each(b.Wait), b.FillWait),
	}, nil
}

// each takes one number at a time.
func each(next func(context.Context) (int64, error)) taking {
	return func(ctx context.Context, dst []int64) (n int, err error) {
		for n < len(dst) && err == nil {
			if dst[n], err = next(ctx); err == nil {
				n++
			}
		}
		return n, err
	}
}

// either takes turns.
func either(a, b taking) taking {
	return func(ctx context.Context, dst []int64) (int, error) {
		a, b = b, a
		return a(ctx, dst)
	}
}

// call takes numbers until ctx ends.
func (t *tap) call(ctx context.Context, taking taking, random *rand.Rand) error {
	most, rest := Batch, t.Pause
	if t.Strict {
		most, rest = StrictBatch, strictPause
	}
	for ctx.Err() == nil {
		if err := t.once(ctx, taking, make([]int64, 1+random.IntN(most))); err != nil {
			return err
		}
		pause(ctx, rest)
	}
	return nil
}

// once takes numbers. They are in the journal before anything else is done with them.
func (t *tap) once(ctx context.Context, taking taking, dst []int64) error {
	limited := ctx
	if t.Strict {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(context.WithoutCancel(ctx), t.TTL)
		defer cancel()
	}
	began := journal.Now()
	n, err := taking(limited, dst)
	if err := t.journal.Took(t.Name, t.number, began, dst[:n], t.Status().Info.Stride); err != nil {
		return err
	}
	t.page.Made.Add(uint64(n))
	// By itself ErrPending says that callers are faster than the space.
	if err != nil && err != counter.ErrPending && ctx.Err() == nil {
		t.refused(err)
	}
	return nil
}

// refused counts a refusal. A relaxed handle says by itself that it gets no numbers.
func (t *tap) refused(err error) {
	kind := page.KindOf(err)
	if t.page.Refused[kind].Add(1); t.Strict && kind == page.Unreachable {
		slog.Warn("no number", "counter", t.Name, "error", err)
	}
}

// giveBack gives back what the handle has left, now and then.
func (t *tap) giveBack(ctx context.Context, c broken.Counter) {
	for pause(ctx, t.GiveBack); ctx.Err() == nil; pause(ctx, t.GiveBack) {
		t.losing(func() error {
			limited, cancel := context.WithTimeout(context.Background(), t.TTL)
			defer cancel()
			_, err := c.Return(limited)
			return err
		})
	}
}

// losing notes what is lost by an attempt to give numbers back that fails, and may have been given back nevertheless.
func (t *tap) losing(attempt func() error) {
	before := t.Status().Lost
	if err := attempt(); err != nil {
		t.doubtful += t.Status().Lost - before
		slog.Warn("numbers are not given back", "error", err)
	}
}

// close closes the handle, and notes its books.
func (t *tap) close() error {
	t.losing(t.Close)
	s := t.Status()
	return t.journal.Closed(t.Name, t.number, journal.Books{Taken: s.Taken, Issued: s.Issued, Returned: s.Returned, Lost: s.Lost,
		Held: s.Held, Unsure: s.Unsure + t.unsure, Doubtful: t.doubtful})
}
