package metrics

import (
	"context"
	"errors"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// Leases returns a store that counts what becomes of leases of a space, and how long renewals take.
func (m *Metrics) Leases(store lease.Source, space string) lease.Source {
	return &leases{store, m, space}
}

type leases struct {
	lease.Source
	metrics *Metrics
	space   string
}

// refusals are the errors by which a store says no. After any other the outcome is unknown.
var refusals = []error{lease.ErrNoRange, lease.ErrInvalidRequest, store.ErrWrongSecret, store.ErrClock, randflake.ErrEndOfLife}

// note counts what a call came to.
func (l *leases) note(outcome string, err error) {
	switch {
	case errors.Is(err, lease.ErrLost):
		outcome = "lost"
	case slices.ContainsFunc(refusals, func(no error) bool { return errors.Is(err, no) }):
		outcome = "refused"
	case err != nil:
		outcome = "failed"
	}
	l.metrics.leases.WithLabelValues(l.space, outcome).Inc()
}

func (l *leases) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	r, err := l.Source.Acquire(ctx, req)
	l.note("granted", err)
	return r, err
}

func (l *leases) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	start := time.Now()
	r, err := l.Source.Renew(ctx, held, renewal)
	l.metrics.renewals.WithLabelValues(l.space).Observe(time.Since(start).Seconds())
	l.note("renewed", err)
	return r, err
}

func (l *leases) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	err := l.Source.Release(ctx, held, lastUsed)
	l.note("released", err)
	return err
}

// A Bucket is how many renewals took up to Seconds, and longer than those of the bucket before; the last one has no bound.
type Bucket struct {
	Seconds float64
	Count   uint64
}

// Renewals returns how long renewals in the spaces took.
func (m *Metrics) Renewals(spaces []string) []Bucket {
	buckets := make([]Bucket, len(bounds)+1)
	for i, bound := range bounds {
		buckets[i].Seconds = bound
	}
	for _, space := range spaces {
		var h dto.Metric
		if m.renewals.WithLabelValues(space).(interface{ Write(*dto.Metric) error }).Write(&h) != nil {
			continue
		}
		before := uint64(0)
		for i, b := range h.Histogram.Bucket {
			buckets[i].Count += b.GetCumulativeCount() - before
			before = b.GetCumulativeCount()
		}
		buckets[len(bounds)].Count += h.Histogram.GetSampleCount() - before
	}
	return buckets
}
