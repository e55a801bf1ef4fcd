package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/user"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
)

func (t *tool) counterCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "counter",
		Short: "list, create, advance, extend, prune and delete counters",
		Long: `List, create, advance, set back, extend, reset, prune and delete counters, and
show who did so. Programs
take runs of numbers from them. Counters are in the same stores as leases;
"randflake lease init" makes a store.`,
	})
	cmd.AddCommand(t.counterListCommand(), t.counterCreateCommand(), t.counterAdvanceCommand(), t.counterSetBackCommand(), t.counterExtendCommand(),
		t.counterResetCommand(), t.counterDeleteCommand(), t.counterPruneCommand(), t.counterLogCommand())
	return cmd
}

func (t *tool) counterListCommand() *cobra.Command {
	var asJSON *bool
	var cmd *cobra.Command
	cmd = t.onStore(&cobra.Command{
		Use:   "list [PREFIX]",
		Short: "show the counters of a store",
		Long: `Show the counters whose names begin with PREFIX, or all counters: the next
number to be taken; how many numbers were taken in runs, given back unused, and
skipped after a loss of data; the time of the newest change; and the state:

  ready       it gives numbers
  ended       all numbers up to its end were taken
  forgotten   the store lost data, so more numbers may have been taken; with a
              rate the counter continues by itself, otherwise you must run:
              randflake counter advance`,
		Example: `  randflake counter list
  randflake counter list --json invoices/`,
	}, func(ctx context.Context, space *store.Space, _ location) error {
		var infos []counter.Info
		for info, err := range counter.On(space).List(ctx, cmd.Flags().Arg(0)) {
			if err != nil {
				return err
			}
			infos = append(infos, info)
		}
		if *asJSON {
			return t.print(counterLines(infos))
		}
		return t.print(counterTable(infos))
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error { return noOperands(cmd, args[min(1, len(args)):]) }
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	asJSON = jsonFlag(cmd)
	return cmd
}

// counterLines returns a JSON object in a line for each counter.
func counterLines(infos []counter.Info) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, info := range infos {
		enc.Encode(info) // can't fail
	}
	return b.String()
}

func counterTable(infos []counter.Info) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tNEXT\tSTRIDE\tEND\tRATE\tTAKEN\tRETURNED\tSKIPPED\tCHANGED\tSTATE")
	unless := func(none bool, n int64) string {
		if none {
			return "-"
		}
		return strconv.FormatInt(n, 10)
	}
	for _, i := range infos {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", i.Name, unless(i.Left == 0, i.Next), i.Stride, unless(i.End == math.MaxInt64, i.End),
			unless(i.Rate == 0, i.Rate), i.Taken, i.Returned, i.Skipped, i.Changed.Format(time.RFC3339), stateOfCounter(i))
	}
	w.Flush()
	return b.String()
}

func stateOfCounter(i counter.Info) string {
	switch {
	case i.Forgotten:
		return "forgotten"
	case i.Left == 0:
		return "ended"
	}
	return "ready"
}

func (t *tool) counterCreateCommand() *cobra.Command {
	var newName, ifMissing bool
	var options []counter.Option
	var cmd *cobra.Command
	cmd = t.onStore(&cobra.Command{
		Use:   "create NAME",
		Short: "make a counter",
		Long: `Make a counter. A store that has lost data, or was not made for a new secret,
may have forgotten a counter of that name, and a counter that was deleted has
given numbers. Then you must promise, with --new,
that no number from --start on was ever given. The promise holds for the losses
so far: don't put it into a script. With --rate the counter continues by itself
after a loss of data, beyond every number that it can have given; otherwise it
gives no number until you run: randflake counter advance`,
		Example: `  randflake counter create orders
  randflake counter create invoices/2026 --start 1000 --end 9999 --new`,
	}, func(ctx context.Context, space *store.Space, at location) error {
		name := cmd.Flags().Arg(0)
		if newName {
			v, err := space.Look(ctx, nil, store.Page{})
			if err != nil {
				return err
			}
			options = append(options, counter.UnusedBefore(time.Unix(max(v.Now, v.Meta.Floor), 0)))
		}
		info, err := operated(space).Create(ctx, name, options...)
		if errors.Is(err, fs.ErrExist) {
			if !ifMissing {
				return fmt.Errorf("%s has a counter %s already, and a counter is never replaced: use it, or choose another name", at, name)
			}
			counter, err := openStrict(ctx, space, name, options...) // compares the options, and takes no numbers
			if err != nil {
				return err
			}
			return t.print(fmt.Sprintf("%s has a counter %s already: %s\n", at, name, goesOn(counter.Status().Info)))
		}
		if err != nil {
			return counterError(cmd, name, at, err)
		}
		made := fmt.Sprintf("made a counter %s in %s: %s\n", name, at, goesOn(info))
		if info.Rate == 0 && at.Engine() == "Redis" && !strings.Contains(at.URL, "recovery=trusted") {
			made += "after each restart of Redis it gives no number until you run randflake counter advance: --rate avoids that, and so does recovery=trusted in the URL where docs/leases.md allows it\n"
		}
		return t.print(made)
	})
	operands(cmd, "NAME")
	for _, f := range []struct {
		name, usage string
		option      func(int64) counter.Option
	}{
		{"start", "the first number (default 1)", counter.WithStart},
		{"stride", "difference between two numbers (default 1)", counter.WithStride},
		{"end", "the largest possible number", counter.WithEnd},
		{"rate", "numbers a second at most; those of 20 s at once", counter.WithRate},
	} {
		cmd.Flags().Var(value{"NUMBER", func(text string) error {
			n, err := parseNumber(text)
			if err != nil {
				return err
			}
			options = append(options, f.option(n))
			return nil
		}}, f.name, f.usage)
	}
	cmd.Flags().BoolVar(&newName, "new", false, "promise that no number from --start on was given")
	cmd.Flags().BoolVar(&ifMissing, "if-missing", false, "do not fail if the counter exists")
	return cmd
}

