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
		Short: "report that a store was restored from a backup",
		Long: `Report that a store may have forgotten leases, because it was restored from a
backup or its server lost changes that it had acknowledged. Then no lease starts
before all forgotten leases have ended, which is --max-ttl plus --max-skew of
"lease init" from now. Current leases are valid until they end, but can't be
renewed. A counter without a rate gives no number until you set its next number:
see randflake counter advance --help

Run it before any program uses the restored store.`,
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
		Short: "forgive a clock that was ahead and is right now",
		Long: `Repair a store after a clock was ahead. Nodes that were granted by the wrong
clock are poisoned: they are skipped until that time comes. After a loss of
data, the store even takes the right clock for a slow one. This command undoes
both.

The price: no second from TIME up to the newest second that the wrong clock led
to is ever granted, because nobody knows which of its IDs exist, so no IDs can
be made in that interval. And no lease starts before all current ones have
ended.

Set the clock right first, and stop every process that uses the wrong time.`,
		Example: "  randflake lease forgive-clock --from 2035-01-31T12:00:00Z",
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if from.IsZero() {
				return wrong(cmd, "--from is missing: want the first wrong time that the clock showed")
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
		return t.print(fmt.Sprintf("no lease of %s starts before %s, and no lease ever contains a second from %s until before %s\n", at,
			limits.Floor.Format(time.RFC3339), limits.BarredFrom.Format(time.RFC3339), limits.BarredTo.Format(time.RFC3339)))
	})
	cmd.Flags().Var(value{"TIME", func(text string) (err error) {
		from, err = parseTime(text)
		return err
	}}, "from", "first wrong time, or an earlier future one")
	return cmd
}

func (t *tool) leaseUpgradeCommand() *cobra.Command {
	return t.onStore(&cobra.Command{
		Use:   "upgrade",
		Short: "raise a store to the newest format",
		Long: `Raise a store to the newest format that this program knows, which
"randflake version" prints. All versions write the format of the store. So
versions that know it run side by side, and a newer one can be taken back, until
you upgrade the store. After that, older versions can't use it: their leases end
without being renewed. A format is never lowered.

Upgrade once no older version runs and none will come back.`,
		Example: "  randflake lease upgrade --store postgres://app@db/shop",
	}, func(ctx context.Context, space *store.Space, at location) error {
		before, err := space.Upgrade(ctx)
		if err != nil {
			return err
		}
		return t.print(fmt.Sprintf("%s has format %d, and had %d\n", at, store.Format, before))
	})
}
