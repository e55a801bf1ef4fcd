package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

const leasePardonUsage = `Usage: randflake lease pardon -from TIME [-store STORE]

Says that a clock was ahead of the time, and is right now. What was granted by it lies far ahead. Its
nodes are passed over until then ("lease list" calls them poisoned), and when data is lost, or may
have been, the right clock passes for one that is slow and the store is refused. After a pardon none
of that counts any more.

The price: no second from TIME up to the newest one that the clock has led to is ever granted, since
nobody knows which of its IDs exist: when that time comes, no IDs can be made until it is over. And no
lease starts before all that is held now has ended, as after "lease distrust".

Set the clock right first, and end what still goes by the wrong one.

  -from TIME     the first time that the clock showed wrongly, such as 2035-01-31T12:00:00Z, or an
                 earlier one in the future
` + leaseStoreUsage

func (t *tool) runLeasePardon(ctx context.Context, args []string) error {
	flags := newFlags("lease pardon", leasePardonUsage)
	var h home
	var from time.Time
	flags.path(&h.store, "store")
	flags.Func("from", "", func(text string) (err error) {
		from, err = parseTime(text)
		return err
	})
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	if from.IsZero() {
		return flags.wrong("-from is missing: want the first time that the clock showed wrongly")
	}
	return t.withStore(ctx, &h, func(ctx context.Context, space *store.Store) error {
		if _, err := space.Pardon(ctx, from); err != nil {
			return err
		}
		limits, err := lease.On(space).Limits(ctx)
		if err != nil {
			return err
		}
		return t.print(fmt.Sprintf("no lease of %s starts before %s, and none ever has a second from %s until before %s\n", h.place,
			limits.Floor.Format(time.RFC3339), limits.BarredFrom.Format(time.RFC3339), limits.BarredTo.Format(time.RFC3339)))
	})
}
