package cli

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

const maskSecretUsage = `
  -json             print one JSON object a line: inner, masked, both as strings
  -secret-file F    the file with the secret of the ID space; without it, what RANDFLAKE_SECRET_FILE
                    names. There is no other default: IDs that are masked with the wrong secret look
                    all right, and nobody else can open them

The secret belongs to one ID space, such as the IDs of a service's orders: the service has it, and
whoever else has it can open all of its masked IDs. Another space takes a secret of its own, which
"randflake secret -o FILE" makes; were it the same one, equal inner IDs would be equal outside too.
`

const maskUsage = `Usage: randflake mask [-json] [-secret-file F] [INNER]...

Encrypts sortable IDs, as package mask does: what a database keeps as its key becomes what the world
may see, a text of up to 13 base32hex digits that tells neither time nor order. INNER is a decimal
number from 0 to 9223372036854775807, a Snowflake ID for instance. Without one it reads them from
standard input, one a line.
` + maskSecretUsage

const unmaskUsage = `Usage: randflake unmask [-json] [-secret-file F] [MASKED]...

Decrypts what "randflake mask" or package mask encrypted, and prints the decimal inner IDs. Without
a MASKED it reads them from standard input, one a line.

Masked IDs are not authenticated: with another secret one opens too, half of the time, to something
else. "randflake inspect -layout L" shows whether what it holds makes sense.
` + maskSecretUsage

func (t *tool) runMask(_ context.Context, args []string) error {
	return t.runMasking("mask", maskUsage, args, maskText)
}

func (t *tool) runUnmask(_ context.Context, args []string) error {
	return t.runMasking("unmask", unmaskUsage, args, unmaskText)
}

// A pair is an ID inside and outside.
type pair struct {
	inner  int64
	masked randflake.ID
}

// runMasking runs the command that goes from one side to the other: complete makes a pair of one text.
func (t *tool) runMasking(command, usage string, args []string, complete func(c *randflake.Cipher, text string) (pair, error)) error {
	flags := newFlags(command, usage)
	var secretFile string
	flags.path(&secretFile, "secret-file")
	asJSON := flags.Bool("json", false, "")
	operands, err := flags.parse(t, args)
	if err != nil {
		return err
	}
	if err := fromEnvironment(&secretFile, secretFileVariable); err != nil {
		return err
	}
	if secretFile == "" {
		return flags.wrong("-secret-file is missing: name the file with the secret of the ID space")
	}
	secret, err := readSecret(secretFile)
	if err != nil {
		return err
	}
	cipher := randflake.NewCipher(secret)
	return t.answerAll(operands, func(b []byte, text string) ([]byte, error) {
		p, err := complete(cipher, text)
		switch {
		case err != nil:
			return b, err
		case *asJSON:
			return fmt.Appendf(b, `{"inner":"%d","masked":"%s"}`+"\n", p.inner, p.masked), nil
		case command == "mask":
			return append(append(b, p.masked.String()...), '\n'), nil
		}
		return append(strconv.AppendInt(b, p.inner, 10), '\n'), nil
	})
}

// maskText masks a decimal number.
func maskText(c *randflake.Cipher, text string) (pair, error) {
	inner, err := snowflake.Parse(text)
	if err == nil && inner > math.MaxInt64 {
		err = fmt.Errorf("%w: %q: expected at most %d", randflake.ErrInvalidID, text, int64(math.MaxInt64))
	}
	return pair{int64(inner), c.Encrypt(randflake.Raw(inner))}, err
}

// unmaskText opens a masked ID, which has one text and no other.
func unmaskText(c *randflake.Cipher, text string) (pair, error) {
	masked, err := randflake.Parse(text)
	if err != nil {
		return pair{}, err
	}
	inner := int64(c.Decrypt(masked))
	if inner < 0 {
		return pair{}, fmt.Errorf("%w: %q opens to no plausible value: it was masked with another secret: name the one of its ID space with -secret-file", randflake.ErrInvalidID, text)
	}
	return pair{inner, masked}, nil
}
