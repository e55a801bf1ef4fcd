package cli

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
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

// A finder finds the pair of a text, which is one of both forms.
type finder func(c *randflake.Cipher, text string) (pair, error)

// masking completes a command that finds the pair of each text and shows the other form of it.
func (t *tool) masking(cmd *cobra.Command, find finder, show func(pair) string) *cobra.Command {
	var from secretSource
	secretFlag(cmd, &from)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, operands []string) error {
		secret, err := from.named(cmd, "secret of the ID space")
		if err != nil {
			return err
		}
		cipher := randflake.NewCipher(secret)
		return t.answerAll(operands, func(b []byte, text string) ([]byte, error) {
			p, err := find(cipher, text)
			switch {
			case err != nil:
				return b, err
			case *asJSON:
				return fmt.Appendf(b, `{"inner":"%d","masked":"%s"}`+"\n", p.inner, p.masked), nil
			}
			b = append(b, show(p)...)
			return append(b, '\n'), nil
		})
	}
	return cmd
}

func maskText(c *randflake.Cipher, text string) (pair, error) {
	inner, err := snowflake.Parse(text)
	if err == nil && inner > math.MaxInt64 {
		err = fmt.Errorf("%w: %q: want at most %d", randflake.ErrInvalidID, text, int64(math.MaxInt64))
	}
	return pair{int64(inner), c.Encrypt(randflake.Raw(inner))}, err
}

// unmaskText decrypts the text of a masked ID, with a prefix or without.
func unmaskText(c *randflake.Cipher, text string) (pair, error) {
	masked, err := randflake.Parse(text[len(prefixOf(text)):])
	if err != nil {
		return pair{}, err
	}
	inner := int64(c.Decrypt(masked))
	if inner < 0 {
		return pair{}, fmt.Errorf("%w: %q decrypts to no plausible value: "+
			"it was masked with another secret: name the secret of its ID space with --secret-file",
			randflake.ErrInvalidID, text)
	}
	return pair{inner, masked}, nil
}
