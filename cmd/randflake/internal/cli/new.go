package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

func (t *tool) newCommand() *cobra.Command {
	o := order{n: 1, format: "text"}
	cmd := &cobra.Command{
		Use:   "new",
		Short: "make IDs",
		Long: `Make unique IDs. No setup is needed: the first call makes a secret and a store
in your state directory. Each call takes a lease; any number of calls may run at
once. IDs of sortable kinds come in order.`,
		Example: `  randflake new
  randflake new -n 10000000 > ids.txt              # uses every core
  randflake new -n 1000000 --format binary | gzip | wc -c
  randflake new --layout discord                   # sortable`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && isDecimal(args[0]) && strings.Trim(args[0], "0") != "" {
				return wrong(cmd, "unexpected argument %q: for %s IDs say -n %s", args[0], args[0], args[0])
			}
			return noOperands(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			mint, err := t.prepare(&o)
			if err == nil && o.format == "binary" && isTerminal(t.stdout) {
				err = errors.New("--format binary is not for a terminal: send it to a file or a pipe")
			}
			if err != nil {
				return wrong(cmd, "%v", err)
			}
			if wasClosed(t.stdout) {
				return outputError(os.ErrClosed)
			}
			if err := o.home.locate(); err != nil {
				return err
			}
			return t.unlessStopped(cmd.Context(), mint)
		},
	}
	numberFlag(cmd, &o.n, "count", "n", "how many IDs (default 1)")
	kindFlags(cmd, &o.choiceOfKind)
	choiceFlag(cmd, &o.format, "format", "f", "FORMAT", "see randflake help kinds (default text)",
		"text", "json", "int", "hex", "binary", "base32", "base58", "base62", "uuid")
	storeFlag(cmd, &o.home)
	secretFlag(cmd, &o.home.secret)
	return cmd
}

// An order has the arguments of new.
type order struct {
	choiceOfKind
	home   home
	n      int64
	format string
}

// prepare returns the function that executes an order, or an error that names flags which can't be combined.
func (t *tool) prepare(o *order) (mint func(context.Context) error, err error) {
	if err := o.settle(); err != nil {
		return nil, err
	}
	o.kind = cmp.Or(o.kind, kindRandflake)
	if o.kind != kindRandflake && o.home.secret.file != "" {
		return nil, fmt.Errorf("--secret-file is for --kind %s: %s IDs have no secret", kindRandflake, o.kind)
	}
	switch o.kind {
	case kindRandflake:
		f, err := formatOf(randflakeFormats, o.format)
		return func(ctx context.Context) error { return t.mintRandflakes(ctx, &o.home, o.n, f) }, err
	case kindSnowflake:
		o.layout = cmp.Or(o.layout, snowflake.Twitter())
		o.home.nodes = uint32(min(o.layout.Workers(), randflake.MaxNode+1))
		f, err := formatOf(snowflakeFormats, o.format)
		return func(ctx context.Context) error { return t.mintSnowflakes(ctx, &o.home, o.layout, o.n, f) }, err
	}
	if o.home.store != "" {
		return nil, fmt.Errorf("--store: %s IDs need no lease", o.kind)
	}
	f, err := formatOf(ulidFormats, o.format)
	return func(ctx context.Context) error {
		generator, err := ulid.New(ulid.Strict())
		if err != nil {
			return err
		}
		fill := func(_ context.Context, ids []ulid.ID) (int, error) { return generator.Fill(ids) }
		return newMinter(o.n, 1, f, fill).mint(ctx, t)
	}, err
}

// mostNodes is how many nodes the command leases at most: they make 537 million IDs a second.
const mostNodes = 4096

// mintRandflakes writes n IDs.
func (t *tool) mintRandflakes(ctx context.Context, h *home, n int64, f format[randflake.ID]) error {
	if err := h.firstUse(t); err != nil {
		return err
	}
	secret, err := h.readSecret()
	if err != nil {
		return err
	}
	nodes := min((n-1)/(randflake.MaxSequence+1)+1, mostNodes) // make them within a second
	return h.withSpace(ctx, func(space *lease.Space) error {
		keeper, err := keeping(ctx, int(nodes), func(ctx context.Context, options ...lease.Option) (*lease.Keeper[*randflake.Generator], error) {
			return lease.Keep(ctx, space, secret, options...)
		})
		if err != nil {
			return err
		}
		defer keeper.Close()
		return newMinter(n, runtime.GOMAXPROCS(0), f, filling(keeper)).mint(ctx, t)
	})
}

// mintSnowflakes writes n IDs of a worker. It says so if the layout ends within five years.
func (t *tool) mintSnowflakes(ctx context.Context, h *home, layout *snowflake.Layout, n int64, f format[snowflake.ID]) error {
	if err := t.checkLifetime(layout, time.Now()); err != nil {
		return err
	}
	if err := h.firstUse(t); err != nil {
		return err
	}
	return h.withSpace(ctx, func(space *lease.Space) error {
		keeper, err := keeping(ctx, 1, func(ctx context.Context, options ...lease.Option) (*lease.Keeper[*snowflake.Generator], error) {
			return snowflake.Keep(ctx, space, layout, snowflake.Leasing(options...))
		})
		if err != nil {
			return err
		}
		defer keeper.Close()
		return newMinter(n, 1, f, filling(keeper)).mint(ctx, t)
	})
}

// checkLifetime returns an error if a layout has ended, and prints a note if it ends within five years.
func (t *tool) checkLifetime(layout *snowflake.Layout, now time.Time) error {
	end := layout.Expires()
	switch {
	case !now.Before(end):
		return fmt.Errorf("layout %s ended at %s: want another layout", layout.Name(), end.Format(time.RFC3339))
	case !now.AddDate(5, 0, 0).Before(end):
		t.note(fmt.Errorf("layout %s ends at %s: want another layout for something new", layout.Name(), end.Format(time.RFC3339)))
	}
	return nil
}

// keeping keeps a generator in leases of nodes, or of fewer if the window has not so many left.
func keeping[G lease.Generator](ctx context.Context, nodes int, keep func(context.Context, ...lease.Option) (*lease.Keeper[G], error)) (*lease.Keeper[G], error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for ; ; nodes /= 2 {
		keeper, err := keep(ctx, lease.WithLogger(slog.New(slog.DiscardHandler)), lease.WithNodes(nodes))
		if nodes == 1 || !errors.Is(err, lease.ErrFull) && !errors.Is(err, lease.ErrInvalid) {
			return keeper, err
		}
	}
}

// A generator makes IDs of some kind under leases.
type generator[ID any] interface {
	lease.Generator
	FillWait(ctx context.Context, ids []ID) (n int, err error)
}

// filling returns a function that fills IDs, and waits where waiting helps: also for a lease, after the store failed for long or
// the process was asleep.
func filling[ID any, G generator[ID]](keeper *lease.Keeper[G]) func(ctx context.Context, ids []ID) (n int, err error) {
	return func(ctx context.Context, ids []ID) (n int, err error) {
		for end := time.Now().Add(storeTimeout); ; {
			more, err := keeper.Generator().FillWait(ctx, ids[n:])
			n += more
			if !errors.Is(err, randflake.ErrLeaseEnded) {
				return n, err
			}
			if more > 0 {
				end = time.Now().Add(storeTimeout)
			}
			if time.Now().After(end) {
				if cause := keeper.Status().Err; cause != nil {
					err = fmt.Errorf("%w: %w", err, cause)
				}
				return n, err
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return n, context.Cause(ctx)
			}
		}
	}
}
