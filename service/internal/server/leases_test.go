package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// renewed is a store in which a lease was renewed, and which fails to say by whom.
type renewed struct {
	lease.Source
	failure error
}

func (s renewed) Renew(context.Context, lease.Record, lease.Renewal) (lease.Record, error) {
	return lease.Record{}, &lease.LostError{Why: "another process renewed it"}
}

func (s renewed) Lookup(context.Context, lease.Record) (lease.Record, error) {
	return lease.Record{}, s.failure
}

// TestRetried: a lease is neither called lost nor a renewal refused while the very call that is repeated may have renewed it.
func TestRetried(t *testing.T) {
	for failure, lost := range map[error]bool{context.DeadlineExceeded: false, errors.New("the store failed"): false, store.ErrClock: false, &lease.LostError{}: true} {
		_, err := retried{renewed{failure: failure}}.Renew(t.Context(), lease.Record{}, lease.Renewal{Token: lease.NewToken(time.Now())})
		if errors.Is(err, lease.ErrLost) != lost || err == nil || errors.Is(err, store.ErrClock) {
			t.Errorf("lookup failed with %v: error %v, lost should be %v", failure, err, lost)
		}
	}
}
