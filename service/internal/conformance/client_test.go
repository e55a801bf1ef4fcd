// Package conformance has the tests of the Go client with the service behind it: that what it makes keeps the promises of a space.
package conformance

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/counter/numbers"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/service/client"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/server"
)

// A bed is data in memory with two replicas in front.
type bed struct {
	*testing.T
	data      *leasetest.Memory
	down      [2]atomic.Bool // a replica carries out every other call, and answers none
	lost      atomic.Int64
	addresses []string
}

var quiet = slog.New(slog.DiscardHandler)

// newBed starts the replicas.
func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{T: t, data: leasetest.NewMemory()}
	made, err := lease.Create(t.Context(), b.data.Connect(), lease.Config{NeverUsed: true})
	require.NoError(b, err)
	b.Cleanup(func() { made.Close() })
	for i := range b.down {
		s := server.New(func(ctx context.Context, _ string, c lease.Config) (*lease.Space, error) {
			return lease.Open(ctx, b.data.Connect(), c)
		}, io.Discard, quiet)
		c := &config.Config{Spaces: []config.Space{{Name: "demo", Kind: "randflake", Store: "memory", Quota: config.Quota{Rate: 1e6},
			Counters: []config.Counter{{Name: "orders", Start: 5, Step: 2},
				{Name: "invoices", Last: 999999, Periods: "day", Series: seriesOf(t, invoices)}}}}}
		require.NoError(b, s.Configure(c))
		b.Cleanup(s.Close)
		calls := atomic.Int64{}
		handler := s.Handler()
		listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if b.down[i].Load() {
				if calls.Add(1)%2 == 0 {
					handler.ServeHTTP(httptest.NewRecorder(), r)
					b.lost.Add(1)
				}
				panic(http.ErrAbortHandler)
			}
			handler.ServeHTTP(w, r)
		}))
		listening.Config.ErrorLog = slog.NewLogLogger(quiet.Handler(), 0)
		b.Cleanup(listening.Close)
		b.addresses = append(b.addresses, listening.URL)
		for s.Ready() != nil {
			time.Sleep(time.Millisecond)
		}
	}
	return b
}

const invoices = "INV-{date:20060102}-{n:6}"

// checkOf returns the check value of a series.
func seriesOf(t *testing.T, pattern string) string {
	t.Helper()
	space, err := lease.Create(t.Context(), leasetest.NewMemory().Connect(), lease.Config{NeverUsed: true})
	require.NoError(t, err)
	series, err := numbers.Open(t.Context(), counter.From(space), "invoices", pattern)
	require.NoError(t, err)
	defer series.Close()
	c, err := space.Counter(t.Context(), "invoices")
	require.NoError(t, err)
	return c.Series
}

// leases returns a client that begins with one of the replicas.
func (b *bed) leases(first int) *client.Leases {
	b.Helper()
	leases, err := client.OpenLeases(b.Context(), "demo", []string{b.addresses[first], b.addresses[1-first]})
	require.NoError(b, err)
	return leases
}

func (b *bed) counters(first int) *counter.Counters {
	counters, err := client.NewCounters("demo", []string{b.addresses[first], b.addresses[1-first]})
	require.NoError(b, err)
	return counters
}

