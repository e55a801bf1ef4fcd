package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

func (t *tool) newCommand() *cobra.Command {
	r := &newRequest{tool: t, n: 1, format: "text"}
	cmd := &cobra.Command{
		Use:   "new",
		Short: "make IDs",
		Args: func(cmd *cobra.Command, args []string) error {
			// "new 5" is likely to mean "new -n 5".
			isCount := len(args) == 1 && isDecimal(args[0]) && strings.Trim(args[0], "0") != ""
			if isCount {
				return wrong(cmd, "unexpected argument %q: for %s IDs say -n %s", args[0], args[0], args[0])
			}
			return noOperands(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			mint, err := r.prepare()
			if err != nil {
				return wrong(cmd, "%v", err)
			}
			if err := t.wantOutput(); err != nil {
				return err
			}
			if r.kind != kindULID { // which needs neither a store nor a secret
				if err := r.home.locate(); err != nil {
					return err
				}
			}
			return t.unlessStopped(cmd.Context(), mint)
		},
	}
	numberFlag(cmd, &r.n, "count", "n", fmt.Sprintf("how many IDs (default %d)", r.n))
	kindFlags(cmd, &r.choiceOfKind)
	choiceFlag(cmd, &r.format, "format", "f", "FORMAT",
		fmt.Sprintf("see randflake help kinds (default %s)", r.format), allFormats()...)
	storeFlag(cmd, &r.home)
	secretFlag(cmd, &r.home.secret)
	return cmd
}

// A newRequest is what the flags of randflake new say.
type newRequest struct {
	*tool
	home home
	choiceOfKind
	n      int64  // how many IDs
	format string // a word of allFormats
}

// prepare returns the function that makes the IDs, or an error that names flags which can't be combined.
func (r *newRequest) prepare() (mint func(context.Context) error, err error) {
	if err := r.settle(); err != nil {
		return nil, err
	}
	switch {
	case !r.mayBeRandflake() && r.home.secret.file != "":
		return nil, fmt.Errorf("--secret-file is for --kind %s: %s IDs have no secret", kindRandflake, r.kind)
	case r.kind == kindULID && r.home.store != "":
		return nil, fmt.Errorf("--store: %s IDs need no lease", r.kind)
	case r.format == "binary" && isTerminal(r.stdout):
		return nil, errors.New("--format binary is not for a terminal: send it to a file or a pipe")
	}
	switch r.kind {
	case kindSnowflake:
		r.layout = cmp.Or(r.layout, snowflake.Twitter())
		r.home.noSecret = true
		r.home.nodes = uint32(min(r.layout.Workers(), randflake.MaxNode+1))
		return minting(r.format, snowflakeFormats, r.mintSnowflakes)
	case kindULID:
		return minting(r.format, ulidFormats, r.mintULIDs)
	}
	return minting(r.format, randflakeFormats, r.mintRandflakes)
}

// minting returns mint with the format of a name, or an error if the kind of IDs does not have it.
func minting[ID any](
	name string, formats map[string]format[ID], mint func(context.Context, format[ID]) error,
) (func(context.Context) error, error) {
	f := formats[name]
	if f == nil {
		return nil, fmt.Errorf("--format %q: want %s", name, oneOf(words(formats)))
	}
	return func(ctx context.Context) error { return mint(ctx, f) }, nil
}
