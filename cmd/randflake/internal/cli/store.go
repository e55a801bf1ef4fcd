package cli

import (
	"cmp"
	"context"
	"fmt"
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
		Long: `Make the space of leases and counters in a store, say how it is, report that it
lost data, and move it. STORE is as in "randflake help stores".`,
	}, t.storeInitCommand(), t.storeInfoCommand(), t.storeReportLossCommand(), t.storeMoveCommand(), t.storeRetireCommand(), t.storeDDLCommand())
}

// storeOperand makes a command take STORE as a flag, or as its only operand.
func storeOperand(cmd *cobra.Command, h *home) {
	storeFlag(cmd, h)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && h.store != "" {
			return wrong(cmd, "unexpected argument %q beside --store", args[0])
		}
		if len(args) == 1 {
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
		Long: `Say that the data of a store may be an older copy, such as a backup or snapshot
that was restored. Programs go on under the leases that they have. For about a
minute no lease is granted, or in a space without a reserve for some minutes,
until all that may be forgotten have ended. Each counter waits until it is set.
To report a loss that was none costs no more than that.`,
		Example: "  randflake store report-loss --why 'snapshot of Monday restored'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return h.onSpace(cmd, func(ctx context.Context, space *lease.Space) error {
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
			})
		},
	}
	storeOperand(cmd, &h)
	cmd.Flags().StringVar(&why, "why", "reported by hand", "for those who look at the space later")
	return cmd
}

// beginning says from when on leases are granted again, in a space whose data was lost or that was moved.
func beginning(info lease.Info) string {
	if info.Opens.IsZero() {
		return "leases begin at " + clockTime(info.Low)
	}
	return fmt.Sprintf("leases are granted from %s on, until %s of the reserve of %d nodes", clockTime(info.Opens), clockTime(info.Low), info.Reserve)
}

// clockTime writes a time as programs log theirs.
func clockTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func (t *tool) storeDDLCommand() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "ddl [STORE]",
		Short: "print the DDL of a store in PostgreSQL",
		Long: `Print the statements that create the schema of a store in PostgreSQL, for an
administrator to run if programs may not create schemas. Then make the space in
it with "randflake store init". This command connects to no server.`,
		Example: "  randflake store ddl 'postgres://app@db/shop?schema=ids' | psql shop",
	}
	storeOperand(cmd, &h)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		named, err := url.FromEnvironment()
		name, schema := cmp.Or(h.store, named), ""
		if err == nil && name != "" && name != "postgres" {
			schema, err = postgres.SchemaOf(name)
		}
		if err != nil {
			return err
		}
		text, err := postgres.DDL(schema)
		if err != nil {
			return err
		}
		return t.print("%s", text)
	}
	return cmd
}
