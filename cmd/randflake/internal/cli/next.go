package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
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
			if n < 0 {
				return wrong(cmd, "--count %d: want 0 or more", n)
			}
			if n == 0 {
				return nil
			}
			// Before the first use makes a directory:
			if _, err := counter.From(nowhere{}, time.Now).OpenStrict(cmd.Context(), args[0]); errors.Is(err, counter.ErrInvalidName) {
				return wrong(cmd, "%v", err)
			}
			if err := h.resolve(t); err != nil {
				return err
			}
			return t.unlessStopped(cmd.Context(), func(ctx context.Context) error {
				return t.printNext(ctx, cmd, &h, args[0], n, create)
			})
		},
	}
	operands(cmd, "NAME")
	cmd.Flags().Int64VarP(&n, "count", "n", 1, "how many numbers")
	cmd.Flags().BoolVar(&create, "create", false, "make the counter if there is none")
	storeFlag(cmd, &h)
	return cmd
}

// nowhere is a source without counters, which tells what can't be the name of one.
type nowhere struct{ counter.Source }

func (nowhere) Get(context.Context, string) (counter.Info, error) {
	return counter.Info{}, counter.ErrNoCounter
}

var numberFormat = format[int64]{"int", onLine(func(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) })}

// printNext takes numbers just before it prints them, so it never has to give numbers back.
func (t *tool) printNext(ctx context.Context, cmd *cobra.Command, h *home, name string, n int64, create bool) error {
	if err := h.firstUse(t); err != nil {
		return err
	}
	space, err := h.openStore(ctx)
	if err != nil {
		return err
	}
	defer space.Close()
	var options []counter.Option
	if create || h.implied {
		options = append(options, counter.OrCreate())
	}
	numbers, err := openStrict(ctx, space, name, options...)
	if errors.Is(err, counter.ErrNoCounter) && len(options) == 0 {
		return fmt.Errorf("no counter %s in %s: use --create, or make one: randflake counter create %s --store %s", name, h.at, name, h.at)
	}
	if err != nil {
		return counterError(cmd, name, h.at, err)
	}
	defer numbers.Close()
	m := newMinter(n, 1, numberFormat, numbers.Fill)
	m.unit = "numbers"
	return m.mint(ctx, t)
}

// openStrict is OpenStrict with the timeout of commands.
func openStrict(ctx context.Context, space *store.Space, name string, options ...counter.Option) (*counter.Strict, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return counter.On(space).OpenStrict(ctx, name, options...)
}

// counterError adds to an error in opening or making a counter which command to run instead.
func counterError(cmd *cobra.Command, name string, at location, err error) error {
	switch {
	case errors.Is(err, counter.ErrInvalidName), errors.Is(err, counter.ErrInvalidOption):
		return wrong(cmd, "%v", err)
	case errors.Is(err, counter.ErrForgotten):
		return fmt.Errorf("%s may have forgotten a counter %s: if that counter never gave a number, run randflake counter create %s --new --store %s; otherwise add a --start beyond every number that it gave", at, name, name, at)
	}
	return err
}