// TestFailures: keepers and counters go on while replicas fail and come back, with calls that were carried out and others that were
// not. No ID and no number is given twice.
func TestFailures(t *testing.T) {
	b, secret := newBed(t), randflake.NewSecret()
	var mu sync.Mutex
	ids, numbers := map[randflake.ID]bool{}, map[int64]bool{}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for round := range 5 {
				leases, err := client.OpenLeases(t.Context(), "demo", []string{b.addresses[i%2], b.addresses[1-i%2]})
				if err != nil {
					continue // all replicas are down
				}
				keeper, err := lease.Keep(t.Context(), leases, secret, lease.WithLogger(quiet))
				if err != nil {
					continue
				}
				c, err := b.counters(i%2).Open(t.Context(), "orders", counter.WithRunLength(5, 20), counter.WithLogger(quiet))
				for range 50 {
					id, made := keeper.Generator().Generate()
					n, counted := int64(0), err
					if err == nil {
						n, counted = c.Wait(t.Context())
					}
					mu.Lock()
					if made == nil && ids[id] || counted == nil && numbers[n] {
						t.Errorf("round %d: %v or %d was given before", round, id, n)
					}
					ids[id], numbers[n] = made == nil, counted == nil
					mu.Unlock()
				}
				keeper.Close()
			}
		})
	}
	for i := range 40 {
		b.down[0].Store(i%4 == 1)
		b.down[1].Store(i%4 == 3)
		time.Sleep(5 * time.Millisecond)
	}
	b.down[0].Store(false)
	b.down[1].Store(false)
	all.Wait()
	require.That(t, len(ids) >= 1000 && len(numbers) >= 1000 && b.lost.Load() != 0,
		"%d IDs, %d numbers, %d lost answers", len(ids), len(numbers), b.lost.Load())
}

// TestLoss: after a loss of data clients are told until when to wait, and counters wait until they are set.
func TestLoss(t *testing.T) {
	b := newBed(t)
	leases, counters := b.leases(0), b.counters(1)
	strict, err := counters.OpenStrict(t.Context(), "orders", counter.OrCreate(counter.Config{Start: 5, Step: 2}))
	require.NoError(b, err)
	require.Gives(t, int64(5), "the first number")(strict.Next(t.Context()))
	require.Refuses(t, lease.ErrMismatch, "another counter of that name")(counters.OpenStrict(t.Context(), "orders", counter.OrCreate(counter.Config{})))
	copied := b.data.Snapshot()
	copied.Lineage = "another copy"
	b.data.Restore(copied)
	present := leases.Limits().WindowOf(time.Now())
	_, err = leases.Take(t.Context(), present, present, 1)
	if wait := (*lease.WaitError)(nil); !errors.As(err, &wait) || wait.Err != lease.ErrLoss || time.Until(wait.Until) < time.Minute {
		t.Errorf("%v", err)
	}
	require.Refuses(t, lease.ErrCounterLost, "after a loss")(strict.Next(t.Context()))
	require.NoError(b, counters.Source().SetCounter(t.Context(), "orders", 1001))
	require.Gives(t, int64(1001), "once it is set")(strict.Next(t.Context()))
	if all, err := counters.Source().Counters(t.Context(), "", 10); err != nil || len(all) != 1 || all[0].Next != 1003 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestSeries: a series takes its numbers from the service, which says in which period they are, and one that is not as the
// configuration has it takes none.
func TestSeries(t *testing.T) {
	b, seen := newBed(t), map[string]bool{}
	for i := range 4 {
		series, err := numbers.Open(t.Context(), b.counters(i%2), "invoices", invoices)
		require.NoError(b, err)
		defer series.Close()
		for range 50 {
			n, err := series.Next(t.Context())
			require.NoError(b, err)
			require.That(t, !seen[n.String()], "%s twice", n)
			seen[n.String()] = true
		}
	}
	for _, c := range []struct {
		pattern string
		clock   time.Duration // ahead of the service's
		want    error
	}{
		{"INV-{date:20060102}-{n:7}", 0, lease.ErrMismatch},
		{"INV-{n:6}-{date:20060102}", 0, lease.ErrMismatch},
		{"INV-{date:200601}-{n:6}", 0, lease.ErrMismatch},
		{invoices, 48 * time.Hour, lease.ErrClock},
		{invoices, -48 * time.Hour, lease.ErrClock},
	} {
		clock := func() time.Time { return time.Now().Add(c.clock) }
		series, err := numbers.Open(t.Context(), b.counters(0), "invoices", c.pattern, numbers.WithClock(clock))
		require.That(t, errors.Is(err, c.want),
			"%s, a clock %v ahead: %v, %v, want %v", c.pattern, c.clock, series, err, c.want)
	}
	require.Refuses(t, lease.ErrMismatch, "without a period")(b.counters(0).OpenStrict(t.Context(), "invoices"))
}
