package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

func (t *tool) leaseAcquireCommand() *cobra.Command {
	var nodes int
	var ttl time.Duration
	var cmd *cobra.Command
	cmd = t.onStore(&cobra.Command{
		Use:   "acquire",
		Short: "take a lease for a program that can't take one itself",
		Long: `Take a lease and print it as a JSON object: firstNode and lastNode (both
included), owner (the token that releases the lease), version, start (the first
second that IDs may contain), until (the first second that they may not), state.
The lease is not renewed: when it ends, the nodes are free again. Each node
makes 131,072 IDs a second.`,
		Example: "  randflake lease acquire --nodes 4 --ttl 5m",
	}, func(ctx context.Context, space *store.Space, _ location) error {
		leases := lease.On(space)
		rec, err := leases.Acquire(ctx, lease.Request{Nodes: nodes, TTL: ttl})
		if errors.Is(err, lease.ErrInvalidRequest) {
			return wrong(cmd, "%v", err)
		}
		if err != nil {
			return err
		}
		v, err := space.Look(ctx, nil, store.Page{})
		if err == nil {
			err = t.print(leaseLines([]lease.Record{rec}, v))
		}
		if err != nil {
			// The owner token was not printed, so the lease can be neither used nor released.
			return errors.Join(err, leases.Release(ctx, rec, time.Unix(rec.Start-1, 0)))
		}
		return nil
	})
	cmd.Flags().IntVar(&nodes, "nodes", 1, "number of contiguous nodes, 1 to 131072")
	cmd.Flags().DurationVar(&ttl, "ttl", time.Minute, "length of the lease: 90s, 5m, ...")
	return cmd
}
