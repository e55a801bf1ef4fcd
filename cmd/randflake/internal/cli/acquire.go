package cli

import (
	"cmp"
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
	var label string
	var h home
	var cmd *cobra.Command
	cmd = t.onHome(&cobra.Command{
		Use:   "acquire",
		Short: "take a lease for a program that can't take one itself",
		Long: `Take a lease and print it as a JSON object: firstNode and lastNode (both
included), owner (the token that releases the lease), version, start (the first
second that IDs may contain), until (the first second that they may not), state,
label.
The lease is not renewed: when it ends, the nodes are free again. Each node
makes 131,072 IDs a second.`,
		Example: "  randflake lease acquire --nodes 4 --ttl 5m",
	}, &h, func(ctx context.Context, space *store.Space) error {
		info, err := space.Info(ctx)
		if err != nil {
			return err
		}
		req := lease.Request{Nodes: nodes, TTL: ttl, Label: cmp.Or(label, lease.DefaultLabel())}
		if len(info.Check) > 1 { // otherwise the secret makes no difference
			if req.Keys, err = h.keys(); err != nil {
				return err
			}
		}
		leases := lease.On(space)
		rec, err := leases.Acquire(ctx, req)
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
	secretFlag(cmd, &h.secret)
	cmd.Flags().IntVar(&nodes, "nodes", 1, "number of contiguous nodes, 1 to 131072")
	cmd.Flags().DurationVar(&ttl, "ttl", time.Minute, "length of the lease: 90s, 5m, ...")
	cmd.Flags().StringVar(&label, "label", "", "who wants it, instead of RANDFLAKE_LABEL")
	return cmd
}
