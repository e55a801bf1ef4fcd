package cli

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/lease"
)

func (t *tool) storeInfoCommand() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "info [STORE...]",
		Short: "say how a space is, and what is wrong with it, or which spaces overlap",
	}
	storeOperand(cmd, &h)
	secretFlag(cmd, &h.secret)
	takeOne := cmd.Args
	cmd.Args = cobra.ArbitraryArgs
	printOne := h.run(func(ctx context.Context, space *lease.Space, _ []string) error {
		return t.printInfo(ctx, &h, space)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 && h.store == "" && !slices.Contains(args, "") {
			return t.compareParts(cmd, args)
		}
		if err := takeOne(cmd, args); err != nil {
			return err
		}
		return printOne(cmd, args)
	}
	return cmd
}

// compareParts prints which nodes several spaces have. That two have the same ones of one secret is a
// finding. A retired space grants none.
func (t *tool) compareParts(cmd *cobra.Command, stores []string) error {
	var overlaps []error
	infos := make([]lease.Info, len(stores))
	for i, store := range stores {
		h := home{store: store}
		read := h.run(func(ctx context.Context, space *lease.Space, _ []string) (err error) {
			infos[i], err = readInfo(ctx, space)
			return err
		})
		if err := read(cmd, nil); err != nil {
			return err
		}
		info := infos[i]
		check := cmp.Or(info.CheckValue, "none, so whether another space has these nodes is unknown")
		err := t.print("%s has nodes %d to %d; check value of its secret: %s\n",
			h.operand(), info.FirstNode, info.LastNode(), check)
		if err != nil {
			return err
		}
		for j, other := range infos[:i] {
			sameIDs := info.CheckValue != "" && info.CheckValue == other.CheckValue && !info.Retired && !other.Retired
			if sameIDs && info.Overlaps(other.Limits) {
				overlaps = append(overlaps, fmt.Errorf("%s and %s both have nodes %d to %d: their IDs can repeat: retire one",
					stores[j], store, max(info.FirstNode, other.FirstNode), min(info.LastNode(), other.LastNode())))
			}
		}
	}
	if err := errors.Join(overlaps...); err != nil {
		return finding(err.Error())
	}
	return nil
}

// Findings are lines on what is good about a space and what is wrong with it.
type findings struct {
	*tool
	home      *home
	space     *lease.Space
	info      lease.Info
	good, bad strings.Builder
}

// add adds a line on what is good, if ok, or wrong.
func (f *findings) add(ok bool, format string, args ...any) {
	text := f.inLine(fmt.Sprintf(format, args...))
	if ok {
		fmt.Fprintf(&f.good, "ok     %s\n", text)
	} else {
		fmt.Fprintf(&f.bad, "wrong  %s\n", text)
	}
}

// printInfo prints all that is good about a space, and then all that is wrong.
func (t *tool) printInfo(ctx context.Context, h *home, space *lease.Space) error {
	info, err := space.Info(ctx)
	if err != nil && info.Nodes == 0 {
		return err // otherwise info has what is known all the same
	}
	f := &findings{tool: t, home: h, space: space, info: info}
	if err != nil {
		f.add(false, "%v", err)
	}
	f.addLimits()
	f.addTrust()
	f.addBeginning()
	f.addSecret()
	f.addCounters(ctx)
	if err := t.print("%s%s", &f.good, &f.bad); err != nil || f.bad.Len() == 0 {
		return err
	}
	return errNo
}

