package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/local"
)

func (t *tool) secretCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "secret",
		Short: "make secrets",
		Long:  "Make a secret, or derive one of another.",
	})
	cmd.AddCommand(t.secretNewCommand(), t.secretDeriveCommand())
	return cmd
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
			if err := from.askEnvironment(); err != nil {
				return err
			}
			if !from.known() {
				return wrong(cmd, "--secret-file is missing: name the file with the master secret")
			}
			if version > math.MaxUint32 {
				return wrong(cmd, "--version %d: want at most %d", version, math.MaxUint32)
			}
			master, err := from.read()
			if err != nil {
				return err
			}
			return t.putSecret(master.Derive(args[0], uint32(version)), file)
		},
	}
	operands(cmd, "SPACE")
	secretFlag(cmd, &from)
	outputFlag(cmd, &file)
	numberFlag(cmd, &version, "version", "of the secret (default 1)")
	return cmd
}

func outputFlag(cmd *cobra.Command, file *string) {
	pathFlag(cmd, file, "output", "o", "FILE", "write it to a new file that only you can read")
}

// putSecret writes a secret to a file, or prints it.
func (t *tool) putSecret(secret randflake.Secret, file string) error {
	if file == "" {
		return t.print(secret.Hex() + "\n")
	}
	return local.WriteSecret(file, secret)
}

const (
	secretVariable     = "RANDFLAKE_SECRET"
	secretFileVariable = "RANDFLAKE_SECRET_FILE"
)

// A secretSource says where a secret is: nowhere, in a file or in a variable.
type secretSource struct {
	file       string
	inVariable bool
}

func (s *secretSource) known() bool { return s.file != "" || s.inVariable }

// askEnvironment uses the environment variables if the command line names no secret.
func (s *secretSource) askEnvironment() error {
	if s.file != "" {
		return nil
	}
	file, err := nameIn(secretFileVariable)
	if err != nil {
		return err
	}
	_, given := os.LookupEnv(secretVariable)
	if given && file != "" {
		return fmt.Errorf("%s and %s are both set: want one of them", secretVariable, secretFileVariable)
	}
	*s = secretSource{file, given}
	return nil
}

// nameIn returns the value of a variable, or "" if it is not set. White space around it, or nothing else, is an error.
func nameIn(variable string) (string, error) {
	name, set := os.LookupEnv(variable)
	if set && (name == "" || strings.TrimSpace(name) != name) {
		return "", fmt.Errorf("%s is empty or has white space around it: want a name, or unset it", variable)
	}
	return name, nil
}

// read reads the secret. If its file does not exist, the error wraps fs.ErrNotExist. It unsets the variable, so that child
// processes don't inherit it.
func (s *secretSource) read() (randflake.Secret, error) {
	if !s.inVariable {
		secret, err := local.ReadSecret(s.file)
		if errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), s.file) { // not if that is a secret
			err = fmt.Errorf("%w: name the right file with --secret-file, or make one: with randflake new in your state directory, with randflake store init --new in a new store, or with randflake secret new -o %s", err, s.file)
		}
		return secret, err
	}
	secret, err := randflake.ParseSecret(strings.TrimSpace(os.Getenv(secretVariable)))
	os.Unsetenv(secretVariable)
	if err != nil {
		return secret, fmt.Errorf("%s: %w", secretVariable, err)
	}
	return secret, nil
}
