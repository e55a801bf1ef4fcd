//go:build linux

package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/lease/url"
	"github.com/randflake/randflake/service/client"
	"github.com/randflake/randflake/store"
)

// TestEngines: through two replicas, on each engine, leases and counters are as their packages promise. Each handle begins
// with the other replica than the one before.
func TestEngines(t *testing.T) {
	for _, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel() // as servers wait for their disk most of the time
			t.Run("leases", func(t *testing.T) { leasetest.RunLeases(t, e.leases) })
			t.Run("counters", func(t *testing.T) { leasetest.RunCounters(t, e.counters) })
		})
	}
}

func (e engine) leases(t *testing.T, limits store.Limits, clock func() time.Time) func() lease.Source {
	replicas := e.replicas(t, clock, nil, store.WithLimits(limits))
	return func() lease.Source {
		leases, err := client.New("demo", replicas(), client.WithClock(clock))
		if err != nil {
			t.Fatal(err)
		}
		return leases
	}
}

func (e engine) counters(t *testing.T, clock func() time.Time, counters []counter.Info) func() *counter.Counters {
	replicas := e.replicas(t, clock, counters)
	return func() *counter.Counters {
		all, err := client.NewCounters(replicas(), client.WithClock(clock))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
}

// replicas starts two replicas on a new store, with counters, and returns a function that returns their addresses, now one
// first and now the other.
func (e engine) replicas(t *testing.T, clock func() time.Time, counters []counter.Info, options ...store.Option) func() []string {
	place := e.place(t)
	made, err := e.create(t.Context(), place, append(options, store.ForNewSecret(), store.WithClock(clock))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { made.Close() })
	leasetest.CreateCounters(t, made, counters)
	open := func(ctx context.Context, place string, options ...store.Option) (*store.Space, error) {
		return url.Open(ctx, place, append(options, store.WithClock(clock))...)
	}
	one, two := startOn(t, place, open, counters, asIs).URL, startOn(t, place, open, counters, asIs).URL
	return func() []string {
		one, two = two, one
		return []string{one, two}
	}
}