// parseNumber reads a number on the command line.
func parseNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, errors.New("want a number of 64 bits")
	}
	return n, nil
}

// goesOn describes the next number of a counter.
func goesOn(i counter.Info) string {
	if i.Left == 0 {
		return "it has no number left"
	}
	return fmt.Sprintf("its next number is %d", i.Next)
}

func (t *tool) counterAdvanceCommand() *cobra.Command {
	var far bool
	cmd := t.counterMoveCommand(&cobra.Command{
		Use:   "advance NAME TO",
		Short: "set the next number of a counter",
		Long: `Make a counter continue at TO, or at its first number after TO, and skip the
numbers before it. Use this after the store lost data, for instance when a
backup was restored: choose a TO beyond every number that was ever taken,
including those in the memory of running programs.`,
		Example: "  randflake counter advance orders 20000",
	}, func(ctx context.Context, counters *counter.Counters, name string, to int64) (counter.Info, error) {
		const most = 1_000_000_000
		info, err := counters.Get(ctx, name)
		if last := info.End - (info.End-info.Start)%max(info.Stride, 1); err == nil && !far && info.Left > 0 && (to > last || to-info.Next > most) {
			err = fmt.Errorf("advance %s to %d: its next number is %d and its last one is %d: if it is meant to skip so many, say --far", name, to, info.Next, last)
		}
		if err != nil {
			return info, err
		}
		return counters.Advance(ctx, name, to)
	})
	cmd.Flags().BoolVar(&far, "far", false, "skip more than a billion numbers, or all that are left")
	return cmd
}

func (t *tool) counterSetBackCommand() *cobra.Command {
	return t.counterMoveCommand(&cobra.Command{
		Use:   "set-back NAME TO",
		Short: "take back a skip of a counter",
		Long: `Make a counter continue at TO, or at its first number after TO, if that number
and all after it were skipped, by "randflake counter advance" or after a loss of
data. Choose a TO beyond every number that was ever taken, including those in
the memory of running programs.`,
		Example: "  randflake counter set-back orders 20000",
	}, func(ctx context.Context, counters *counter.Counters, name string, to int64) (counter.Info, error) {
		return counters.SetBack(ctx, name, to)
	})
}

func (t *tool) counterExtendCommand() *cobra.Command {
	return t.counterMoveCommand(&cobra.Command{
		Use:   "extend NAME TO",
		Short: "make the largest possible number larger",
		Long: `Make TO the largest possible number of a counter. Programs that open it with the
old end fail from then on.`,
		Example: "  randflake counter extend orders 999999",
	}, func(ctx context.Context, counters *counter.Counters, name string, to int64) (counter.Info, error) {
		return counters.Extend(ctx, name, to)
	})
}

// counterMoveCommand completes a command that changes the counter NAME by a number, TO.
func (t *tool) counterMoveCommand(cmd *cobra.Command, move func(ctx context.Context, counters *counter.Counters, name string, to int64) (counter.Info, error)) *cobra.Command {
	var to int64
	cmd.PreRunE = func(cmd *cobra.Command, args []string) (err error) {
		if to, err = parseNumber(args[1]); err != nil {
			return wrong(cmd, "TO is %q: %v", args[1], err)
		}
		return nil
	}
	cmd = t.onStore(cmd, func(ctx context.Context, space *store.Space, _ location) error {
		name := cmd.Flags().Arg(0)
		info, err := move(ctx, operated(space), name, to)
		if errors.Is(err, counter.ErrInvalidName) {
			return wrong(cmd, "%v", err)
		}
		if err != nil {
			return err
		}
		return t.print(fmt.Sprintf("%s: %s\n", name, goesOn(info)))
	})
	operands(cmd, "NAME", "TO")
	return cmd
}

// operated returns the counters of a space, in whose logs the user of the command stands.
func operated(space *store.Space) *counter.Counters {
	who := "unknown"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		who += "@" + host
	}
	return counter.On(space).As(who)
}

