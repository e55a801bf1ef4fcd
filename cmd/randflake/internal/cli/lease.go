package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// storeTimeout is how long a command waits for other processes that use the store.
const storeTimeout = 30 * time.Second

func (t *tool) leaseCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "lease",
		Short: "list, acquire, release and revoke leases; make and repair stores",
		Long:  "List, acquire, release and revoke leases, and make and repair stores.",
	})
	cmd.AddCommand(t.leaseListCommand(), t.leaseWhoCommand(), t.leaseAcquireCommand(), t.leaseReleaseCommand(), t.leaseRevokeCommand(),
		t.leaseInitCommand(), t.leaseRotateCommand(), t.leaseReportLossCommand(), t.leaseForgiveClockCommand(), t.leasePlanFailoverCommand(), t.leaseMoveCommand(),
		t.leaseUpgradeCommand(), t.leaseDDLCommand())
	return cmd
}

// onStore completes a command that uses a store.
func (t *tool) onStore(cmd *cobra.Command, use func(ctx context.Context, space *store.Space, at location) error, options ...store.Option) *cobra.Command {
	h := new(home)
	return t.onHome(cmd, h, func(ctx context.Context, space *store.Space) error { return use(ctx, space, h.at) }, options...)
}

// onHome is onStore for a command that may use the secret too.
func (t *tool) onHome(cmd *cobra.Command, h *home, use func(ctx context.Context, space *store.Space) error, options ...store.Option) *cobra.Command {
	storeFlag(cmd, h)
	cmd.Args = noOperands
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := h.resolve(t); err != nil {
			return err
		}
		space, err := h.openStore(cmd.Context(), options...)
		if err != nil {
			return err
		}
		defer space.Close()
		ctx, cancel := context.WithTimeout(cmd.Context(), storeTimeout)
		defer cancel()
		return use(ctx, space)
	}
	return cmd
}

// A leaseView has the fields of a record that the lease commands print.
type leaseView struct {
	FirstNode uint32      `json:"firstNode"`
	LastNode  uint32      `json:"lastNode"`
	Owner     lease.Token `json:"owner,omitzero"`
	Version   uint64      `json:"version"`
	Start     time.Time   `json:"start"`
	Until     time.Time   `json:"until"`
	State     string      `json:"state"`
	Label     string      `json:"label,omitempty"`
}

func viewOf(rec lease.Record, v *store.View) leaseView {
	l := rec.Lease()
	return leaseView{rec.FirstNode, rec.LastNode, rec.Owner, rec.Version, l.Start, l.End, stateOf(rec, v), rec.Label}
}

// stateOf names the state of a record.
func stateOf(rec lease.Record, v *store.View) string { return rec.State(v.Now, v.Meta.Limits()) }

// bounds describes the seconds that are not granted for any node.
func bounds(v *store.View) string {
	stamp := func(second int64) string { return time.Unix(second, 0).UTC().Format(time.RFC3339) }
	var b strings.Builder
	if v.Meta.Floor > v.Now {
		fmt.Fprintf(&b, "\nno lease starts before %s: every lease that the store may have forgotten has ended by then\n", stamp(v.Meta.Floor))
	}
	if v.Meta.Failover > v.Now {
		fmt.Fprintf(&b, "\nuntil %s a failover is planned: see randflake lease plan-failover --help\n", stamp(v.Meta.Failover))
	}
	if barred := v.Meta.Barred; barred != nil && barred.To > v.Now {
		fmt.Fprintf(&b, "\nno lease contains a second from %s until before %s: see randflake lease forgive-clock --help\n", stamp(barred.From), stamp(barred.To))
	}
	return b.String()
}

func (t *tool) leaseListCommand() *cobra.Command {
	var asJSON *bool
	cmd := t.onStore(&cobra.Command{
		Use:   "list",
		Short: "show the leases of a store",
		Long: `Show each range of nodes that the store ever granted, with its newest lease:
owner, version, the first second that IDs may contain, the first second that
they may not contain, the state, and the label, by which the holder named
itself: RANDFLAKE_LABEL, or its host and process ID. The states:

  leased     the lease runs, or will
  free       the lease has ended
  released   the holder gave the lease back
  poisoned   the lease ends so far ahead that a wrong clock must have granted
             it; it is skipped, unless you run: randflake lease forgive-clock

If there are seconds that the store does not grant, it lists them below.`,
		Example: `  randflake lease list
  randflake lease list --json --store postgres://app@db/shop`,
	}, func(ctx context.Context, space *store.Space, _ location) error {
		records, err := lease.On(space).List(ctx)
		if err != nil {
			return err
		}
		v, err := space.Look(ctx, nil, store.Page{})
		if err != nil {
			return err
		}
		if *asJSON {
			return t.print(leaseLines(records, v))
		}
		return t.print(leaseTable(records, v) + bounds(v))
	})
	asJSON = jsonFlag(cmd)
	return cmd
}

// leaseLines returns a JSON object in a line for each record.
func leaseLines(records []lease.Record, v *store.View) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, rec := range records {
		enc.Encode(viewOf(rec, v)) // can't fail
	}
	return b.String()
}

func leaseTable(records []lease.Record, v *store.View) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODES\tOWNER\tVERSION\tSTART\tUNTIL\tSTATE\tLABEL")
	for _, rec := range records {
		r := viewOf(rec, v)
		owner := strings.Replace(r.Owner.String(), lease.Token{}.String(), "-", 1)
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", nodeRange(r.FirstNode, r.LastNode), owner, r.Version,
			r.Start.Format(time.RFC3339), r.Until.Format(time.RFC3339), r.State, cmp.Or(r.Label, "-"))
	}
	w.Flush()
	return b.String()
}

func nodeRange(first, last uint32) string {
	if first == last {
		return strconv.Itoa(int(first))
	}
	return fmt.Sprintf("%d-%d", first, last)
}
