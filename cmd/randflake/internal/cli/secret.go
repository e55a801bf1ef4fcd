package cli

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/snowflake"
)

func (t *tool) secretCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "secret",
		Short: "make secrets",
		Long:  "Make a secret, or derive one of another.",
	}, t.secretNewCommand(), t.secretDeriveCommand())
}

func (t *tool) secretNewCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "new",
		Short: "make a secret",
		Long:  "Print a new random secret as 32 hexadecimal digits, or write it to a file.",
		Example: `  randflake secret new -o orders.secret
  export RANDFLAKE_SECRET=$(randflake secret new)`,
		Args: noOperands,
		RunE: func(*cobra.Command, []string) error { return t.putSecret(randflake.NewSecret(), file) },
	}
	outputFlag(cmd, &file)
	return cmd
}

func (t *tool) secretDeriveCommand() *cobra.Command {
	var from secretSource
	var file string
	version := int64(1)
	cmd := &cobra.Command{
		Use:   "derive SPACE",
		Short: "derive the secret of a space from a master secret",
		Long: `Print the secret that Secret.Derive makes of a master secret for a space of IDs,
or write it to a file. A space whose secret is to be changed takes the next
version.`,
		Example: "  randflake secret derive orders --secret-file master.secret -o orders.secret",
		RunE: func(cmd *cobra.Command, args []string) error {
			if version > math.MaxUint32 {
				return wrong(cmd, "--version %d: want at most %d", version, math.MaxUint32)
			}
			master, err := from.named(cmd, "master secret")
			if err != nil {
				return err
			}
			return t.putSecret(master.Derive(args[0], uint32(version)), file)
		},
	}
	operands(cmd, "SPACE")
	secretFlag(cmd, &from)
	outputFlag(cmd, &file)
	numberFlag(cmd, &version, "version", "", "of the secret (default 1)")
	return cmd
}

func outputFlag(cmd *cobra.Command, file *string) {
	pathFlag(cmd, file, "output", "o", "FILE", "write it to a new file that only you can read")
}

// putSecret writes a secret to a file, or prints it.
func (t *tool) putSecret(secret randflake.Secret, file string) error {
	if file == "" {
		return t.print("%s\n", secret.Hex())
	}
	return local.WriteSecret(file, secret)
}

const maskSecretHelp = `

The secret is that of one ID space, such as the orders of a service. It is read
from --secret-file, RANDFLAKE_SECRET or RANDFLAKE_SECRET_FILE. There is no
default: an ID that was masked with a wrong secret looks right, but is useless.`

func (t *tool) maskCommand() *cobra.Command {
	return t.masking(&cobra.Command{
		Use:   "mask [INNER]...",
		Short: "encrypt sortable IDs, to show them to others",
		Long: `Encrypt sortable IDs, which are arguments or lines of standard input, as package
mask does: the key of a database row, a number from 0 to 9223372036854775807,
becomes a text of up to 13 base32hex digits that shows neither time nor order.` + maskSecretHelp,
		Example: `  randflake secret new -o orders.secret
  randflake mask --secret-file orders.secret 175928847299117063`,
	}, maskText, func(p pair) string { return p.masked.String() })
}

func (t *tool) unmaskCommand() *cobra.Command {
	return t.masking(&cobra.Command{
		Use:   "unmask [MASKED]...",
		Short: "decrypt IDs that mask encrypted",
		Long: `Decrypt IDs that mask encrypted, which are arguments or lines of standard input,
and print the decimal inner IDs. They are not authenticated: half of the time a
wrong secret also decrypts an ID, but to another number: check the number with
randflake inspect --layout.` + maskSecretHelp,
		Example: "  randflake unmask --secret-file orders.secret 3vgoe12ccb8gh",
	}, unmaskText, func(p pair) string { return strconv.FormatInt(p.inner, 10) })
}

// A pair is an ID inside and outside.
type pair struct {
	inner  int64
	masked randflake.ID
}

// masking completes a command that encrypts or decrypts: find makes a pair of a text, and show returns its other member.
func (t *tool) masking(cmd *cobra.Command, find func(*randflake.Cipher, string) (pair, error), show func(pair) string) *cobra.Command {
	var from secretSource
	secretFlag(cmd, &from)
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, operands []string) error {
		secret, err := from.named(cmd, "secret of the ID space")
		if err != nil {
			return err
		}
		cipher := randflake.NewCipher(secret)
		return t.answerAll(operands, nil, func(b []byte, _ int, text string) ([]byte, error) {
			p, err := find(cipher, text)
			switch {
			case err != nil:
				return b, err
			case *asJSON:
				return fmt.Appendf(b, `{"inner":"%d","masked":"%s"}`+"\n", p.inner, p.masked), nil
			}
			return append(append(b, show(p)...), '\n'), nil
		})
	}
	return cmd
}

// maskText masks a decimal number.
func maskText(c *randflake.Cipher, text string) (pair, error) {
	inner, err := snowflake.Parse(text)
	if err == nil && inner > math.MaxInt64 {
		err = fmt.Errorf("%w: %q: want at most %d", randflake.ErrInvalidID, text, int64(math.MaxInt64))
	}
	return pair{int64(inner), c.Encrypt(randflake.Raw(inner))}, err
}

// unmaskText decrypts a masked ID, which has exactly one text form.
func unmaskText(c *randflake.Cipher, text string) (pair, error) {
	masked, err := randflake.Parse(text[len(prefixOf(text)):])
	if err != nil {
		return pair{}, err
	}
	inner := int64(c.Decrypt(masked))
	if inner < 0 {
		return pair{}, fmt.Errorf("%w: %q decrypts to no plausible value: it was masked with another secret: name the secret of its ID space with --secret-file", randflake.ErrInvalidID, text)
	}
	return pair{inner, masked}, nil
}
