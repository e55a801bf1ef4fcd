package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store/storetest"
)

// A stranger is a holder that is no *randflake.Generator, and has more to say than its errors.
type stranger struct {
	*randflake.Generator
	leases []randflake.Lease
	ready  error // what Ready returns, or nil for whatever is true
}

func (s *stranger) Ready() error {
	if s.ready != nil {
		return s.wrap(s.ready)
	}
	return s.wrap(s.Generator.Ready())
}

func (s *stranger) Replace(l randflake.Lease) (time.Time, error) {
	s.leases = append(s.leases, l)
	lastUsed, err := s.Generator.Replace(l)
	return lastUsed, s.wrap(err)
}

func (s *stranger) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("stranger: %w", err)
}

// keepStranger keeps a stranger's lease, until the end of the test.
func (w *town) keepStranger() (*lease.Keeper[*stranger], *stranger) {
	w.Helper()
	var s stranger
	k, err := lease.KeepFor(w.Context(), w.store, func(l randflake.Lease, onRefusal func(error, bool)) (*stranger, error) {
		g, err := randflake.New(testSecret, l, randflake.WithClock(w.clock.Now),
			randflake.OnRefusal(func(err error, waiting bool) { onRefusal(s.wrap(err), waiting) }))
		s.Generator = g
		s.leases = append(s.leases, l)
		return &s, err
	}, lease.WithTTL(ttl), lease.WithClock(w.clock.Now), lease.WithLogger(slog.New(&w.log)))
	if err != nil {
		w.Fatalf("KeepFor: %v", err)
	}
	w.Cleanup(func() { k.Close() })
	return k, &s
}

// wantMade wants an ID, or a refusal that wraps err.
func (w *town) wantMade(s *stranger, err error) {
	w.Helper()
	if id, got := s.Generate(); !errors.Is(got, err) {
		w.Errorf("Generate: %v, %v; want error %v", id, got, err)
	}
}

// A stranger's lease is kept as a generator's is: refusals count and are acted on, though they are wrapped.
func TestKeepForStranger(t *testing.T) {
	inTown(t, func(w *town) {
		k, s := w.keepStranger()
		if got, want := s.leases[0], k.Status().Record.Lease(); got != want {
			t.Errorf("begin with %+v, want %+v", got, want)
		}
		w.wantMade(s, nil)

		time.Sleep(111 * time.Second)
		if got, want := s.Lease(), k.Status().Record.Lease(); k.Status().Renewed != 1 || got != want {
			t.Errorf("lease %+v, status %+v: want it renewed", got, k.Status())
		}

		w.clock.step(-time.Hour)
		w.wantMade(s, randflake.ErrClockBackward)
		synctest.Wait()
		w.wantMade(s, nil)
		if st := k.Status(); len(s.leases) != 2 || st.Replaced != 1 || st.Released != 1 || st.Refusals != 1 || st.Held != 1 {
			t.Errorf("leases %+v, status %+v: want the first one replaced and released", s.leases, st)
		}

		w.inject(down)
		w.clock.step(ttl)
		w.wantMade(s, randflake.ErrLeaseEnded)
		w.inject(nil)
		time.Sleep(20 * time.Second) // longer than the first pause and the second
		w.wantMade(s, nil)

		if _, err := s.Fill(make([]randflake.ID, randflake.MaxSequence+2)); err != randflake.ErrExhausted {
			t.Errorf("Fill: %v, want ErrExhausted", err)
		}
		if st := k.Status(); st.Exhausted != 1 || st.Refusals != 3 || st.Issued != s.Issued() || st.Issued < 100_000 {
			t.Errorf("status %+v: want an exhaustion, three refusals and the IDs counted", st)
		}

		if err := k.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		w.wantMade(s, randflake.ErrClosed)
		if st := k.Status(); st.Held != 0 || st.Released != 2 {
			t.Errorf("status %+v after Close", st)
		}
	})
}

// Who closes the holder under the keeper ends the keeping, and the lease goes back.
func TestStrangerClosedUnderTheKeeper(t *testing.T) {
	inTown(t, func(w *town) {
		k, s := w.keepStranger()
		w.wantMade(s, nil)
		w.clock.step(ttl)
		w.wantMade(s, randflake.ErrLeaseEnded)
		s.Close()
		time.Sleep(ttl / 2) // to the next renewal, at the latest: the refusal may have been dealt with before Close
		if st := k.Status(); st.Held != 0 || st.Released != 1 {
			t.Errorf("status %+v: want the lease released", st)
		}
	})
}

// What begin can't use goes back, and KeepFor tells why.
func TestKeepForRefuses(t *testing.T) {
	inTown(t, func(w *town) {
		broken := errors.New("broken")
		begin := func(randflake.Lease, func(error, bool)) (*stranger, error) { return nil, broken }
		if k, err := lease.KeepFor(w.Context(), w.store, begin); k != nil || !errors.Is(err, broken) {
			t.Errorf("begin fails: keeper %v, error %v", k, err)
		}
		w.wantCalls("begin fails", storetest.Acquire, storetest.Release)
		w.forget()

		nothing := func(randflake.Lease, func(error, bool)) (*stranger, error) { return nil, nil }
		if k, err := lease.KeepFor(w.Context(), w.store, nothing); k != nil || !errors.Is(err, lease.ErrInvalidRequest) {
			t.Errorf("begin returns nothing: keeper %v, error %v; want ErrInvalidRequest", k, err)
		}
		w.wantCalls("begin returns nothing", storetest.Acquire, storetest.Release)
		w.forget()

		for name, keep := range map[string]func(context.Context) (*lease.Keeper[*stranger], error){
			"no store": func(ctx context.Context) (*lease.Keeper[*stranger], error) { return lease.KeepFor(ctx, nil, begin) },
			"no begin": func(ctx context.Context) (*lease.Keeper[*stranger], error) {
				return lease.KeepFor[*stranger](ctx, w.store, nil)
			},
			"TTL": func(ctx context.Context) (*lease.Keeper[*stranger], error) {
				return lease.KeepFor(ctx, w.store, begin, lease.WithTTL(1))
			},
		} {
			if k, err := keep(w.Context()); k != nil || !errors.Is(err, lease.ErrInvalidRequest) {
				t.Errorf("%s: keeper %v, error %v; want ErrInvalidRequest", name, k, err)
			}
		}
		w.wantCalls("bad arguments")
	})
}
