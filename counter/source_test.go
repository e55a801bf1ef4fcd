package counter_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease/leasetest"
)

// A remote is a Source whose allocations do what alter says.
type remote struct {
	counter.Source
	alter func(allocate func() (counter.Run, counter.Info, error), n *uint64) (counter.Run, counter.Info, error)
}

func (r *remote) Allocate(ctx context.Context, name string, n uint64, token counter.Token) (counter.Run, counter.Info, error) {
	return r.alter(func() (counter.Run, counter.Info, error) { return r.Source.Allocate(ctx, name, n, token) }, &n)
}

// TestSourceLosesAnswers: a handle asks again with the same token, and so gets the run whose answer was lost, for a
// minute. A strict handle does not, as those numbers would come too late. What is not found again is unsure.
func TestSourceLosesAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)))
		var down atomic.Bool
		all := counter.On(newSpace(t, leasetest.NewMemory().Connect()))
		open(t, all, "orders", counter.WithRunLength(1, 1)).Return(t.Context()) // which makes it
		source := &remote{all, func(allocate func() (counter.Run, counter.Info, error), _ *uint64) (counter.Run, counter.Info, error) {
			b, info, err := allocate()
			if down.Load() {
				return counter.Run{}, counter.Info{}, errDown
			}
			return b, info, err
		}}
		c := open(t, counter.From(source, time.Now), "orders", counter.WithRunLength(10, 10))
		ten := func(first int64) {
			t.Helper()
			for want := first; want < first+10; want++ {
				if n, err := c.Wait(t.Context()); n != want || err != nil {
					t.Fatalf("%d, %v, want %d", n, err, want)
				}
			}
		}
		lose := func(pause time.Duration) {
			t.Helper()
			down.Store(true)
			if _, err := c.Next(); !errors.Is(err, counter.ErrPending) {
				t.Fatalf("%v, want ErrPending", err)
			}
			time.Sleep(pause)
			synctest.Wait()
			if s := c.Status(); !errors.Is(s.Err, errDown) || s.Unsure%10 != 0 || s.Unsure == 0 {
				t.Fatalf("%+v, want what may be taken to be unsure", s)
			}
			down.Store(false)
		}
		time.Sleep(time.Minute)
		ten(1)
		time.Sleep(time.Minute)
		ten(11)
		if _, err := c.Return(t.Context()); err != nil { // what was fetched ahead
			t.Fatal(err)
		}
		before := get(t, all, "orders").Next
		lose(10 * time.Second)
		ten(before)
		if s := c.Status(); s.Unsure != 0 {
			t.Errorf("%+v, want the run that was taken first", s)
		}
		if _, err := c.Return(t.Context()); err != nil {
			t.Fatal(err)
		}
		lose(3 * time.Minute)
		if n, err := c.Wait(t.Context()); n <= before+10 || err != nil {
			t.Errorf("%d, %v, want numbers beyond those that are lost", n, err)
		}
		if s := c.Status(); s.Unsure == 0 || get(t, all, "orders").Taken > s.Taken+s.Unsure+1 {
			t.Errorf("%+v of %+v", s, get(t, all, "orders"))
		}

		strict, err := counter.From(source, time.Now).OpenStrict(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		down.Store(true)
		if _, err := strict.Next(t.Context()); !errors.Is(err, errDown) {
			t.Fatalf("%v, want errDown", err)
		}
		down.Store(false)
		next := get(t, all, "orders").Next
		if n, err := strict.Next(t.Context()); n != next || err != nil || strict.Status().Unsure != 1 {
			t.Errorf("%d, %v, want %d; %+v", n, err, next, strict.Status())
		}
	})
}

