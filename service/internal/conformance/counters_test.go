package conformance

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/service/client"
	"github.com/randflake/randflake/store"
)

// orders is a counter that the service makes at its first use.
var orders = []counter.Info{{Name: "orders", Start: 5, Stride: 2, End: 999_999}}

// startCounting starts a replica with the counter orders.
func startCounting(t *testing.T, data *leasetest.Memory, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	return startOn(t, "memory", func(ctx context.Context, _ string, options ...store.Option) (*store.Space, error) {
		return store.Open(ctx, data.Connect(), options...)
	}, orders, wrap).URL
}

func openCounters(t *testing.T, addresses ...string) *counter.Counters {
	t.Helper()
	all, err := client.NewCounters(addresses)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestLostRuns: a thousand allocations whose first answer is lost, and the returns of half of their numbers likewise, take
// a thousand runs and give each half back.
func TestLostRuns(t *testing.T) {
	const wanted = 1000
	for procedure, lostOnes := range map[string]int64{"/Allocate": wanted, "/Return": wanted} {
		t.Run(procedure[1:], func(t *testing.T) {
			var lost atomic.Int64
			data := newData(t, store.DefaultLimits(), time.Now)
			unsafe, safe := startCounting(t, data, losing(procedure, &lost)), startCounting(t, data, asIs)
			next := int64(5)
			for range wanted {
				all := openCounters(t, unsafe, safe) // begins with the one that loses answers
				b, info, err := all.Allocate(t.Context(), "orders", 10, counter.NewToken(time.Now()))
				if err != nil || b.First != next || b.Stride != 2 || b.Count != 10 || info.Next != next+20 {
					t.Fatalf("run %+v of %+v, %v, want 10 numbers from %d on", b, info, err, next)
				}
				if done, err := all.ReturnRun(t.Context(), "orders", b, 5); !done || err != nil {
					t.Fatalf("return: %v, %v", done, err)
				}
				next += 10
			}
			info, err := openCounters(t, safe).Get(t.Context(), "orders")
			if err != nil || info.Taken != 10*wanted || info.Returned != 5*wanted || info.Next != next || lost.Load() != lostOnes {
				t.Errorf("%+v, %v, %d answers lost: want %d taken, %d returned, %d next", info, err, lost.Load(), 10*wanted, 5*wanted, next)
			}
		})
	}
}

// TestHandlesThroughFailures: handles on counters go on while replicas fail and come back, one after the other, with calls
// that were carried out and others that were not. They give no number twice, and tell how many may be lost.
func TestHandlesThroughFailures(t *testing.T) {
	data := newData(t, store.DefaultLimits(), time.Now)
	var down [2]atomic.Bool
	var calls atomic.Int64
	var addresses []string
	for i := range down {
		addresses = append(addresses, startCounting(t, data, func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if down[i].Load() {
					if calls.Add(1)%2 == 0 { // carried out, or not
						h.ServeHTTP(discard{}, r)
					}
					panic(http.ErrAbortHandler)
				}
				h.ServeHTTP(w, r)
			})
		}))
	}
	all := openCounters(t, addresses...)
	c, err := all.Open(t.Context(), "orders", counter.OrCreate(), counter.WithRunLength(5, 20),
		counter.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	strict, err := openCounters(t, addresses[1], addresses[0]).OpenStrict(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	var before int64
	for i := range 600 {
		down[i/100%2].Store(i%100 < 50)   // now one, now the other
		down[1-i/100%2].Store(i%100 < 10) // and both at times
		if n, err := c.Next(); err == nil {
			got = append(got, n)
		}
		if n, err := strict.Next(t.Context()); err == nil {
			if n <= before {
				t.Fatalf("%d after %d", n, before)
			}
			before = n
			got = append(got, n)
		}
	}
	for i := range down {
		down[i].Store(false)
	}
	for range 50 {
		n, err := c.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, n)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	slices.Sort(got)
	if n := len(slices.Compact(slices.Clone(got))); n != len(got) || n < 500 {
		t.Errorf("%d different numbers of %d", n, len(got))
	}
	info, err := all.Get(t.Context(), "orders")
	a, b := c.Status(), strict.Status()
	const made = 1             // by OrCreate, and given back
	const unknown = 6 * 2 * 20 // runs whose receipts had to make room before they were asked for again, a few at most
	if taken, unsure := a.Taken+b.Taken+made, a.Unsure+b.Unsure; err != nil || info.Taken < taken || info.Taken > taken+unsure+unknown || b.Unsure == 0 {
		t.Errorf("%+v, %v; handles have %+v and %+v", info, err, a, b)
	}
}

// discard is where the answer to a call goes that nobody hears.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

// TestCountersAfterLoss: where the store has lost data the client is told so, by the errors of package counter.
func TestCountersAfterLoss(t *testing.T) {
	data := newData(t, store.DefaultLimits(), time.Now)
	all := openCounters(t, startCounting(t, data, asIs), startCounting(t, data, asIs))
	if _, err := all.OpenStrict(t.Context(), "orders"); !errors.Is(err, counter.ErrNoCounter) {
		t.Errorf("%v, want ErrNoCounter", err)
	}
	strict, err := all.OpenStrict(t.Context(), "orders", counter.OrCreate())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := strict.Next(t.Context()); n != 5 || err != nil {
		t.Errorf("%d, %v, want 5", n, err)
	}
	data.SetLineage("another copy")
	if _, err := strict.Next(t.Context()); !errors.Is(err, counter.ErrForgotten) {
		t.Errorf("%v, want ErrForgotten", err)
	}
}
