package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

func (t *tool) newCommand() *cobra.Command {
	o := &order{tool: t, n: 1, format: "text"}
	cmd := &cobra.Command{
		Use:   "new",
		Short: "make IDs",
		Args: func(cmd *cobra.Command, args []string) error {
			isCount := len(args) == 1 && isDecimal(args[0]) && strings.Trim(args[0], "0") != ""
			if isCount {
				return wrong(cmd, "unexpected argument %q: for %s IDs say -n %s", args[0], args[0], args[0])
			}
			return noOperands(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			mint, err := o.prepare()
			if err == nil && o.format == "binary" && isTerminal(t.stdout) {
				err = errors.New("--format binary is not for a terminal: send it to a file or a pipe")
			}
			if err != nil {
				return wrong(cmd, "%v", err)
			}
			if err := t.wantOutput(); err != nil {
				return err
			}
			if o.kind != kindULID { // which needs neither a store nor a secret
				if err := o.locate(); err != nil {
					return err
				}
			}
			return t.unlessStopped(cmd.Context(), mint)
		},
	}
	numberFlag(cmd, &o.n, "count", "n", "how many IDs (default 1)")
	kindFlags(cmd, &o.choiceOfKind)
	choiceFlag(cmd, &o.format, "format", "f", "FORMAT", "see randflake help kinds (default text)",
		"text", "json", "int", "hex", "binary", "base32", "base58", "base62", "uuid")
	storeFlag(cmd, &o.home)
	secretFlag(cmd, &o.secret)
	return cmd
}

type order struct {
	*tool
	home
	choiceOfKind
	n      int64  // how many
	format string // the word of --format
}

// prepare returns the function that executes an order, or an error that names flags which can't be
// combined.
func (o *order) prepare() (mint func(context.Context) error, err error) {
	if err := o.settle(); err != nil {
		return nil, err
	}
	if !o.mayBeRandflake() && o.secret.file != "" {
		return nil, fmt.Errorf("--secret-file is for --kind %s: %s IDs have no secret", kindRandflake, o.kind)
	}
	switch o.kind {
	case kindSnowflake:
		o.layout = cmp.Or(o.layout, snowflake.Twitter())
		o.nodes = uint32(min(o.layout.Workers(), randflake.MaxNode+1))
		f, err := formatOf(snowflakeFormats, o.format)
		return func(ctx context.Context) error { return o.mintSnowflakes(ctx, f) }, err
	case kindULID:
		if o.store != "" {
			return nil, fmt.Errorf("--store: %s IDs need no lease", o.kind)
		}
		f, err := formatOf(ulidFormats, o.format)
		return func(ctx context.Context) error { return o.mintULIDs(ctx, f) }, err
	}
	f, err := formatOf(randflakeFormats, o.format)
	return func(ctx context.Context) error { return o.mintRandflakes(ctx, f) }, err
}

func (o *order) mintULIDs(ctx context.Context, f format[ulid.ID]) error {
	options := []ulid.Option{ulid.Strict()}
	if o.format == "uuid" {
		options = append(options, ulid.Version7())
	}
	generator, err := ulid.New(options...)
	if err != nil {
		return err
	}
	fill := func(_ context.Context, ids []ulid.ID) (int, error) { return generator.Fill(ids) }
	return newMinter(o.n, 1, f, fill).mint(ctx, o.tool)
}

// checkLifetime returns an error if a layout has ended, and prints a note if it ends within five
// years.
func (t *tool) checkLifetime(layout *snowflake.Layout, now time.Time) error {
	end := layout.Expires()
	switch {
	case !now.Before(end):
		return fmt.Errorf("layout %s ended at %s: want another layout",
			layout.Name(), end.Format(time.RFC3339))
	case !now.AddDate(5, 0, 0).Before(end):
		t.note(fmt.Errorf("layout %s ends at %s: want another layout for something new",
			layout.Name(), end.Format(time.RFC3339)))
	}
	return nil
}
