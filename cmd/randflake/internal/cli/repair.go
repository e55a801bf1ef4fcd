package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

func (t *tool) leaseReportLossCommand() *cobra.Command {
	return t.onStore(&cobra.Command{
		Use:   "report-loss",
		Short: "say that a store was restored from a backup",
		Long: `Say that a store may have forgotten leases, because it was restored from a
backup or its server lost what it had acknowledged. Nothing is granted then that
starts before all forgotten leases have ended: the longest lease and the skew of
clocks from now, as they were given to "lease init". Leases that are held stay
good up to their end, and can't be renewed. A counter without a rate gives no
number until you say where it goes on: see randflake counter advance --help

Run it before anything uses the restored store.`,
		Example: "  randflake lease report-loss --store postgres://app@db/shop",
	}, func(ctx context.Context, space *store.Space, at location) error {
		if err := space.ReportLoss(ctx, "an operator reported it"); err != nil {
			return err
		}
		limits, err := lease.On(space).Limits(ctx)
		if err != nil {
			return err
		}
		return t.print(fmt.Sprintf("no lease of %s starts before %s\n", at, limits.Floor.Format(time.RFC3339)))
	})
}

func (t *tool) leaseForgiveClockCommand() *cobra.Command {
	var from time.Time
	cmd := t.onStore(&cobra.Command{
		Use:   "forgive-clock",
		Short: "say that a clock was ahead, and is right now",
		Long: `Say that a clock was ahead of the time, and is right now. The nodes that it
granted are poisoned: passed over until that time comes. After a loss of data
the right clock even passes for a slow one. After that none of that counts.

The price: no second from TIME up to the newest one that the clock has led to is
ever granted, since nobody knows which of its IDs exist; no IDs can be made
then. And no lease starts before all that is held now has ended.

Set the clock right first, and end what still goes by the wrong one.`,
		Example: "  randflake lease forgive-clock --from 2035-01-31T12:00:00Z",
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if from.IsZero() {
				return wrong(cmd, "--from is missing: want the first time that the clock showed wrongly")
			}
			return nil
		},
	}, func(ctx context.Context, space *store.Space, at location) error {
		if _, err := space.ForgiveClock(ctx, from); err != nil {
			return err
		}
		limits, err := lease.On(space).Limits(ctx)
		if err != nil {
			return err
		}
		return t.print(fmt.Sprintf("no lease of %s starts before %s, and none ever has a second from %s until before %s\n", at,
			limits.Floor.Format(time.RFC3339), limits.BarredFrom.Format(time.RFC3339), limits.BarredTo.Format(time.RFC3339)))
	})
	cmd.Flags().Var(value{"TIME", func(text string) (err error) {
		from, err = parseTime(text)
		return err
	}}, "from", "the first wrong one, or an earlier one in the future")
	return cmd
}
