package metrics

import (
	"errors"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// refusals are the errors by which a store says no. After any other the outcome is unknown.
var refusals = []error{lease.ErrNoRange, lease.ErrInvalidRequest, store.ErrWrongSecret, store.ErrClock, randflake.ErrEndOfLife}

// Lease counts what a call about a lease of a space came to: an outcome, or an error.
func (m *Metrics) Lease(space, outcome string, err error) {
	switch {
	case errors.Is(err, lease.ErrLost):
		outcome = "lost"
	case slices.ContainsFunc(refusals, func(no error) bool { return errors.Is(err, no) }):
		outcome = "refused"
	case err != nil:
		outcome = "failed"
	}
	m.leases.WithLabelValues(space, outcome).Inc()
}

// Renewal counts how long the store took to renew a lease.
func (m *Metrics) Renewal(space string, took time.Duration) {
	m.renewals.WithLabelValues(space).Observe(took.Seconds())
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
