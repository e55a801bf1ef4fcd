package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
)

func (t *tool) counterCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "counter",
		Short: "list, create and set counters",
		Long: `List, create and set counters. Programs take runs of numbers from them. Counters
are in the same spaces as leases; "randflake store init" makes a space.`,
	})
	cmd.AddCommand(t.counterListCommand(), t.counterCreateCommand(), t.counterSetCommand())
	return cmd
}

// onCounters completes a command about counters.
func (t *tool) onCounters(cmd *cobra.Command, h *home, work func(ctx context.Context, cmd *cobra.Command, args []string, counters *counter.Counters) error) *cobra.Command {
	storeFlag(cmd, h)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := h.locate(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), storeTimeout)
		defer cancel()
		space, err := h.openSpace(ctx)
		if err != nil {
			return err
		}
		defer space.Close()
		return work(ctx, cmd, args, counter.On(space))
	}
	return cmd
}

// eachCounter calls f with the counters whose names begin with a prefix, in order.
func eachCounter(ctx context.Context, source counter.Source, prefix string, f func(lease.Counter)) error {
	for after := ""; ; {
		page, err := source.Counters(ctx, after, 1000)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, c := range page {
			if after = c.Name; strings.HasPrefix(c.Name, prefix) {
				f(c)
			}
		}
	}
}

func (t *tool) counterListCommand() *cobra.Command {
	var h home
	var asJSON *bool
	cmd := t.onCounters(&cobra.Command{
		Use:   "list [PREFIX]",
		Short: "show counters",
		Long: `Show the counters whose names begin with PREFIX, or all counters: the next
number to be taken, and the state:

  ready   it gives numbers
  ended   all numbers up to its end were taken
  waits   data was lost, so more numbers may have been taken: see
          randflake help counter set`,
		Example: `  randflake counter list
  randflake counter list --json invoices/`,
		Args: func(cmd *cobra.Command, args []string) error { return noOperands(cmd, args[min(1, len(args)):]) },
	}, &h, func(ctx context.Context, cmd *cobra.Command, args []string, counters *counter.Counters) error {
		var b bytes.Buffer
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		if !*asJSON {
			fmt.Fprintln(w, "NAME\tNEXT\tSTART\tSTEP\tEND\tPERIOD\tSTATE")
		}
		err := eachCounter(ctx, counters, strings.Join(args, ""), func(c lease.Counter) {
			next, end, period, state := strconv.FormatInt(c.Next, 10), strconv.FormatInt(c.End, 10), c.Period, "ready"
			if c.Lost {
				state = "waits"
			} else if c.Next < 0 || c.Next > c.End {
				next, state = "-", "ended"
			}
			if *asJSON {
				json.NewEncoder(&b).Encode(struct {
					Name string `json:"name"`
					lease.Counter
					State string `json:"state"`
				}{c.Name, c, state}) // can't fail
				return
			}
			if c.End == math.MaxInt64 {
				end = "-"
			}
			if period == "" {
				period = "-"
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", c.Name, next, c.Start, c.Step, end, period, state)
		})
		if err != nil {
			return err
		}
		w.Flush()
		return t.print(b.String())
	})
	asJSON = jsonFlag(cmd)
	return cmd
}

func (t *tool) counterCreateCommand() *cobra.Command {
	var h home
	var config counter.Config
	var ifMissing bool
	cmd := t.onCounters(&cobra.Command{
		Use:   "create NAME",
		Short: "make a counter",
		Long: `Make a counter. In a space that has lost data, or that was not made with --new,
it may be one that was forgotten: then it waits until it is set.`,
		Example: `  randflake counter create orders
  randflake counter create invoices/2026 --start 1000 --end 9999`,
	}, &h, func(ctx context.Context, cmd *cobra.Command, args []string, counters *counter.Counters) error {
		name, made := args[0], "made"
		err := counters.Create(ctx, name, config)
		if errors.Is(err, lease.ErrExists) {
			if !ifMissing {
				return fmt.Errorf("%w: a counter is never replaced: use it, or choose another name", err)
			}
			made, err = "there is", nil
		}
		if err != nil {
			return counterError(cmd, name, &h, err)
		}
		c, err := counters.Counter(ctx, name)
		if err != nil {
			return err
		}
		goesOn := fmt.Sprintf("its next number is %d", c.Next)
		if c.Lost {
			goesOn = "it waits until it is set, beyond all numbers that it may have given: see randflake help counter set"
		} else if c.Next < 0 || c.Next > c.End {
			goesOn = "it has no number left"
		}
		return t.print(fmt.Sprintf("%s a counter %s: %s\n", made, name, goesOn))
	})
	operands(cmd, "NAME")
	numberFlag(cmd, &config.Start, "start", "the first number (default 1)")
	numberFlag(cmd, &config.Step, "step", "difference between two numbers (default 1)")
	numberFlag(cmd, &config.End, "end", "the largest possible number")
	cmd.Flags().BoolVar(&ifMissing, "if-missing", false, "do not fail if the counter exists")
	return cmd
}

func (t *tool) counterSetCommand() *cobra.Command {
	var h home
	cmd := t.onCounters(&cobra.Command{
		Use:   "set NAME NEXT",
		Short: "say where a counter goes on",
		Long: `Make NEXT the next number of a counter. It is never lowered. After the store lost
data, choose one beyond every number that was ever taken, including those in the
memory of running programs.`,
		Example: "  randflake counter set orders 20000",
	}, &h, func(ctx context.Context, cmd *cobra.Command, args []string, counters *counter.Counters) error {
		next, err := parseNumber(args[1])
		if err != nil {
			return wrong(cmd, "NEXT is %q: %v", args[1], err)
		}
		if err := counters.SetCounter(ctx, args[0], next); err != nil {
			return counterError(cmd, args[0], &h, err)
		}
		return t.print(fmt.Sprintf("%s: its next number is %d\n", args[0], next))
	})
	operands(cmd, "NAME", "NEXT")
	return cmd
}

// numberFlag defines a flag of a number, 1 or more.
func numberFlag(cmd *cobra.Command, n *int64, name, usage string) {
	cmd.Flags().Var(value{"NUMBER", func(text string) (err error) {
		if *n, err = parseNumber(text); err == nil && *n < 1 {
			err = errors.New("want 1 or more")
		}
		return err
	}}, name, usage)
}

// parseNumber reads a number on the command line.
func parseNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, errors.New("want a number of 64 bits")
	}
	return n, nil
}
