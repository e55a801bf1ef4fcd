package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/postgres"
	"github.com/randflake/randflake/lease/url"
)

func (t *tool) storeCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "store",
		Short: "make stores, and say what is wrong with one",
	},
		t.storeInitCommand(),
		t.storeInfoCommand(),
		t.storeReportLossCommand(),
		t.storeTrustCommand(),
		t.storeMoveCommand(),
		t.storeRetireCommand(),
		t.storeDDLCommand())
}

// storeOperand makes a command take STORE as a flag, or as its only operand, which is not empty: see pathFlag.
func storeOperand(cmd *cobra.Command, h *home) {
	storeFlag(cmd, h)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0 && h.store != "":
			return wrong(cmd, "unexpected argument %q beside --store", args[0])
		case slices.Contains(args, ""):
			return wrong(cmd, "STORE is empty")
		case len(args) == 1:
			h.store, args = args[0], nil
		}
		return noOperands(cmd, args[min(1, len(args)):])
	}
}

func (t *tool) storeReportLossCommand() *cobra.Command {
	var h home
	var why string
	cmd := &cobra.Command{
		Use:   "report-loss [STORE]",
		Short: "say that a store lost data where it can't tell",
		RunE: h.run(func(ctx context.Context, space *lease.Space, _ []string) error {
			if err := space.ReportLoss(ctx, why); err != nil {
				return err
			}
			info, err := space.Info(ctx)
			if err != nil {
				return err
			}
			if info.Retired {
				return t.print("noted: %s stays retired, and grants nothing any more\n", space)
			}
			return t.print("noted: %s; set each counter beyond all numbers that it gave\n", beginning(info))
		}),
	}
	storeOperand(cmd, &h)
	cmd.Flags().StringVar(&why, "why", "reported by hand", "a `TEXT` for those who look at the space later")
	return cmd
}

func (t *tool) storeRetireCommand() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "retire [STORE]",
		Short: "end a space for ever",
		RunE: h.run(func(ctx context.Context, space *lease.Space, _ []string) error {
			if err := space.Retire(ctx); err != nil {
				return err
			}
			l := space.Limits()
			last := time.Now().Add(2*l.MaxSkew + time.Duration(l.Ahead+1)*l.Window)
			return t.print("%s is retired: the last lease that it has granted ends before %s\n", space, clockTime(last))
		}),
	}
	storeOperand(cmd, &h)
	return cmd
}

// beginning says from when on leases are granted again, in a space whose data was lost or that was moved.
func beginning(info lease.Info) string {
	if info.ReserveOpens.IsZero() {
		return "leases begin at " + clockTime(info.Floor)
	}
	return fmt.Sprintf("leases are granted from %s on, until %s of the reserve of %d nodes",
		clockTime(info.ReserveOpens), clockTime(info.Floor), info.Reserve)
}

// clockTime writes a time as programs log theirs.
func clockTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func (t *tool) storeDDLCommand() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "ddl [STORE]",
		Short: "print the DDL of a store in PostgreSQL",
	}
	storeOperand(cmd, &h)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		named, err := url.FromEnvironment()
		if err != nil {
			return err
		}
		text, err := postgres.DDL(cmp.Or(h.store, named))
		if err != nil {
			return err
		}
		return t.print("%s", text)
	}
	return cmd
}
