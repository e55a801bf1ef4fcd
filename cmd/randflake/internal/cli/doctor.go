package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

func (t *tool) doctorCommand() *cobra.Command {
	d := doctor{tool: t}
	tb := table{doctor: &d, inspector: inspector{tool: t, now: time.Now, parser: parser{from: "auto"}}}
	var h home
	var file string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "say what is wrong with a store, or with a table of IDs",
		Long: `Examine a store or, with --table, IDs of a table, one a line. Print a line for
each aspect: ok, warning or error, and what to do. It changes nothing.

The exit status is 0, 1 if there are warnings, or 2 if there are errors.`,
		Example: `  randflake doctor --store postgres://app@db/shop --secret-file secret
  psql -Atc 'SELECT id FROM orders' | randflake doctor --table - --from int`,
		Args: noOperands,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			subject := "table"
			if file == "" {
				subject = "store"
				if !tb.since.IsZero() || !tb.until.IsZero() || tb.from != "auto" {
					return wrong(cmd, "--from, --since and --until are for --table")
				}
				err = d.examineStore(cmd.Context(), &h, tb.choiceOfKind)
			} else if err = tb.settle(h); err != nil {
				return wrong(cmd, "%v", err)
			} else {
				err = tb.examine(t, file, h)
			}
			if err != nil {
				d.say(failing, subject, "%v", err)
			}
			return d.verdict()
		},
	}
	layoutFlag(cmd, &tb.choiceOfKind)
	choiceFlag(cmd, &tb.from, "from", "", "FORM", fromUsage, forms...)
	pathFlag(cmd, &file, "table", "", "FILE", "IDs, or - for standard input")
	for target, name := range map[*time.Time]string{&tb.since: "since", &tb.until: "until"} {
		cmd.Flags().Var(value{"TIME", func(text string) (err error) {
			*target, err = parseTime(text)
			return err
		}}, name, "bound of the times in the table")
	}
	storeFlag(cmd, &h)
	secretFlag(cmd, &h.secret)
	return cmd
}

// A verdict says how bad a finding is.
type verdict int

const (
	healthy verdict = iota
	doubtful
	failing
)

// A doctor prints findings.
type doctor struct {
	*tool
	worst verdict
	lines strings.Builder
}

// unless returns v, or healthy if all is well.
func (v verdict) unless(well bool) verdict {
	if well {
		return healthy
	}
	return v
}

// say adds a line about an aspect.
func (d *doctor) say(v verdict, aspect, format string, args ...any) {
	d.worst = max(d.worst, v)
	word := [...]string{"ok", "warning", "error"}[v]
	fmt.Fprintf(&d.lines, "%-7s  %-8s  %s\n", word, aspect, d.inLine(fmt.Errorf(format, args...)))
}

// verdict prints the findings. Its error sets the exit status.
func (d *doctor) verdict() error {
	return cmp.Or(d.print(d.lines.String()), [...]error{nil, errReported, errSerious}[d.worst])
}

// examineStore examines what Open, Look and the lists of a store tell.
func (d *doctor) examineStore(ctx context.Context, h *home, kind choiceOfKind) error {
	if err := h.resolve(d.tool); err != nil {
		return err
	}
	space, err := h.openStore(ctx)
	if err != nil {
		return err
	}
	defer space.Close()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	v, err := space.Look(ctx, nil, store.Page{})
	if err != nil {
		return err
	}
	d.say(healthy, "store", "%s: format %d, leases of up to %v, clocks within %v", space, v.Meta.Format, v.Meta.Limits().MaxTTL, v.Meta.Limits().MaxSkew)
	d.settings(h.at)
	d.secret(h, v)
	d.losses(v)
	d.lifetime(kind)
	return cmp.Or(d.clock(ctx, space, v), d.ranges(ctx, space, v, kind), d.counters(ctx, space))
}

// settings tells of promises that nothing can check. Open has refused settings that are not safe.
func (d *doctor) settings(at location) {
	d.say(healthy, "settings", "the engine (%s) found none unsafe, and this user may read; a first lease shows whether it may write", at.Engine())
	_, query, _ := strings.Cut(at.URL, "?")
	values, _ := url.ParseQuery(query) // Open has parsed it
	for _, name := range []string{"recovery", "settings", "durability", "pages"} {
		if values.Has(name) {
			d.say(healthy, "settings", "%s=%s is a promise that is not checked: make sure that it is kept, and that all programs make it", name, values.Get(name))
		}
	}
}

func (d *doctor) secret(h *home, v *store.View) {
	var secret randflake.Secret
	err := fs.ErrNotExist
	if h.secret.known() {
		secret, err = h.readSecret()
	}
	switch absent := errors.Is(err, fs.ErrNotExist) && (h.ownSecret || !h.secret.known()); {
	case absent && len(v.Meta.Check) == 0:
		d.say(healthy, "secret", "the store is bound to none yet")
	case absent:
		d.say(healthy, "secret", "the store is bound to the one with check value %s: --secret-file compares it", v.Meta.Check)
	case err != nil:
		d.say(failing, "secret", "%v", err)
	default:
		until, err := v.CheckSecret(store.KeysOf(secret), v.Now)
		switch {
		case err != nil:
			d.say(failing, "secret", "%v", err)
		case until < math.MaxInt64:
			_, err := v.CheckSecret(store.KeysOf(secret), until)
			d.say(doubtful, "secret", "IDs end at %s: %v", time.Unix(until, 0).UTC().Format(time.RFC3339), err)
		default:
			d.say(healthy, "secret", "check value %s is that of the store", v.Meta.Check)
		}
	}
}

