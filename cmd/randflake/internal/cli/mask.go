package cli

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
)

func (t *tool) maskCommand() *cobra.Command {
	return t.masking(&cobra.Command{
		Use:   "mask [INNER]...",
		Short: "encrypt sortable IDs, to show them to others",
	}, maskText, func(p pair) string { return p.masked.String() })
}

func (t *tool) unmaskCommand() *cobra.Command {
	return t.masking(&cobra.Command{
		Use:   "unmask [MASKED]...",
		Short: "decrypt IDs that mask encrypted",
	}, unmaskText, func(p pair) string { return strconv.FormatInt(p.inner, 10) })
}

// A pair is an ID in both forms.
type pair struct {
	inner  int64        // sortable, for inside
	masked randflake.ID // encrypted, for others
}

type masker = mask.Masker[int64]

// masking completes a command that finds the pair of each text, which is one of both, and shows the other.
func (t *tool) masking(
	cmd *cobra.Command, find func(m *masker, text string) (pair, error), show func(pair) string,
) *cobra.Command {
	var from secretSource
	secretFlag(cmd, &from)
	var asJSON bool
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, operands []string) error {
		secret, err := from.named(cmd, "secret of the ID space")
		if err != nil {
			return err
		}
		m := mask.MaskerOf[int64](randflake.NewCipher(secret), nil)
		return t.answerAll(operands, func(b []byte, text string) ([]byte, error) {
			p, err := find(m, text)
			switch {
			case err != nil:
				return b, err
			case asJSON:
				return fmt.Appendf(b, `{"inner":"%d","masked":"%s"}`+"\n", p.inner, p.masked), nil
			}
			b = append(b, show(p)...)
			return append(b, '\n'), nil
		})
	}
	return cmd
}

// maskText masks a decimal number.
func maskText(m *masker, text string) (p pair, err error) {
	inner, err := snowflake.Parse(text)
	switch {
	case err != nil:
		return p, err
	case inner > math.MaxInt64:
		return p, fmt.Errorf("%w: %q: want at most %d", randflake.ErrInvalidID, text, int64(math.MaxInt64))
	}
	p.inner = int64(inner)
	p.masked, err = m.Mask(p.inner)
	return p, err
}

// unmaskText opens the text of a masked ID, with a prefix or without.
func unmaskText(m *masker, text string) (p pair, err error) {
	p.masked, err = randflake.Parse(text[len(prefixOf(text)):])
	if err != nil {
		return p, err
	}
	p.inner, err = m.Unmask(p.masked)
	if err != nil {
		err = fmt.Errorf("%w: name the secret of its ID space with --secret-file", err)
	}
	return p, err
}
