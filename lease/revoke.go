package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Revoke takes the lease on a node away from its holder, as if it had been used to its end, and returns it as it was. If
// there is no such lease, the error wraps ErrNoLease.
//
// The holder can't renew the lease. A [Keeper] finds that out when it tries, within a third of its TTL, and stops making
// IDs until it has another lease, which it acquires at once. Until then it makes IDs; a holder that does not renew makes
// them up to the lease's end. No other process gets the nodes before that end. To keep a process from another lease, take
// away its right to use the store.
func Revoke(ctx context.Context, leases Source, node uint32) (Record, error) {
	const tries = 5 // as the holder may renew meanwhile
	var err error
	for range tries {
		records, failed := leases.List(ctx)
		if failed != nil {
			return Record{}, failed
		}
		i := slices.IndexFunc(records, func(r Record) bool { return r.FirstNode <= node && node <= r.LastNode })
		if i < 0 || records[i].Owner == (Token{}) {
			return Record{}, fmt.Errorf("%w: node %d", ErrNoLease, node)
		}
		held := records[i]
		if err = leases.Release(ctx, held, time.Unix(held.HighWater, 0)); !errors.Is(err, ErrLost) {
			return held, err
		}
	}
	return Record{}, fmt.Errorf("lease: revoke: the record changed each time that it was read: try again: %v", err)
}
