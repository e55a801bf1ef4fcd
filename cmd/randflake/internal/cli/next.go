package cli

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
)

func (t *tool) nextCommand() *cobra.Command {
	var h home
	n := int64(1)
	var create bool
	cmd := &cobra.Command{
		Use:   "next NAME",
		Short: "take numbers from a counter",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := t.wantOutput(); err != nil {
				return err
			}
			if err := h.locate(); err != nil {
				return err
			}
			return t.unlessStopped(cmd.Context(), func(ctx context.Context) error {
				if err := h.firstUse(t); err != nil {
					return err
				}
				space, err := h.openSpace(ctx)
				if err != nil {
					return err
				}
				defer space.Close()
				err = t.printNext(ctx, space, args[0], n, create || h.implied)
				return asUsage(cmd, h.counterError(args[0], err))
			})
		},
	}
	operands(cmd, "NAME")
	numberFlag(cmd, &n, "count", "n", "how many numbers (default 1)")
	cmd.Flags().BoolVar(&create, "create", false, "make the counter if it does not exist")
	storeFlag(cmd, &h)
	return cmd
}

// printNext takes n numbers in chunks, each just before it is printed.
func (t *tool) printNext(ctx context.Context, space *lease.Space, name string, n int64, create bool) error {
	var options []counter.Option
	if create {
		// OrCreate refuses a counter that is there with another configuration: don't ask for one then.
		_, err := space.Counter(ctx, name)
		if errors.Is(err, lease.ErrNoCounter) {
			options = append(options, counter.OrCreate(counter.Config{}))
		}
	}
	numbers, err := counter.From(space).OpenStrict(ctx, name, options...)
	if err != nil {
		return err
	}
	defer numbers.Close()
	decimal := line(func(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) })
	m := newMinter(n, 1, decimal, numbers.Fill)
	m.unit = "numbers"
	return m.mint(ctx, t)
}
