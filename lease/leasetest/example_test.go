package leasetest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
)

// A store of one's own is tested like this, in a function TestConformance.
func ExampleRun() {
	_ = func(t *testing.T) {
		leasetest.Run(t, func(t *testing.T, limits store.Limits, clock func() time.Time) func() lease.Source {
			data := leasetest.NewMemory(limits, clock) // make an empty database
			return func() lease.Source {
				return data // connect to it
			}
		})
	}
}

// The reply to a renewal gets lost: the lease was renewed, and its holder does not know.
func ExampleMemory_Inject() {
	ctx := context.Background()
	clock := leasetest.NewClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	store := leasetest.NewMemory(store.DefaultLimits(), clock.Now)
	held, _ := store.Acquire(ctx, lease.Request{Nodes: 1, TTL: time.Minute})

	store.Inject(func(op leasetest.Op) leasetest.Fault {
		return leasetest.Fault{After: op == leasetest.Renew}
	})
	renewal := lease.Renewal{TTL: 5 * time.Minute, Token: lease.NewToken(clock.Now())}
	_, err := store.Renew(ctx, held, renewal)
	fmt.Println(err)

	found, err := store.Lookup(ctx, held)
	fmt.Println(found.Lease().End.Format(time.TimeOnly), found.Change == renewal.Token, err)
	// Output:
	// leasetest: injected fault
	// 12:05:00 true <nil>
}
