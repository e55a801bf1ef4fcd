package lease

import (
	"context"
	"fmt"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/store"
)

// Rotate adds the further keys of a secret, made with randflake.Secret.Then, to the space of its leases. Call it when
// every process that makes IDs has the secret with its new key, at least MaxTTL + MaxSkew before that key begins. From
// then on a holder that lacks the key gets leases that end before it begins, and later store.ErrWrongSecret: it can't
// make an ID that a holder of the new key makes too.
//
// A Rotate that is repeated does nothing. If the next key begins before the end of a lease that was granted, or within
// MaxTTL + MaxSkew, the error wraps store.ErrInvalidOption; if the space has other keys, store.ErrWrongSecret. A key that
// was added can't be taken back.
func Rotate(ctx context.Context, space *store.Space, secret randflake.Secret) error {
	if secret.IsZero() {
		return fmt.Errorf("lease: rotate: %w: it is not set", randflake.ErrInvalidSecret)
	}
	l, keys := &leases{space: space}, store.KeysOf(secret)
	v, err := space.Read(ctx, nil, store.Page{})
	if err != nil {
		return fmt.Errorf("lease: rotate: %w", err)
	}
	if next := max(len(v.Meta.Check), 1); next < len(keys) {
		found, err := l.scan(ctx, v, 0, allNodes)
		if err != nil {
			return fmt.Errorf("lease: rotate: %w", err)
		}
		for _, s := range found {
			if s.HighWater >= keys[next].From { // of a clock that was fast
				if s.State(v.Now, v.Meta.Limits()) == Poisoned {
					return fmt.Errorf("lease: rotate: %w: %s: a clock that was ahead leased nodes %d to %d up to %s: if it is right now, forgive it with randflake lease forgive-clock, and try again", store.ErrInvalidOption, space,
						s.FirstNode, s.LastNode, stamp(s.HighWater))
				}
				return fmt.Errorf("lease: rotate: %w: %s: the next key begins at %s, and nodes %d to %d are leased up to %s: let it begin later", store.ErrInvalidOption, space,
					stamp(keys[next].From), s.FirstNode, s.LastNode, stamp(s.HighWater))
			}
		}
	}
	if err := space.AddKeys(ctx, keys); err != nil {
		return fmt.Errorf("lease: rotate: %w", err)
	}
	return nil
}
