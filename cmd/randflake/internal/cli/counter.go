package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
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
		Short: "list, create and advance counters",
		Long: `List, create and advance counters. Programs take runs of numbers from them.
Counters are in the same stores as leases; "randflake lease init" makes a store.`,
	})
	cmd.AddCommand(t.counterListCommand(), t.counterCreateCommand(), t.counterAdvanceCommand())
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
may have forgotten a counter of that name. Then you must promise, with --new,
that no number from --start on was ever given. With --rate the counter continues
by itself after a loss of data, beyond every number that it can have given;
otherwise it gives no number until you run: randflake counter advance`,
		Example: `  randflake counter create orders
  randflake counter create invoices/2026 --start 1000 --end 9999 --new`,
	}, func(ctx context.Context, space *store.Space, at location) error {
		name := cmd.Flags().Arg(0)
		if newName {
			options = append(options, counter.ForNewName())
		}
		info, err := counter.On(space).Create(ctx, name, options...)
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
		return t.print(fmt.Sprintf("made a counter %s in %s: %s\n", name, at, goesOn(info)))
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
	var to int64
	var cmd *cobra.Command
	cmd = t.onStore(&cobra.Command{
		Use:   "advance NAME TO",
		Short: "set the next number of a counter",
		Long: `Make a counter continue at TO, or at its first number after TO, and skip the
numbers before it. Use this after the store lost data, for instance when a
backup was restored: choose a TO beyond every number that was ever taken,
including those in the memory of running programs. A counter never goes back.`,
		Example: "  randflake counter advance orders 20000",
		PreRunE: func(cmd *cobra.Command, args []string) (err error) {
			if to, err = parseNumber(args[1]); err != nil {
				return wrong(cmd, "TO is %q: %v", args[1], err)
			}
			return nil
		},
	}, func(ctx context.Context, space *store.Space, _ location) error {
		name := cmd.Flags().Arg(0)
		info, err := counter.On(space).Advance(ctx, name, to)
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
