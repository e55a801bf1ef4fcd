package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/store"
)

func (t *tool) leaseMoveCommand() *cobra.Command {
	var to location
	cmd := t.onStore(&cobra.Command{
		Use:   "move",
		Short: "move a store to another engine or place",
		Long: `Move a store, with its leases and counters, to a place where there is none. The
old store is closed first. Programs that use it make IDs until their leases end,
so start them with the new store before that. Nobody else gets their nodes until
then, so no program has to wait.

If the command fails, run it again: until it succeeds, no lease is granted.
Afterwards, delete the old store and its backups.`,
		Example: "  randflake lease move --store leases --to postgres://app@db/shop",
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			switch {
			case to.Dir+to.URL == "":
				return wrong(cmd, "--to is missing: want the store to make")
			case to.URL != "":
				to.servers, err = t.needServers()
			default:
				err = os.MkdirAll(to.Dir, 0o700)
			}
			return err
		},
	}, func(ctx context.Context, space *store.Space, at location) error {
		moved, err := to.create(ctx, store.MovedFrom(space))
		if err != nil {
			return err
		}
		if err := moved.Close(); err != nil {
			return err
		}
		return t.print(fmt.Sprintf("moved %s to %s: start all programs with that store now\n", at, to))
	}, store.ForMove())
	cmd.Flags().Var(value{"URL", func(name string) (err error) {
		to.Location, err = store.ParseLocation(name)
		return err
	}}, "to", "directory or URL of the new store")
	return cmd
}

func (t *tool) leasePlanFailoverCommand() *cobra.Command {
	var window time.Duration
	cmd := t.onStore(&cobra.Command{
		Use:   "plan-failover",
		Short: "announce a failover that loses nothing",
		Long: `Announce that a complete copy is about to take the place of the data: a replica
that has every change, a new major version, or the same files on another disk.
Usually no lease starts for a while after that, because the store can't know
that the copy is complete. The first copy that is used before --window is over
is trusted, if it was made or updated after the announcement.

If the copy lacks a change, IDs can repeat. Restore no backup in that time.`,
		Example: "  randflake lease plan-failover --window 30m",
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if window < time.Second || window > 24*time.Hour {
				return wrong(cmd, "--window %v: want 1s to 24h, as an unplanned failover in that time counts as planned", window)
			}
			return nil
		},
	}, func(ctx context.Context, space *store.Space, at location) error {
		until, err := space.PlanFailover(ctx, window)
		if err != nil {
			return err
		}
		return t.print(fmt.Sprintf("%s may be replaced by a complete copy until %s\n", at, until.Format(time.RFC3339)))
	})
	cmd.Flags().DurationVar(&window, "window", 10*time.Minute, "how long it lasts, in whole seconds")
	return cmd
}
