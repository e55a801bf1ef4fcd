package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/local"
)

const (
	secretVariable     = "RANDFLAKE_SECRET"
	secretFileVariable = "RANDFLAKE_SECRET_FILE"
)

// A secretSource is where a secret is: in a file, in RANDFLAKE_SECRET, or not known yet.
type secretSource struct {
	file       string // or ""
	inVariable bool
}

func (s *secretSource) known() bool { return s.file != "" || s.inVariable }

// askEnvironment uses the environment variables if the command line names no secret.
func (s *secretSource) askEnvironment() error {
	if s.file != "" {
		return nil
	}
	file, set := os.LookupEnv(secretFileVariable)
	if set && (file == "" || strings.TrimSpace(file) != file) {
		return fmt.Errorf("%s is empty or has white space around it: want a name, or unset it", secretFileVariable)
	}
	_, given := os.LookupEnv(secretVariable)
	if given && file != "" {
		return fmt.Errorf("%s and %s are both set: want one of them", secretVariable, secretFileVariable)
	}
	*s = secretSource{file, given}
	return nil
}

// named reads the secret that the command line or the environment must name.
func (s *secretSource) named(cmd *cobra.Command, what string) (randflake.Secret, error) {
	if err := s.askEnvironment(); err != nil {
		return randflake.Secret{}, err
	}
	if !s.known() {
		return randflake.Secret{}, wrong(cmd, "--secret-file is missing: name the file with the %s", what)
	}
	return s.read()
}

// read reads the secret from the file, or else from the variable, which it unsets, so that child
// processes don't inherit the secret. If the file does not exist, the error wraps fs.ErrNotExist.
func (s *secretSource) read() (randflake.Secret, error) {
	if !s.inVariable {
		secret, err := local.ReadSecret(s.file)
		// A secret in place of a file's name is not in the error, and must not be in this one.
		isName := err != nil && strings.Contains(err.Error(), s.file)
		if isName && errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: name the right file with --secret-file, or make one: "+
				"with randflake new in your state directory, with randflake store init --never-used in a new store, "+
				"or with randflake secret new -o %s", err, s.file)
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