// nextFlag has the user say the next number of a counter.
func nextFlag(cmd *cobra.Command, next *int64) {
	cmd.Flags().Var(value{"NUMBER", func(text string) (err error) {
		*next, err = parseNumber(text)
		return err
	}}, "next", "its next number, as list shows it, or 0 if it ended")
	cmd.MarkFlagRequired("next")
}

func (t *tool) counterResetCommand() *cobra.Command {
	var next int64
	cmd := t.counterMoveCommand(&cobra.Command{
		Use:   "reset NAME TO --next NUMBER",
		Short: "begin a counter again",
		Long: `Make a counter begin again at TO, or at its first number after TO. Its numbers
repeat from there on, so stop the programs that use it first: they keep numbers
in memory. With --next you show which counter you mean: the command fails if a
program has taken more numbers meanwhile.`,
		Example: "  randflake counter reset orders 1 --next 4712",
	}, func(ctx context.Context, counters *counter.Counters, name string, to int64) (counter.Info, error) {
		return counters.Reset(ctx, name, next, to)
	})
	nextFlag(cmd, &next)
	return cmd
}

func (t *tool) counterDeleteCommand() *cobra.Command {
	var next int64
	var cmd *cobra.Command
	cmd = t.onStore(&cobra.Command{
		Use:   "delete NAME --next NUMBER",
		Short: "delete a counter",
		Long: `Delete a counter. Programs that use it fail when they have used up their runs,
and can't create it again; "randflake counter create --new" can. With --next you
show which counter you mean: the command fails if a program has taken more
numbers meanwhile.`,
		Example: "  randflake counter delete orders --next 4712",
	}, func(ctx context.Context, space *store.Space, at location) error {
		name := cmd.Flags().Arg(0)
		if err := operated(space).Delete(ctx, name, next); err != nil {
			return err
		}
		return t.print(fmt.Sprintf("deleted the counter %s in %s\n", name, at))
	})
	operands(cmd, "NAME")
	nextFlag(cmd, &next)
	return cmd
}

func (t *tool) counterPruneCommand() *cobra.Command {
	var before time.Time
	var yes bool
	var cmd *cobra.Command
	cmd = t.onStore(&cobra.Command{
		Use:   "prune PREFIX --before DATE",
		Short: "remove the counters of periods that are over",
		Long: `Remove the counters whose names begin with PREFIX and end with a period that was
over before DATE, such as orders/2026-11-22, orders/2026-w47, orders/2026-11,
orders/2026-q4, orders/2026 and orders/fy2026. Such names are never used again,
whatever a clock says. Without --yes the command says what it would remove.`,
		Example: "  randflake counter prune invoices/ --before 2026-01-01 --yes",
	}, func(_ context.Context, space *store.Space, at location) error {
		ctx, counters, prefix := cmd.Context(), operated(space), cmd.Flags().Arg(0)
		if !yes {
			var names []string
			for info, err := range counters.List(ctx, prefix) {
				if err != nil {
					return err
				}
				if end, ok := counter.PeriodEnd(info.Name); ok && !end.After(before) {
					names = append(names, info.Name)
				}
			}
			if len(names) == 0 {
				return t.print("there are none\n")
			}
			return fmt.Errorf("%d counters would go, from %s to %s: say --yes", len(names), names[0], names[len(names)-1])
		}
		n, err := counters.Prune(ctx, prefix, before)
		if err != nil {
			return fmt.Errorf("removed %d counters: %w", n, err)
		}
		return t.print(fmt.Sprintf("removed %d counters from %s\n", n, at))
	})
	operands(cmd, "PREFIX")
	cmd.Flags().Var(value{"DATE", func(text string) (err error) {
		if before, err = time.Parse(time.DateOnly, text); err != nil {
			return errors.New("want a date such as 2026-01-31")
		}
		return nil
	}}, "before", "day by whose begin, in UTC, a period is over")
	cmd.MarkFlagRequired("before")
	cmd.Flags().BoolVar(&yes, "yes", false, "remove them")
	return cmd
}

func (t *tool) counterLogCommand() *cobra.Command {
	var cmd *cobra.Command
	cmd = t.onStore(&cobra.Command{
		Use:   "log [NAME]",
		Short: "show who changed a counter",
		Long: `Show the newest 20 changes that operators made to a counter, by this command or
the library: when, who and what. Without NAME, show the newest prunes.`,
		Example: "  randflake counter log orders",
	}, func(ctx context.Context, space *store.Space, _ location) error {
		words, err := counter.On(space).Log(ctx, cmd.Flags().Arg(0))
		if err != nil {
			return err
		}
		var b strings.Builder
		for _, w := range words {
			fmt.Fprintf(&b, "%s %s: %s\n", w.At.Format(time.RFC3339), cmp.Or(w.By, "unknown"), w.What)
		}
		return t.print(b.String())
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error { return noOperands(cmd, args[min(1, len(args)):]) }
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}
