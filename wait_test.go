package randflake

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
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

// One goroutine that waits for ID after ID at the limit of its lease does not keep others from having theirs: they have them when
// the next second begins.
func TestWaitIsFair(t *testing.T) {
	inBubble(t, func(t *testing.T, g *Generator) {
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			go func() {
				for {
					if _, err := g.Wait(ctx); err != nil {
						return
					}
				}
			}()
		}
		for range 3 {
			time.Sleep(time.Second / 2)
			synctest.Wait() // the second is used up
			came := time.Now()
			var others sync.WaitGroup
			for i := range 20 {
				others.Go(func() {
					n, err := i, error(nil)
					if i == 0 {
						_, err = g.Wait(t.Context())
					} else {
						n, err = g.FillWait(t.Context(), make([]ID, i))
					}
					if n != i || err != nil {
						t.Errorf("FillWait %d = %d, %v", i, n, err)
					}
				})
			}
			others.Wait()
			if waited := time.Since(came); waited > time.Second/2 {
				t.Errorf("waited %v, want no longer than until the next second, half a second", waited)
			}
		}
		cancel()
	})
}

// FillWait goes on for as many seconds as it takes, and says how far it came.
func TestFillWait(t *testing.T) {
	inBubble(t, func(t *testing.T, g *Generator) {
		l, begin := newLedger(t, g), time.Now()
		ids := make([]ID, 3*perNode-5)
		if n, err := g.FillWait(t.Context(), ids); n != len(ids) || err != nil {
			t.Fatalf("FillWait = %d, %v", n, err)
		}
		l.add(ids...)
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("it took %v, want 2s", took)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if n, err := g.FillWait(ctx, ids[:10]); n != 5 || !errors.Is(err, ErrExhausted) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("FillWait until the deadline = %d, %v, want 5 IDs", n, err)
		}
		l.add(ids[:5]...)

		time.Sleep(56500 * time.Millisecond) // to the lease's last second
		if n, err := g.FillWait(t.Context(), ids); n != perNode || err != ErrLeaseEnded {
			t.Errorf("FillWait until the lease's end = %d, %v, want %d", n, err, perNode)
		}
		l.add(ids[:perNode]...)
		if n, err := g.FillWait(t.Context(), nil); n != 0 || err != nil {
			t.Errorf("FillWait of nothing = %d, %v", n, err)
		}
	})
}

// A clock that stands still just before the next second keeps no processor busy.
func TestWaitDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		readings := 0
		g := newGenerator(t, testLease(1, 1, testStart+1, 60), WithClock(func() time.Time {
			if readings++; readings > 100_000 {
				cancel()
			}
			return time.Unix(testStart, 999_999_999)
		}))
		if _, err := g.Wait(ctx); !errors.Is(err, ErrLeaseNotStarted) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait = %v after %d readings of the clock, want the deadline", err, readings)
		}
	})
}

// A call that waits for the next second, or for the lease's start, goes on at once when the lease changes or the generator
// is closed.
func TestWaitIsWoken(t *testing.T) {
	var ahead atomic.Int64 // of the clock, in seconds: what only a new try finds out
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load()) * time.Second) }
	later := func(nodes uint32) Lease { return testLease(nodes, nodes, testStart-60, 120) }
	for _, tt := range []struct {
		name string
		act  func(g *Generator) error
		want error // of Wait
	}{
		{"Replace", func(g *Generator) error { _, err := g.Replace(later(2)); return err }, nil},
		{"Freeze", func(g *Generator) error { g.Freeze(); return nil }, ErrLeaseEnded},
		{"Close", func(g *Generator) error { _, err := g.Close(); return err }, ErrClosed},
		{"Extend", func(g *Generator) error {
			ahead.Store(1)
			return g.Extend(time.Unix(testStart+90, 0))
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, g *Generator) {
				ahead.Store(0)
				g = newGenerator(t, g.Lease(), WithClock(clock))
				g.FillWait(t.Context(), make([]ID, perNode))
				begin := time.Now()
				time.AfterFunc(300*time.Millisecond, func() {
					if err := tt.act(g); err != nil {
						t.Error(err)
					}
				})
				if _, err := g.Wait(t.Context()); err != tt.want {
					t.Errorf("Wait: error %v, want %v", err, tt.want)
				}
				if waited := time.Since(begin); waited != 300*time.Millisecond {
					t.Errorf("waited %v, want 300ms", waited)
				}
			})
		})
	}
}