// TestSourceWithLimit: where runs are shorter than asked for, handles ask on.
func TestSourceWithLimit(t *testing.T) {
	all := counter.On(newSpace(t, leasetest.NewMemory().Connect()))
	open(t, all, "orders", counter.WithRunLength(1, 1)).Return(t.Context()) // which makes it
	source := &remote{all, func(allocate func() (counter.Run, counter.Info, error), n *uint64) (counter.Run, counter.Info, error) {
		*n = min(*n, 3)
		return allocate()
	}}
	counters := counter.From(source, time.Now)
	c := open(t, counters, "orders", counter.WithRunLength(10, 10))
	strict, err := counters.OpenStrict(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	for name, fill := range map[string]func(context.Context, []int64) (int, error){"handle": c.FillWait, "strict": strict.Fill} {
		dst := make([]int64, 20)
		if n, err := fill(t.Context(), dst); n != 20 || err != nil || !slices.IsSorted(dst) || dst[0] == 0 {
			t.Errorf("%s: %d numbers %d, %v", name, n, dst, err)
		}
	}
}

// TestSourceTalksNonsense: a run that can't be one of the counter is refused, and nothing is handed out.
func TestSourceTalksNonsense(t *testing.T) {
	all := counter.On(newSpace(t, leasetest.NewMemory().Connect()))
	if _, err := all.Create(t.Context(), "orders", counter.WithStart(5), counter.WithStride(3), counter.WithEnd(50)); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(b *counter.Run, i *counter.Info){
		"more than asked for": func(b *counter.Run, _ *counter.Info) { b.Count++ },
		"no number":           func(b *counter.Run, _ *counter.Info) { b.Count = 0 },
		"another stride":      func(b *counter.Run, _ *counter.Info) { b.Stride = 1 },
		"before the start":    func(b *counter.Run, _ *counter.Info) { b.First = 2 },
		"beyond the end":      func(b *counter.Run, _ *counter.Info) { b.First = 50; b.Count = 2 },
		"between numbers":     func(b *counter.Run, _ *counter.Info) { b.First++ },
		"nothing":             func(b *counter.Run, i *counter.Info) { *b, *i = counter.Run{}, counter.Info{} },
	} {
		source := &remote{all, func(allocate func() (counter.Run, counter.Info, error), _ *uint64) (counter.Run, counter.Info, error) {
			b, info, err := allocate()
			change(&b, &info)
			return b, info, err
		}}
		if c, err := counter.From(source, time.Now).Open(t.Context(), "orders", counter.WithRunLength(2, 2), quiet); err == nil {
			n, err := c.Next()
			t.Errorf("%s: a handle, and %d, %v", what, n, err)
		}
	}
}

// TestSourceMakesCounters: a source makes counters in its own way, and what it has no call for says so.
func TestSourceMakesCounters(t *testing.T) {
	all := counter.On(newSpace(t, leasetest.NewMemory().Connect()))
	source := &remote{all, nil}
	source.alter = func(allocate func() (counter.Run, counter.Info, error), _ *uint64) (counter.Run, counter.Info, error) {
		b, info, err := allocate()
		if errors.Is(err, counter.ErrNoCounter) {
			all.Create(t.Context(), "orders", counter.WithStart(7))
			return allocate()
		}
		return b, info, err
	}
	counters := counter.From(source, time.Now)
	if _, err := counters.OpenStrict(t.Context(), "orders"); !errors.Is(err, counter.ErrNoCounter) {
		t.Errorf("without OrCreate: %v, want ErrNoCounter", err)
	}
	if _, err := counters.OpenStrict(t.Context(), "orders", counter.OrCreate(), counter.WithStart(1)); !errors.Is(err, counter.ErrMismatch) {
		t.Errorf("with another start: %v, want ErrMismatch", err)
	}
	if n, err := open(t, counters, "orders").Next(); n != 7 || err != nil {
		t.Errorf("%d, %v, want 7", n, err)
	}
	_, created := counters.Create(t.Context(), "others")
	_, advanced := counters.Advance(t.Context(), "orders", 50)
	for _, err := range []error{created, advanced} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v, want ErrUnsupported", err)
		}
	}
}
