package counter_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// promoteAtSwap returns a space whose engine changes its lineage just before the next swap of a counter after armed is set:
// a failover that loses nothing.
func promoteAtSwap(t *testing.T, server *storetest.Memory, armed *atomic.Bool) *store.Space {
	if s, err := store.Create(t.Context(), server.Connect(), store.ForNewSecret()); err != nil {
		t.Fatal(err)
	} else {
		s.Close()
	}
	space, err := store.Open(t.Context(), storetest.Intercept(server.Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
		if c.Swap && len(c.Put) > 0 && strings.Contains(c.Put[0].Name, "/c/") && armed.Swap(false) {
			server.SetLineage("promoted")
		}
		return c.On(ctx, e)
	}))
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// TestBooks: the run that was taken by a change of unknown outcome counts as unsure. Deciding once more to explain the
// error makes the handle forget it: the record counts numbers as taken that no handle knows of.
func TestBooks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := storetest.NewMemory()
		var armed atomic.Bool
		counters := counter.On(promoteAtSwap(t, server, &armed))
		s, err := counters.OpenStrict(t.Context(), "orders", counter.OrCreate(), counter.WithRate(1000))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		armed.Store(true)
		numbers := make([]int64, 100)
		n, err := s.Fill(t.Context(), numbers)
		t.Logf("%d numbers, %v; is ErrUnknownOutcome %v, ErrRate %v", n, err, errors.Is(err, store.ErrUnknownOutcome), errors.Is(err, counter.ErrRate))
		time.Sleep(10 * time.Minute)
		if _, err := s.Next(t.Context()); err != nil {
			t.Log(err)
		}
		i, _ := counters.Get(t.Context(), "orders")
		st := s.Status()
		t.Logf("status %+v, info %+v", st, i)
		if i.Taken > uint64(st.Taken+st.Unsure) {
			t.Errorf("the record says that %d numbers were taken, the only handle %d and %d unsure", i.Taken, st.Taken, st.Unsure)
		}
	})
}

// TestAllocate: an error of Allocate that wraps ErrRate or ErrForgotten says that no run was taken, and here one was.
func TestAllocate(t *testing.T) {
	for _, rate := range []int64{0, 1000} {
		t.Run("", func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				server := storetest.NewMemory()
				var armed atomic.Bool
				counters := counter.On(promoteAtSwap(t, server, &armed))
				if _, err := counters.Create(t.Context(), "orders", counter.WithRate(rate)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				before, _ := counters.Get(t.Context(), "orders")
				armed.Store(true)
				_, _, err := counters.Allocate(t.Context(), "orders", 100, counter.NewToken(time.Now()))
				after, _ := counters.Get(t.Context(), "orders")
				t.Logf("rate %d: %v", rate, err)
				if after.Taken != before.Taken && (errors.Is(err, counter.ErrForgotten) || errors.Is(err, counter.ErrRate) || errors.Is(err, counter.ErrInvalidToken)) {
					t.Errorf("rate %d: an error that says that no run was taken, and %d numbers were: %v", rate, after.Taken-before.Taken, err)
				}
			})
		})
	}
}

// TestCreate: who makes a counter just then is told that it was there already.
func TestCreate(t *testing.T) {
	server := storetest.NewMemory()
	var armed atomic.Bool
	counters := counter.On(promoteAtSwap(t, server, &armed))
	armed.Store(true)
	_, err := counters.Create(t.Context(), "orders")
	t.Logf("%v", err)
	i, err := counters.Get(t.Context(), "orders")
	t.Logf("%+v %v", i, err)
	_, err = counters.OpenStrict(t.Context(), "orders")
	t.Logf("%v", err)
}
