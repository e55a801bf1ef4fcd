package randflake

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/vmgen"
)

// inBubble runs test in a bubble in the time of the format, with a generator of one node, whose lease
// lasts a minute.
func inBubble(t *testing.T, test func(t *testing.T, g *Generator)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(testStart, 0)))
		test(t, newGenerator(t, testLease(1, 1, testStart, 60)))
	})
}

// Wait and FillWait go on for as many seconds as it takes, say how far they came, and return what
// waiting doesn't help against.
func TestWait(t *testing.T) {
	inBubble(t, func(t *testing.T, g *Generator) {
		l := newLedger(t, g.Lease())
		begin := time.Now()
		waited := func(want time.Duration) {
			t.Helper()
			require.Equal(t, time.Since(begin), want, "it took")
		}
		fill := func(ctx context.Context, dst []ID, want int, errs ...error) {
			t.Helper()
			n, err := g.FillWait(ctx, dst)
			require.That(t, n == want && (err == nil) == (len(errs) == 0), "FillWait = %d, %v, want %d", n, err, want)
			for _, want := range errs {
				require.ErrorIs(t, err, want, "FillWait")
			}
			l.addIDs(g, dst[:n])
		}
		ids := make([]ID, 3*perNode-5)
		fill(t.Context(), ids, len(ids))
		waited(2 * time.Second)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		fill(ctx, ids[:10], 5, ErrExhausted, context.DeadlineExceeded)
		if _, err := g.Wait(t.Context()); err != nil {
			t.Errorf("Wait: %v", err)
		}
		waited(3 * time.Second)

		time.Sleep(56 * time.Second) // to the lease's last second
		fill(t.Context(), ids, perNode, ErrLeaseEnded)
		fill(t.Context(), nil, 0)
	})
}

// Wait waits for a lease that has not started and for a clock that went back, or for its context.
func TestWaitForTheClock(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *Generator) {
		cause := errors.New("enough")
		canceled, stop := context.WithCancelCause(t.Context())
		stop(cause)
		clock := newFakeClock(testStart - 1)
		g := newGenerator(t, testLease(2, 2, testStart, 60), WithClock(clock.now))
		if _, err := g.Wait(canceled); !errors.Is(err, cause) || !errors.Is(err, ErrLeaseNotStarted) {
			t.Errorf("cancelled: %v", err)
		}
		for _, second := range []int64{
			-1, // not started
			50, // ready
			-5, // the clock is back
		} {
			clock.second.Store(testStart + second)
			time.AfterFunc(time.Second/2, func() { clock.second.Store(testStart + 55) })
			if _, err := g.Wait(t.Context()); err != nil {
				t.Errorf("at %d: %v", second, err)
			}
		}
	})
}

// Who waits is served before those who come later, also when there are IDs again and the line was
// not served yet.
func TestLaterCallersQueue(t *testing.T) {
	for how, wait := range map[string]func(g *Generator) (ID, error){
		"Wait": func(g *Generator) (ID, error) { return g.Wait(context.Background()) },
		"FillWait": func(g *Generator) (ID, error) {
			var ids [1]ID
			_, err := g.FillWait(context.Background(), ids[:])
			return ids[0], err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			clock := newFakeClock(testStart)
			g := newGenerator(t, testLease(1, 1, testStart, 60), WithClock(clock.now), Strict())
			g.Fill(make([]ID, perNode))
			var first ID
			var waiter sync.WaitGroup
			waiter.Go(func() { first, _ = g.Wait(context.Background()) })
			synctest.Wait()
			clock.second.Add(1)
			second, err := wait(g)
			waiter.Wait()
			early := g.Cipher().Decrypt(first)
			late := g.Cipher().Decrypt(second)
			require.That(t, err == nil && late == early+1, "%s: %v after %v, %v", how, late.Fields(), early.Fields(), err)
		})
	}
}

// A call that waits goes on at once when there is another lease, or all are gone, or the generator is closed.
func TestWaitIsWoken(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start int64 // of the lease
		act   func(g *Generator)
		want  error // of Wait
	}{
		{"Add", 60, func(g *Generator) { add(t, g, testLease(2, 2, testStart, 60)) }, nil},
		{"Drop", 0, func(g *Generator) { leasesOf(g).Drop() }, ErrLeaseEnded},
		{"Close", 0, func(g *Generator) { g.Close() }, ErrClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ *Generator) {
				g := newGenerator(t, testLease(1, 1, testStart+tt.start, 60))
				g.Fill(make([]ID, perNode))
				begin := time.Now()
				time.AfterFunc(300*time.Millisecond, func() { tt.act(g) })
				if _, err := g.Wait(t.Context()); err != tt.want {
					t.Errorf("Wait: error %v, want %v", err, tt.want)
				}
				require.Equal(t, time.Since(begin), 300*time.Millisecond, "waited")
			})
		})
	}
}

// A machine is copied when an ID was made for a caller that waits, and the caller has not returned
// yet: it gets none.
func TestCopiedBeforeWake(t *testing.T) {
	for how, wait := range map[string]func(g *Generator, ctx context.Context) error{
		"Wait": func(g *Generator, ctx context.Context) error {
			_, err := g.Wait(ctx)
			return err
		},
		"FillWait": func(g *Generator, ctx context.Context) error {
			_, err := g.FillWait(ctx, make([]ID, 1))
			return err
		},
	} {
		var machine atomic.Uint64
		undo := vmgen.Pretend(&machine)
		lease := systemLease(0, 0)
		clock := newFakeClock(lease.Start.Unix() - 1)
		g := newGenerator(t, lease, WithClock(clock.now))
		undo()
		var refusals []error
		leasesOf(g).OnRefusal(func(err error, waiting bool) {
			if !waiting {
				refusals = append(refusals, err)
			}
		})
		made := uint64(0)
		ctx := idtest.LateContext{Context: t.Context(), Asked: func() {
			made = g.leases.Made.Load()
			machine.Add(1)
		}}
		done := make(chan error)
		go func() { done <- wait(g, ctx) }()
		for g.leases.Line.Empty() {
			runtime.Gosched()
		}
		clock.second.Store(lease.Start.Unix())
		g.leases.Line.Serve()
		if err := <-done; err != errCopied || made != 1 {
			t.Errorf("%s: %v, after %d IDs were made; want errCopied, after 1", how, err, made)
		}
		require.That(t, slices.Equal(refusals, []error{errCopied}),
			"%s: the keeper is told of %v, want errCopied", how, refusals)
	}
}
