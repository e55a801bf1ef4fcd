package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/lease"
)

// storeInfoCommand makes the command that says what is good about a space, and what is wrong.
func (t *tool) storeInfoCommand() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "info [STORE]",
		Short: "say how a space is, and what is wrong with it",
		RunE: h.run(func(ctx context.Context, space *lease.Space, _ []string) error {
			return t.printInfo(ctx, &h, space)
		}),
	}
	storeOperand(cmd, &h)
	secretFlag(cmd, &h.secret)
	return cmd
}

// Findings are lines on what is good about a space and what is wrong with it.
type findings struct {
	*tool
	*home
	space     *lease.Space
	info      lease.Info
	good, bad []string
}

func (f *findings) ok(format string, args ...any) {
	f.good = append(f.good, "ok     "+f.inLine(fmt.Sprintf(format, args...))+"\n")
}

func (f *findings) wrong(format string, args ...any) {
	f.bad = append(f.bad, "wrong  "+f.inLine(fmt.Sprintf(format, args...))+"\n")
}

// printInfo prints all that is good about a space, and then all that is wrong, which is an error.
func (t *tool) printInfo(ctx context.Context, h *home, space *lease.Space) error {
	info, err := space.Info(ctx)
	if err != nil && info.Nodes == 0 {
		return err
	}
	f := &findings{tool: t, home: h, space: space, info: info}
	if err != nil {
		f.wrong("%v", err)
	}
	f.addLimits()
	f.addBeginning()
	f.addSecret()
	f.addCounters(ctx)
	if err := t.print("%s", strings.Join(append(f.good, f.bad...), "")); err != nil || len(f.bad) == 0 {
		return err
	}
	return errReported
}

// addLimits says what the space was made with, and how its clock goes.
func (f *findings) addLimits() {
	info := f.info
	f.ok("%s has %d nodes, in windows of %v, of which %d may be leased ahead; clocks may differ by %v",
		f.space, info.Nodes, info.Window, info.Ahead, info.MaxSkew)
	if info.Reserve > 0 {
		f.ok("%d nodes are leased while no data was lost, "+
			"and 64 times %d are a reserve for the minutes after a loss", info.Main, info.Reserve)
	}
	f.ok("nodes of the present window that are leased: %d", info.Taken)
	if !info.Time.IsZero() {
		ahead := time.Until(info.Time).Round(time.Millisecond)
		where := "ahead of"
		if ahead < 0 {
			where = "behind"
		}
		f.ok("the server's clock is %v %s this one", ahead.Abs(), where)
	}
}

// addBeginning says whether nodes are leased at present, of which part, and how many of it are
// left.
func (f *findings) addBeginning() {
	info := f.info
	if info.Lost != "" {
		f.wrong("data was lost, which is not noted yet: %s: "+
			"the next program that takes a lease notes it: or run randflake store report-loss %s",
			info.Lost, f.home)
	}
	most := info.Main // how many nodes are leased at present
	now := time.Now()
	switch {
	case info.Retired && info.Successor == "":
		f.wrong("it is retired, and grants nothing any more: "+
			"move it with randflake store move %s NEW", f.home)
	case info.Retired:
		f.wrong("it is retired, and grants nothing any more: use %s", info.Successor)
	case !now.Before(info.Floor): // as always, but after a loss
	case info.Opens.IsZero():
		f.wrong("no lease begins before %s: %s: wait until then", clockTime(info.Floor), info.Why)
	case now.Before(info.Opens):
		f.wrong("no lease is granted before %s: %s: wait until then: "+
			"programs go on under the leases that they have", clockTime(info.Opens), info.Why)
	default:
		most = info.Reserve
		f.ok("until %s leases are of the reserve: %s", clockTime(info.Floor), info.Why)
	}
	isNearlyFull := 10*uint64(info.Taken) > 9*uint64(most)
	if isNearlyFull {
		f.wrong("%d of %d nodes are leased: in this window few programs can start: "+
			"take more nodes or shorter windows, in another space", info.Taken, most)
	}
	if info.Losses > 0 {
		f.ok("losses of data and moves: %d, the last one: %s", info.Losses, info.Why)
	}
}

// addSecret says whether the secret, if one is there, is that of the space.
func (f *findings) addSecret() {
	secret, err := f.readSecret()
	if err != nil {
		if f.secret.known() && !errors.Is(err, fs.ErrNotExist) {
			f.wrong("%v", err)
		}
		return
	}
	check := secret.CheckValue()
	err = f.space.CheckSecret(check)
	switch {
	case err != nil:
		f.wrong("%v", err)
	case f.info.Check == hex.EncodeToString(check[:]):
		f.ok("the secret is that of the space")
	default:
		f.ok("it is for IDs of any secret")
	}
}

// addCounters says which counters wait after a loss of data.
func (f *findings) addCounters(ctx context.Context) {
	counters, err := countersOf(ctx, f.space, "")
	if err != nil {
		f.wrong("%v", err)
	}
	var waiting []string
	for _, c := range counters {
		if c.Lost {
			waiting = append(waiting, c.Name)
		}
	}
	if n := len(waiting); n > 0 {
		f.wrong("%d counters give no number until they are set, as data was lost: %s: "+
			"run randflake counter set", n, strings.Join(waiting[:min(n, 10)], ", "))
	}
}