// addLimits says what the space was made with, and how its clock goes.
func (f *findings) addLimits() {
	info := f.info
	f.add(true, "%s has %d nodes, %d to %d, in windows of %v, of which %d may be leased ahead; clocks may differ by %v",
		f.space, info.Nodes, info.FirstNode, info.LastNode(), info.Window, info.Ahead, info.MaxSkew)
	if info.Reserve > 0 {
		f.add(true, "%d nodes are leased while no data was lost, "+
			"and 64 times %d are a reserve for the minutes after a loss", info.MainNodes, info.Reserve)
	}
	f.add(true, "nodes of the present window that are leased: %d", info.TakenNodes)
	if info.UnnotedLoss != "" || time.Now().Before(info.Floor) {
		f.add(true, "leases that the store has forgotten may also be in use")
	}
	if !info.ServerTime.IsZero() {
		ahead := time.Until(info.ServerTime).Round(time.Millisecond)
		where := "ahead of"
		if ahead < 0 {
			where = "behind"
		}
		f.add(true, "the server's clock is %v %s this one", ahead.Abs(), where)
	}
}

// addBeginning says whether leases are granted at present, and whether the nodes for that are nearly used up.
func (f *findings) addBeginning() {
	info := f.info
	if info.UnnotedLoss != "" {
		f.add(false, "data was lost, which is not noted yet: %s: "+
			"the next program that takes a lease notes it: or run randflake store report-loss %s",
			info.UnnotedLoss, f.home.operand())
	}
	most := info.MainNodes // how many nodes are leased at present
	now := time.Now()
	switch {
	case info.Retired && info.MovedTo == "":
		f.add(false, "it is retired, and grants nothing any more: "+
			"move it with randflake store move %s NEW", f.home.operand())
	case info.Retired:
		f.add(false, "it is retired, and grants nothing any more: use %s: "+
			"if that is not there, run the same randflake store move again", info.MovedTo)
	case !now.Before(info.Floor): // as always, but after a loss
	case info.ReserveOpens.IsZero():
		f.add(false, "no lease begins before %s: %s: wait until then", clockTime(info.Floor), info.Why)
	case now.Before(info.ReserveOpens):
		f.add(false, "no lease is granted before %s: %s: wait until then: "+
			"programs go on under the leases that they have", clockTime(info.ReserveOpens), info.Why)
	default:
		most = info.Reserve
		f.add(true, "until %s leases are of the reserve: %s", clockTime(info.Floor), info.Why)
	}
	if info.FloorExcess > 0 && !info.Retired {
		f.add(false, "that is %v later than right clocks can have set it: "+
			"this machine's clock is behind, or the one of who noted it was ahead: "+
			"if the latter, set it right, end the programs that ran under it, run randflake store retire %s, "+
			"and make another space without --never-used, for another secret if they made IDs",
			info.FloorExcess, f.home.operand())
	}
	isNearlyFull := 10*uint64(info.TakenNodes) > 9*uint64(most)
	if isNearlyFull {
		f.add(false, "%d of %d nodes are leased: in this window few programs can start: "+
			"take more nodes or shorter windows, in another space", info.TakenNodes, most)
	}
	if info.FloorsSet > 0 {
		f.add(true, "the floor was set last, for this reason: %s", info.Why) // a restore is often noted twice
	}
}

// addSecret says whether the secret, if one is there, is that of the space.
func (f *findings) addSecret() {
	secret, err := f.home.readSecret()
	if err != nil {
		if f.home.secret.known() && !errors.Is(err, fs.ErrNotExist) {
			f.add(false, "%v", err)
		}
		return
	}
	check := secret.CheckValue()
	err = f.space.CheckSecret(check)
	switch {
	case err != nil:
		f.add(false, "%v", err)
	case f.info.CheckValue == hex.EncodeToString(check[:]):
		f.add(true, "the secret is that of the space")
	default:
		f.add(true, "it is for IDs of any secret")
	}
}

// addCounters says which counters wait after a loss of data.
func (f *findings) addCounters(ctx context.Context) {
	counters, err := countersOf(ctx, f.space, "")
	if err != nil {
		f.add(false, "%v", err)
	}
	var waiting []string
	for _, c := range counters {
		if c.Lost {
			waiting = append(waiting, c.Name)
		}
	}
	if n := len(waiting); n > 0 {
		f.add(false, "%d counters give no number until they are set, as data was lost: %s: "+
			"run randflake counter set", n, strings.Join(waiting[:min(n, 10)], ", "))
	}
}
