package url

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/redact"
	"github.com/randflake/randflake/internal/smallfile"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
)

// A Keeper is a [lease.Keeper] with a space of its own.
type Keeper struct {
	*lease.Keeper[*randflake.Generator]
	space io.Closer
}

// Keep is [local.Keep] for many machines: if the variable RANDFLAKE_STORE is set, it keeps a
// generator in leases of the space in the store of that name, for the secret in RANDFLAKE_SECRET,
// whatever name is. In place of each variable, RANDFLAKE_STORE_FILE or RANDFLAKE_SECRET_FILE may
// name a file that has it; to set both is an error. It makes no space: randflake store init does.
//
// It waits up to two minutes where waiting helps, as long as ctx does not end: see [lease.WithWait], which can change
// that.
func Keep(ctx context.Context, name string, options ...lease.Option) (*Keeper, error) {
	options = append([]lease.Option{lease.WithWait(2 * time.Minute)}, options...)
	store, err := FromEnvironment()
	if err != nil {
		return nil, err
	}
	hasSecret := os.Getenv("RANDFLAKE_SECRET") != "" || os.Getenv("RANDFLAKE_SECRET_FILE") != ""
	if store == "" && hasSecret {
		return nil, errors.New("RANDFLAKE_STORE: want the name of a store, as there is a secret: " +
			"without both, the secret is one of this machine")
	}
	if store == "" {
		k, err := local.Keep(ctx, name, options...)
		if err != nil {
			return nil, err
		}
		return &Keeper{k.Keeper, k}, nil
	}
	secret, err := secretInEnvironment()
	if err != nil {
		return nil, err
	}
	space, err := Open(ctx, store, lease.Config{})
	if err != nil {
		return nil, err
	}
	k, err := lease.Keep(ctx, space, secret, options...)
	if err != nil {
		return nil, errors.Join(err, space.Close())
	}
	return &Keeper{k, space}, nil
}

// FromEnvironment returns the name of the store in the variable RANDFLAKE_STORE, or in the file
// that RANDFLAKE_STORE_FILE names, or "" if neither is set. If both are set, or one is empty or has
// white space around it, that is an error.
func FromEnvironment() (string, error) {
	for _, variable := range []string{"RANDFLAKE_STORE", "RANDFLAKE_STORE_FILE"} {
		value, set := os.LookupEnv(variable)
		if set && (value == "" || strings.TrimSpace(value) != value) {
			return "", fmt.Errorf("%s is empty or has white space around it: want a name, or unset it", variable)
		}
	}
	name, file, err := valueOrFile("RANDFLAKE_STORE")
	if err != nil || file == "" {
		return name, err
	}
	text, err := smallfile.Read(file)
	name = strings.TrimSpace(string(text))
	if err == nil && name == "" {
		err = errors.New("it is empty")
	}
	if err != nil { // it may show a password, if somebody took one variable for the other
		return "", fmt.Errorf("RANDFLAKE_STORE_FILE: want a file that contains the name of a store: %s", redact.Passwords(err.Error()))
	}
	return name, nil
}

// valueOrFile returns the value of an environment variable, or the file that the one with _FILE names.
func valueOrFile(variable string) (value, file string, err error) {
	value = os.Getenv(variable)
	file = os.Getenv(variable + "_FILE")
	if value != "" && file != "" {
		return "", "", fmt.Errorf("%s and %[1]s_FILE are both set: want one of them", variable)
	}
	return value, file, nil
}

func secretInEnvironment() (secret randflake.Secret, err error) {
	text, file, err := valueOrFile("RANDFLAKE_SECRET")
	if err != nil {
		return secret, err
	}
	if text != "" {
		secret, err = randflake.ParseSecret(text)
		if err != nil {
			return secret, fmt.Errorf("RANDFLAKE_SECRET: %w", err)
		}
		return secret, nil
	}
	secret, err = local.ReadSecret(file)
	if err != nil {
		return secret, fmt.Errorf("RANDFLAKE_SECRET_FILE, without RANDFLAKE_SECRET: %w", err)
	}
	return secret, nil
}

// Close closes the generator and ends the keeper, as [lease.Keeper.Close] does, and closes the space.
func (k *Keeper) Close() error { return errors.Join(k.Keeper.Close(), k.space.Close()) }
