package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

const leaseDistrustUsage = `Usage: randflake lease distrust [-store STORE]

Says that a store may have forgotten leases, because it was restored from a backup or its server lost
what it had acknowledged. Nothing is granted then that starts before all forgotten leases have ended:
the longest lease and the skew of clocks from now, as they were given to "lease init". Leases that are
held stay good up to their end, and can't be renewed.

Run it before anything uses the restored store.
` + leaseStoreUsage

func (t *tool) runLeaseDistrust(ctx context.Context, args []string) error {
	flags := newFlags("lease distrust", leaseDistrustUsage)
	var h home
	flags.path(&h.store, "store")
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	return t.withStore(ctx, &h, func(ctx context.Context, space *store.Store) error {
		if err := space.Distrust(ctx); err != nil {
			return err
		}
		limits, err := lease.On(space).Limits(ctx)
		if err != nil {
			return err
		}
		return t.print(fmt.Sprintf("no lease of %s starts before %s\n", h.place, limits.Floor.Format(time.RFC3339)))
	})
}