func (d *doctor) clock(ctx context.Context, space *store.Space, v *store.View) error {
	offset, known := v.ClockOffset()
	most := v.Meta.Limits().MaxSkew
	switch err := v.Clock(); {
	case err != nil:
		d.say(failing, "clock", "%v", err)
	case !known:
		d.say(healthy, "clock", "the store has none: keep those of all processes within %v of each other, as NTP does", most)
	default:
		d.say(doubtful.unless(offset.Abs() <= most), "clock", "the server's is %v ahead of this machine's, want %v at most: beyond that set the wrong one right, or leases start late or end early", offset.Round(time.Second), most)
	}
	ahead, err := lease.Distrusted(ctx, space)
	if ahead.Unix() > v.Now-v.Meta.MaxTTL {
		d.say(doubtful, "clock", "a process whose clock said %s found it ahead of those of holders that renew, and got no lease: set that clock right", ahead.Format(time.RFC3339))
	}
	return err
}

func (d *doctor) losses(v *store.View) {
	stamp := func(second int64) string { return time.Unix(second, 0).UTC().Format(time.RFC3339) }
	m := v.Meta
	switch {
	case v.Loss() != "":
		d.say(failing, "losses", "%s: the next call for a lease notices it, and then no lease starts for %v: wait, and keep older leases running", v.Loss(), m.Limits().MaxTTL+m.Limits().MaxSkew)
	case m.Floor > v.Now:
		d.say(doubtful, "losses", "no lease starts before %s, as the store is new or has lost data: wait", stamp(m.Floor))
	default:
		d.say(healthy, "losses", "%d, and every lease that they can have forgotten has ended", m.Losses)
	}
	if m.Failover > v.Now {
		d.say(doubtful, "losses", "until %s the first copy of the data counts as a planned failover: restore no backup, and promote no replica that lacks a change", stamp(m.Failover))
	}
	if b := m.Barred; b != nil && b.To > v.Now {
		d.say(doubtful.unless(b.From > v.Now+365*24*3600), "losses", "no IDs can be made from %s until before %s, because a clock was forgiven: plan for that time", stamp(b.From), stamp(b.To))
	}
}

// nearlyAll is the share of nodes or of a counter's numbers, in percent, from which on they are nearly used up.
const nearlyAll = 80

func (d *doctor) ranges(ctx context.Context, space *store.Space, v *store.View, kind choiceOfKind) error {
	records, err := lease.On(space).List(ctx)
	if err != nil {
		return err
	}
	all := uint64(randflake.MaxNode) + 1
	if kind.layout != nil {
		all = min(all, kind.layout.Workers())
	}
	count, held := map[string]int{}, uint64(0)
	for _, rec := range records {
		state := stateOf(rec, v)
		count[state]++
		if first := uint64(rec.FirstNode); state != "free" && state != "released" && first < all {
			held += min(uint64(rec.LastNode)+1, all) - first
		}
		if ahead := rec.Changed - v.Now; ahead > v.Meta.MaxSkew {
			d.say(doubtful, "clock", "nodes %s were leased or renewed by a clock that was %ds ahead: set that one right, or this one", nodeRange(rec.FirstNode, rec.LastNode), ahead)
		}
	}
	d.say(doubtful.unless(100*held <= nearlyAll*all), "ranges", "%d leased, %d released, %d ended; %d of %d nodes are taken: above %d%%, lease fewer each, for a shorter time, and give leases back",
		count["leased"], count["released"], count["free"], held, all, nearlyAll)
	if n := count["poisoned"]; n > 0 {
		d.say(doubtful, "ranges", "%d are poisoned, so a clock was ahead: if it is right now, see randflake lease forgive-clock --help", n)
	}
	return nil
}

func (d *doctor) counters(ctx context.Context, space *store.Space) error {
	ready := 0
	for c, err := range counter.On(space).List(ctx, "") {
		if err != nil {
			return err
		}
		switch all := c.Left + c.Taken - c.Returned + c.Skipped; {
		case c.Forgotten && c.Rate == 0:
			d.say(failing, "counters", "%s gives no number, as the store lost data: see randflake counter advance --help", c.Name)
		case c.Left == 0:
			d.say(healthy, "counters", "%s has given all its numbers", c.Name)
		case float64(c.Left) < float64(all)/100*(100-nearlyAll):
			d.say(doubtful, "counters", "%s has %d of %d numbers left: make another counter", c.Name, c.Left, all)
		default:
			ready++
		}
	}
	d.say(healthy, "counters", "%d ready", ready)
	return nil
}

// lifetime tells when the IDs' times end.
func (d *doctor) lifetime(kind choiceOfKind) {
	name, end := "Randflake", time.Unix(randflake.MaxTimestamp+1, 0).UTC()
	if kind.layout != nil {
		name, end = kind.layout.Name(), kind.layout.Expires()
	}
	soon, now := end.AddDate(-1, 0, 0), time.Now()
	d.say(max(doubtful.unless(now.Before(soon)), failing.unless(now.Before(end))), "end", "%s ends at %s: a year before, move to another layout", name, end.Format(time.RFC3339))
}
