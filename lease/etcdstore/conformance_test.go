package etcdstore

import (
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

func conform(t *testing.T, ownClock string) {
	leasetest.Run(t, leasetest.Harness{
		OwnClock: ownClock,
		New: func(t *testing.T, rules lease.Rules, clock func() time.Time) func() (lease.Store, error) {
			url := newURL()
			var opts []Option
			if clock != nil {
				opts = append(opts, WithClock(clock))
			}
			s, err := Create(t.Context(), url, append(opts, ForNewSecret(), WithRules(rules))...)
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
			return func() (lease.Store, error) { return Open(t.Context(), url, opts...) }
		},
	})
}

func TestConformance(t *testing.T) { conform(t, "") }

func TestConformanceSystemClock(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for real seconds")
	}
	conform(t, "it is the machine's")
}
