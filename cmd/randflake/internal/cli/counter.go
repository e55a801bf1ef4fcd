package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
)

func (t *tool) counterCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "counter",
		Short: "list, create and set counters",
	}, t.counterListCommand(), t.counterCreateCommand(), t.counterSetCommand())
}

func (t *tool) counterListCommand() *cobra.Command {
	var h home
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "list [PREFIX]",
		Short:             "show counters",
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(cmd *cobra.Command, args []string) error {
			return noOperands(cmd, args[min(1, len(args)):])
		},
	}
	storeFlag(cmd, &h)
	jsonFlag(cmd, &asJSON)
	cmd.RunE = h.run(func(ctx context.Context, space *lease.Space, args []string) error {
		all, err := countersOf(ctx, space, strings.Join(args, ""))
		if err != nil {
			return err
		}
		if asJSON {
			return t.print("%s", countersInJSON(all))
		}
		return t.print("%s", countersInTable(all))
	})
	return cmd
}

func countersOf(ctx context.Context, space *lease.Space, prefix string) (all []lease.Counter, err error) {
	for after := ""; ; {
		page, err := space.Counters(ctx, after, 1000)
		if err != nil || len(page) == 0 {
			return all, err
		}
		for _, c := range page {
			after = c.Name
			if strings.HasPrefix(c.Name, prefix) {
				all = append(all, c)
			}
		}
	}
}

// A counterJSON is what counter list prints of a counter. Scripts read it, so it stays as it is when a store's format
// changes. Numbers are strings, as JavaScript and jq would round them.
type counterJSON struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Next    *int64 `json:"next,string"` // null if it has ended
	Start   int64  `json:"start,string"`
	Step    int64  `json:"step,string"`
	Last    int64  `json:"last,string"`
	Periods string `json:"periods"` // "" for none, and so for the next two
	Period  string `json:"period"`
	Series  string `json:"series"`
}

func countersInJSON(all []lease.Counter) string {
	var b bytes.Buffer
	for _, c := range all {
		found := counterJSON{
			Name:    c.Name,
			State:   stateOf(c),
			Start:   c.Start,
			Step:    c.Step,
			Last:    c.Last,
			Periods: c.Periods,
			Period:  c.Period,
			Series:  c.Series,
		}
		if found.State != stateEnded {
			found.Next = &c.Next
		}
		json.NewEncoder(&b).Encode(found) // can't fail
	}
	return b.String()
}

func countersInTable(all []lease.Counter) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tNEXT\tSTART\tSTEP\tLAST\tPERIOD\tSTATE")
	for _, c := range all {
		next := fmt.Sprint(c.Next)
		last := fmt.Sprint(c.Last)
		state := stateOf(c)
		if state == stateEnded {
			next = "-"
		}
		if c.Last == math.MaxInt64 {
			last = "-"
		}
		period := cmp.Or(c.Period, "-")
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", c.Name, next, c.Start, c.Step, last, period, state)
	}
	w.Flush()
	return b.String()
}

// States of a counter, as the help of list explains them.
const (
	stateReady = "ready"
	stateEnded = "ended" // it has no number left
	stateLost  = "lost"  // data was lost, and the operator has to set it
)

func stateOf(c lease.Counter) string {
	switch {
	case c.Lost:
		return stateLost
	case c.Ended():
		return stateEnded
	}
	return stateReady
}

func goesOn(c lease.Counter) string {
	switch stateOf(c) {
	case stateEnded:
		return "it has no number left"
	case stateLost:
		return "it waits until it is set, beyond all numbers that it may have given: see randflake help counter set"
	}
	return fmt.Sprintf("its next number is %d", c.Next)
}

func (t *tool) counterCreateCommand() *cobra.Command {
	var h home
	var config counter.Config
	var ifMissing bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "make a counter",
		RunE: h.run(func(ctx context.Context, space *lease.Space, args []string) error {
			made := "made"
			err := counter.From(space).Create(ctx, args[0], config)
			switch {
			case errors.Is(err, lease.ErrExists) && ifMissing:
				made = "there is"
			case errors.Is(err, lease.ErrExists):
				return fmt.Errorf("%w: a counter is never replaced: use it, or choose another name", err)
			case err != nil:
				return h.counterError(args[0], err)
			}
			c, err := space.Counter(ctx, args[0])
			if err != nil {
				return err
			}
			want := c
			want.Start = cmp.Or(config.Start, c.Start)
			want.Step = cmp.Or(config.Step, c.Step)
			want.Last = cmp.Or(config.Last, c.Last)
			if err := c.Match(want); err != nil {
				return err
			}
			return t.print("%s a counter %s: %s\n", made, args[0], goesOn(c))
		}),
	}
	operands(cmd, "NAME")
	storeFlag(cmd, &h)
	numberFlag(cmd, &config.Start, "start", "", "the first number (default 1)")
	numberFlag(cmd, &config.Step, "step", "", "difference between two numbers (default 1)")
	numberFlag(cmd, &config.Last, "last", "", "the last number; none is larger")
	cmd.Flags().BoolVar(&ifMissing, "if-missing", false, "do not fail if the counter exists")
	return cmd
}

func (t *tool) counterSetCommand() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "set NAME NEXT",
		Short: "say where a counter goes on",
		RunE: func(cmd *cobra.Command, args []string) error {
			next, err := parseNumber(args[1])
			if err != nil {
				return wrong(cmd, "NEXT is %q: %v", args[1], err)
			}
			return h.run(func(ctx context.Context, space *lease.Space, _ []string) error {
				if err := space.SetCounter(ctx, args[0], next); err != nil {
					return h.counterError(args[0], err)
				}
				return t.print("%s: its next number is %d\n", args[0], next)
			})(cmd, args)
		},
	}
	operands(cmd, "NAME", "NEXT")
	storeFlag(cmd, &h)
	return cmd
}

// counterError adds to an error of a counter which command makes the counter or sets it.
func (h *home) counterError(name string, err error) error {
	store := ""
	if h.store != "" {
		store = " --store " + h.operand()
	}
	switch {
	case errors.Is(err, lease.ErrInvalid): // a wrong command line: no other command helps
	case errors.Is(err, lease.ErrNoCounter):
		return fmt.Errorf("%w: randflake counter create %s%s", err, name, store)
	case errors.Is(err, lease.ErrCounterLost):
		return fmt.Errorf("%w: randflake counter set %s NUMBER%s", err, name, store)
	}
	return err
}
