package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/store"
)

// An initial has the arguments of lease init.
type initial struct {
	home                 home
	newSecret, ifMissing bool
	limits               store.Limits
}

func (t *tool) leaseInitCommand() *cobra.Command {
	o := initial{limits: store.DefaultLimits()}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "make a store",
		Long: `Make a store. It can't know what other stores granted for the secret, so its
first lease starts after those have ended: after --max-ttl plus --max-skew. Both
must be no less than in the other stores, and can't be changed later. With
--new-secret the first lease starts at once. A store belongs to one secret and
refuses others: to the existing secret, or else to the first one that is used.`,
		Example: `  randflake lease init --new-secret --store leases
  randflake lease init --if-missing --store postgres://app@db/shop`,
		Args: noOperands,
		RunE: func(cmd *cobra.Command, _ []string) error { return t.initStore(cmd, &o) },
	}
	storeFlag(cmd, &o.home)
	secretFlag(cmd, &o.home.secret)
	cmd.Flags().BoolVar(&o.newSecret, "new-secret", false, "make a secret too, and write it to its file")
	cmd.Flags().BoolVar(&o.ifMissing, "if-missing", false, "do not fail if the store exists")
	cmd.Flags().DurationVar(&o.limits.MaxTTL, "max-ttl", o.limits.MaxTTL, "the longest lease, in whole seconds")
	cmd.Flags().DurationVar(&o.limits.MaxSkew, "max-skew", o.limits.MaxSkew, "how far two clocks may differ")
	return cmd
}

func (t *tool) initStore(cmd *cobra.Command, o *initial) error {
	if err := o.limits.Check(); err != nil {
		return wrong(cmd, "%v", err)
	}
	if err := o.home.resolve(t); err != nil {
		return err
	}
	switch {
	case o.newSecret && o.home.secret.inVariable:
		return wrong(cmd, "--new-secret: %s is set: want one secret", secretVariable)
	case o.newSecret && !o.home.secret.known():
		return wrong(cmd, "--secret-file is missing: %s is not a directory where --new-secret could put the secret", o.home.at)
	}
	keys, err := o.home.keys()
	if errors.Is(err, fs.ErrNotExist) && o.newSecret {
		err = nil
	}
	if err != nil {
		return err
	}
	if dir := o.home.at.Dir; dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), storeTimeout)
	defer cancel()
	v, err := o.home.at.look(ctx)
	switch {
	case err != nil:
		return err
	case v != nil && !o.ifMissing:
		return errStoreExists(o.home.at)
	case v != nil:
		return t.initExisting(o, v, keys)
	case o.newSecret:
		return t.initWithNewSecret(ctx, o)
	}
	start, err := o.home.at.found(ctx, store.WithLimits(o.limits), store.ForSecret(keys))
	if err != nil && o.ifMissing { // another process may have made it meanwhile
		if v, _ := o.home.at.look(ctx); v != nil {
			return t.initExisting(o, v, keys)
		}
	}
	if err != nil {
		return err
	}
	return t.print(fmt.Sprintf("made a store in %s: its first lease starts at %s\n", o.home.at, start.Format(time.RFC3339)))
}

// initExisting is for a store that is not missing.
func (t *tool) initExisting(o *initial, v *store.View, keys store.Keys) error {
	if _, err := v.CheckSecret(keys, v.Now); err != nil {
		return err
	}
	return t.print(fmt.Sprintf("%s contains a store already\n", o.home.at))
}

// initWithNewSecret makes the secret first. If making the store then fails, the secret is no longer new, and the leases
// of a store that is made later start after the delay.
func (t *tool) initWithNewSecret(ctx context.Context, o *initial) error {
	secret, file, at := randflake.NewSecret(), o.home.secret.file, o.home.at
	if err := local.WriteSecret(file, secret); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%w: to make a store for the existing secret, leave out --new-secret", err)
		}
		return err
	}
	_, err := at.found(ctx, store.WithLimits(o.limits), store.ForNewSecret(), store.ForSecret(store.KeysOf(secret)))
	if err == nil {
		return t.print(fmt.Sprintf("made a new secret in %s and a store in %s\n", file, at))
	}
	// If permission was denied, and only then, it is certain that no store was made for the secret.
	if v, lookErr := at.look(ctx); errors.Is(err, fs.ErrPermission) && v == nil && lookErr == nil {
		return errors.Join(err, os.Remove(file))
	}
	return fmt.Errorf("%w: the new secret is in %s, and counts as used from now on", err, file)
}

// look returns a view of the store, or nil if there is no store.
func (l location) look(ctx context.Context) (*store.View, error) {
	space, err := l.open(ctx)
	if errors.Is(err, store.ErrNoStore) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer space.Close()
	return space.Look(ctx, nil, store.Page{})
}

// found creates a store, closes it, and returns when its first lease may start.
func (l location) found(ctx context.Context, options ...store.Option) (start time.Time, err error) {
	space, err := l.create(ctx, options...)
	if errors.Is(err, fs.ErrExist) {
		return start, errStoreExists(l)
	}
	if err != nil {
		return start, err
	}
	limits, err := lease.On(space).Limits(ctx)
	return limits.Floor, errors.Join(err, space.Close())
}

func errStoreExists(l location) error {
	return fmt.Errorf("%s contains a store, or a part of one, and a store is never replaced: use it, or name another location", l)
}
