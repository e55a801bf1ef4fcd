package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/randflake/randflake/lease"
)

const leaseInitUsage = `Usage: randflake lease init [-new-secret] [-max-ttl D] [-max-skew D] [-store STORE] [-secret-file F]

Makes a lease store. It can't know what other stores granted for the secret, one that was lost for
instance, so its first lease starts when all of theirs have ended: after -max-ttl and -max-skew,
which must be no less than theirs. A store keeps both for good.

  -new-secret        make a secret too, which no other store can know of: the first lease may start
                     at once
  -max-ttl D         the longest lease that the store will grant, in whole seconds (default 10m)
  -max-skew D        how far two clocks that pass for right may differ, in whole seconds (default 1m)
  -store STORE       the store; without it, what RANDFLAKE_STORE names, or your state directory
  -secret-file F     where -new-secret puts the secret; without it, what RANDFLAKE_SECRET_FILE names,
                     or the file "secret" in the store's directory
` + storeUsage

func (t *tool) runLeaseInit(ctx context.Context, args []string) error {
	flags := newFlags("lease init", leaseInitUsage)
	var h home
	n := NewStore{Rules: lease.DefaultRules()}
	flags.homeFlags(&h)
	flags.BoolVar(&n.NewSecret, "new-secret", false, "")
	flags.DurationVar(&n.Rules.MaxTTL, "max-ttl", n.Rules.MaxTTL, "")
	flags.DurationVar(&n.Rules.MaxSkew, "max-skew", n.Rules.MaxSkew, "")
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	if err := n.Rules.Check(); err != nil {
		return flags.wrong("%v", err)
	}
	if h.secretFile != "" && !n.NewSecret {
		return flags.wrong("-secret-file is where -new-secret puts the secret: a store needs none")
	}
	if err := h.resolve(t); err != nil {
		return err
	}
	if n.NewSecret && h.secretFile == "" {
		return flags.wrong("-secret-file is missing: %s is no directory where -new-secret could put the secret", h.place)
	}
	if h.place.dir != "" {
		if err := makeDirs(h.place.dir); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if n.NewSecret {
		return t.initWithSecret(ctx, h, n)
	}
	start, err := h.place.found(ctx, n)
	if err != nil {
		return err
	}
	return t.print(fmt.Sprintf("made a lease store in %s: its first lease starts at %s\n", h.place, start.Format(time.RFC3339)))
}

// initWithSecret makes the secret first: should the store fail, the secret is no longer new, and a
// store that is made later starts after the delay.
func (t *tool) initWithSecret(ctx context.Context, h home, n NewStore) error {
	if store, err := h.place.Open(ctx, h.place.name()); !errors.Is(err, lease.ErrNoStore) {
		if err != nil {
			return err
		}
		store.Close()
		return errStoreExists(h.place)
	}
	if err := makeSecretFile(h.secretFile); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%w: without -new-secret you get a store for the one that is there", err)
		}
		return err
	}
	if _, err := h.place.found(ctx, n); err != nil {
		return fmt.Errorf("%w: the new secret is in %s, and counts as used from now on", err, h.secretFile)
	}
	return t.print(fmt.Sprintf("made a new secret in %s and a lease store in %s\n", h.secretFile, h.place))
}

// found creates a store, closes it, and returns when its first lease may start.
func (p place) found(ctx context.Context, n NewStore) (start time.Time, err error) {
	store, err := p.Create(ctx, p.name(), n)
	if errors.Is(err, fs.ErrExist) {
		return start, errStoreExists(p)
	}
	if err != nil {
		return start, err
	}
	_, start, err = store.Limits(ctx)
	return start, errors.Join(err, store.Close())
}

func errStoreExists(p place) error {
	return fmt.Errorf("%s holds a lease store, or a part of one: a store is never replaced: use it, or name another place", p)
}
