package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

const leaseInitUsage = `Usage: randflake lease init [-new-secret] [-max-ttl D] [-max-skew D] [-store STORE] [-secret-file F]

Makes a lease store. It can't know what other stores granted for the secret, one that was lost for
instance, so its first lease starts when all of theirs have ended: after -max-ttl and -max-skew,
which must be no less than theirs. A store keeps both for good.

A store belongs to one secret, and refuses all others: the one in the secret file if there is one,
and otherwise the first that makes IDs with it.

  -new-secret        make a secret too, which no other store can know of: the first lease may start
                     at once
  -max-ttl D         the longest lease that the store will grant, in whole seconds (default 10m)
  -max-skew D        how far two clocks that pass for right may differ, in whole seconds (default 1m)
  -store STORE       the store; without it, what RANDFLAKE_STORE names, or your state directory
  -secret-file F     the file with the secret, where -new-secret puts it; without it, what
                     RANDFLAKE_SECRET_FILE names, or the file "secret" in the store's directory
` + storeUsage

func (t *tool) runLeaseInit(ctx context.Context, args []string) error {
	flags := newFlags("lease init", leaseInitUsage)
	var h home
	var newSecret bool
	limits := store.DefaultLimits()
	flags.homeFlags(&h)
	flags.BoolVar(&newSecret, "new-secret", false, "")
	flags.DurationVar(&limits.MaxTTL, "max-ttl", limits.MaxTTL, "")
	flags.DurationVar(&limits.MaxSkew, "max-skew", limits.MaxSkew, "")
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	if err := limits.Check(); err != nil {
		return flags.wrong("%v", err)
	}
	if err := h.resolve(t); err != nil {
		return err
	}
	if newSecret && h.secretFile == "" {
		return flags.wrong("-secret-file is missing: %s is no directory where -new-secret could put the secret", h.place)
	}
	if h.place.dir != "" {
		if err := makeDirs(h.place.dir); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if newSecret {
		return t.initWithNewSecret(ctx, h, limits)
	}
	options, err := h.itsSecret()
	if err != nil {
		return err
	}
	start, err := h.place.found(ctx, append(options, store.WithLimits(limits))...)
	if err != nil {
		return err
	}
	return t.print(fmt.Sprintf("made a lease store in %s: its first lease starts at %s\n", h.place, start.Format(time.RFC3339)))
}

// itsSecret has a store belong to the secret in its secret file. Where the user named none there need
// be none.
func (h *home) itsSecret() ([]store.Option, error) {
	if h.secretFile == "" {
		return nil, nil
	}
	secret, err := readSecret(h.secretFile)
	if errors.Is(err, fs.ErrNotExist) && h.ownSecret {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []store.Option{store.ForSecret(secret.CheckValue())}, nil
}

// initWithNewSecret makes the secret first: should the store fail, the secret is no longer new, and a
// store that is made later starts after the delay.
func (t *tool) initWithNewSecret(ctx context.Context, h home, limits store.Limits) error {
	if there, err := h.place.Open(ctx, h.place.name()); !errors.Is(err, store.ErrNoStore) {
		if err != nil {
			return err
		}
		there.Close()
		return errStoreExists(h.place)
	}
	secret := randflake.NewSecret()
	if err := writeSecretFile(h.secretFile, secret); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%w: without -new-secret you get a store for the one that is there", err)
		}
		return err
	}
	if _, err := h.place.found(ctx, store.WithLimits(limits), store.ForNewSecret(), store.ForSecret(secret.CheckValue())); err != nil {
		return fmt.Errorf("%w: the new secret is in %s, and counts as used from now on", err, h.secretFile)
	}
	return t.print(fmt.Sprintf("made a new secret in %s and a lease store in %s\n", h.secretFile, h.place))
}

// found creates a store, closes it, and returns when its first lease may start.
func (p place) found(ctx context.Context, options ...store.Option) (start time.Time, err error) {
	space, err := p.Create(ctx, p.name(), options...)
	if errors.Is(err, fs.ErrExist) {
		return start, errStoreExists(p)
	}
	if err != nil {
		return start, err
	}
	limits, err := lease.On(space).Limits(ctx)
	return limits.Floor, errors.Join(err, space.Close())
}

func errStoreExists(p place) error {
	return fmt.Errorf("%s holds a lease store, or a part of one: a store is never replaced: use it, or name another place", p)
}
