package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

func (t *tool) leaseReleaseCommand() *cobra.Command {
	var owner lease.Token
	var last time.Time
	var unused bool
	cmd := t.onStore(&cobra.Command{
		Use:   "release",
		Short: "give a lease back",
		Long: `Give a lease back, after its last user has stopped. If the TIME of --last-used
is too early, IDs can repeat. Without --last-used, the nodes are free when the
lease would have ended.`,
		Example: `  randflake lease release --owner 0123456789abcdef0123456789abcdef
  randflake lease release --owner 0123456789abcdef0123456789abcdef \
      --last-used 2025-01-31T12:00:00Z`,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if owner == (lease.Token{}) {
				return wrong(cmd, "--owner is missing: randflake lease list shows the owners")
			}
			return nil
		},
	}, func(ctx context.Context, space *store.Space, at location) error {
		leases := lease.On(space)
		records, err := leases.List(ctx)
		if err != nil {
			return err
		}
		for _, rec := range records {
			if rec.Owner == owner {
				second, err := lastUsed(rec, last, unused)
				if err != nil {
					return err
				}
				return leases.Release(ctx, rec, second)
			}
		}
		return fmt.Errorf("no lease of owner %v in %s: it was released or, after its end, taken over", owner, at)
	})
	cmd.Flags().Var(value{"TOKEN", func(text string) error { return owner.UnmarshalText([]byte(text)) }}, "owner", "the owner that lease acquire printed")
	cmd.Flags().Var(value{"TIME", func(text string) (err error) {
		if unused = text == "unused"; !unused {
			last, err = parseTime(text)
		}
		return err
	}}, "last-used", `the newest second in an ID, or "unused"`)
	return cmd
}

func (t *tool) leaseRevokeCommand() *cobra.Command {
	node := noNode
	cmd := t.onStore(&cobra.Command{
		Use:   "revoke",
		Short: "take a lease away from its holder",
		Long: `Take the lease on a node away from its holder, and print it as it was. The
holder can't renew it. So it makes IDs up to its next attempt to renew, within
a third of its TTL, or to the end of the lease if it never renews. No other
process gets the nodes before that end.

Revoking does not keep the process from another lease, which a keeper acquires
at once. For that, stop the process, or take away its right to use the store.`,
		Example: "  randflake lease revoke --node 17",
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if node == noNode {
				return wrong(cmd, "--node is missing: randflake lease list shows the nodes and their holders")
			}
			return nil
		},
	}, func(ctx context.Context, space *store.Space, _ location) error {
		v, err := space.Look(ctx, nil, store.Page{})
		if err != nil {
			return err
		}
		held, err := lease.Revoke(ctx, lease.On(space), node)
		if err != nil {
			return err
		}
		return t.print(leaseLines([]lease.Record{held}, v))
	})
	nodeFlag(cmd, &node)
	return cmd
}

// parseTime reads a time on the command line.
func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, errors.New("want a time such as 2025-01-31T12:00:00Z")
	}
	return t, nil
}

// lastUsed returns the last second that counts as used. A time outside the lease is an error.
func lastUsed(rec lease.Record, last time.Time, unused bool) (time.Time, error) {
	l := rec.Lease()
	switch {
	case unused:
		return l.Start.Add(-time.Second), nil
	case last.IsZero():
		return l.End.Add(-time.Second), nil
	case last.Before(l.Start) || !last.Before(l.End):
		return last, fmt.Errorf("--last-used %s is outside the lease, which is from %s until before %s",
			last.UTC().Format(time.RFC3339), l.Start.Format(time.RFC3339), l.End.Format(time.RFC3339))
	}
	return last, nil
}
