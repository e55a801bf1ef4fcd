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

// waits are the calls that wait for one ID.
var waits = map[string]func(g *Generator, ctx context.Context) (ID, error){
	"Wait": (*Generator).Wait,
	"FillWait": func(g *Generator, ctx context.Context) (ID, error) {
		var ids [1]ID
		_, err := g.FillWait(ctx, ids[:])
		return ids[0], err
	},
}

// Wait and FillWait go on for as many seconds as it takes, say how far they came, and return what
// waiting doesn't help against.
func TestWait(t *testing.T) {
	inBubble(t, func(t *testing.T, g *Generator) {
		l := newLedger(t, g.Lease())
		begin := time.Now()
		ids := make([]ID, 3*perNode-5)
		n, err := g.FillWait(t.Context(), ids)
		require.That(t, n == len(ids) && err == nil, "FillWait = %d, %v, want %d", n, err, len(ids))
		require.Equal(t, time.Since(begin), 2*time.Second, "for the IDs of three seconds it took")
		l.addIDs(g, ids)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		n, err = g.FillWait(ctx, ids[:10])
		require.That(t, n == 5, "FillWait = %d, want 5, which are left of this second", n)
		require.ErrorIs(t, err, ErrExhausted, "FillWait")
		require.ErrorIs(t, err, context.DeadlineExceeded, "FillWait")
		l.addIDs(g, ids[:n])

		require.Done(t)(g.Wait(t.Context()))
		require.Equal(t, time.Since(begin), 3*time.Second, "up to the next second it took")

		time.Sleep(56 * time.Second) // to the lease's last second
		n, err = g.FillWait(t.Context(), ids)
		require.That(t, n == perNode, "FillWait = %d, want %d, which are left of the lease", n, perNode)
		require.ErrorIs(t, err, ErrLeaseEnded, "FillWait")
		l.addIDs(g, ids[:n])
		require.Gives(t, 0, "FillWait for no ID")(g.FillWait(t.Context(), nil))
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
		_, err := g.Wait(canceled)
		require.That(t, errors.Is(err, cause) && errors.Is(err, ErrLeaseNotStarted), "cancelled: %v", err)
		for _, second := range []int64{
			-1, // not started
			50, // ready
			-5, // the clock is back
		} {
			clock.second.Store(testStart + second)
			time.AfterFunc(time.Second/2, func() { clock.second.Store(testStart + 55) })
			_, err := g.Wait(t.Context())
			require.Equal(t, err, nil, "at %d", second)
		}
	})
}

// A caller who waits is served before those who come later, also when there are IDs again and the line
// was not served yet.
func TestLaterCallersQueue(t *testing.T) {
	for how, wait := range waits {
		synctest.Test(t, func(t *testing.T) {
			clock := newFakeClock(testStart)
			g := newGenerator(t, testLease(1, 1, testStart, 60), WithClock(clock.now), Strict())
			g.Fill(make([]ID, perNode))
			var first ID
			var waiter sync.WaitGroup
			waiter.Go(func() { first, _ = g.Wait(context.Background()) })
			synctest.Wait()
			clock.second.Add(1)
			second, err := wait(g, context.Background())
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
				_, err := g.Wait(t.Context())
				require.Equal(t, err, tt.want, "Wait")
				require.Equal(t, time.Since(begin), 300*time.Millisecond, "waited")
			})
		})
	}
}

// A machine is copied after an ID was made for a caller that waits, and before the caller returns: it
// gets no ID, as that is the original's.
func TestCopiedBeforeWake(t *testing.T) {
	for how, wait := range waits {
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
		go func() {
			_, err := wait(g, ctx)
			done <- err
		}()
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
