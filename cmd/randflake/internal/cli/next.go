package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
)

func (t *tool) nextCommand() *cobra.Command {
	var h home
	var n int64
	var create bool
	cmd := &cobra.Command{
		Use:   "next NAME",
		Short: "take numbers from a counter",
		Long: `Take the next numbers of a counter and print them, one per line: small numbers
that never repeat, for orders, tickets and rows. Each number is larger than
every number given to any process before. Numbers that can't be printed are
lost.

In your state directory the first call makes the counter, and also the
directory, as "randflake new" does. In other stores, make the counter with
--create or "randflake counter create".`,
		Example: `  randflake next orders
  randflake next invoices/2026 -n 100 --store postgres://app@db/shop`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := h.locate(); err != nil {
				return err
			}
			return t.unlessStopped(cmd.Context(), func(ctx context.Context) error {
				return t.printNext(ctx, cmd, &h, args[0], n, create)
			})
		},
	}
	operands(cmd, "NAME")
	countFlag(cmd, &n, "how many numbers")
	cmd.Flags().BoolVar(&create, "create", false, "make the counter if there is none")
	storeFlag(cmd, &h)
	return cmd
}

var numberFormat = format[int64]{"int", onLine(func(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) })}

// printNext takes numbers just before it prints them.
func (t *tool) printNext(ctx context.Context, cmd *cobra.Command, h *home, name string, n int64, create bool) error {
	if err := h.firstUse(t, 0); err != nil {
		return err
	}
	space, err := h.openSpace(ctx)
	if err != nil {
		return err
	}
	defer space.Close()
	var options []counter.Option
	if create || h.implied {
		if _, err := space.Counter(ctx, name); errors.Is(err, lease.ErrNoCounter) { // whatever it was made with, if it is there
			options = append(options, counter.OrCreate(counter.Config{}))
		}
	}
	numbers, err := counter.On(space).OpenStrict(ctx, name, options...)
	if err != nil {
		return counterError(cmd, name, h, err)
	}
	defer numbers.Close()
	m := newMinter(n, 1, numberFormat, numbers.Fill)
	m.unit = "numbers"
	return counterError(cmd, name, h, m.mint(ctx, t))
}

// counterError adds to an error which command to run.
func counterError(cmd *cobra.Command, name string, h *home, err error) error {
	store := ""
	if h.store != "" {
		store = " --store " + h.String()
	}
	switch {
	case errors.Is(err, lease.ErrInvalid):
		return wrong(cmd, "%v", err)
	case errors.Is(err, lease.ErrNoCounter):
		return fmt.Errorf("%w: randflake counter create %s%s", err, name, store)
	case errors.Is(err, lease.ErrCounter):
		return fmt.Errorf("%w: randflake counter set %s NUMBER%s", err, name, store)
	}
	return err
}
