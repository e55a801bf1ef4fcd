package store

import (
	"context"
	"errors"
	"fmt"
)

// A claim is an entry of the engine, beside those of its spaces, that names the space whose leases a key is for. So two
// spaces of one engine can't be bound to one key, which would grant the same nodes twice.
func claimName(check CheckValue) string { return "_secrets/" + check.String() }

// claims is what binds the space to keys.
func (s *Space) claims(keys Keys) (claims []Entry) {
	for _, key := range keys {
		claims = append(claims, Entry{claimName(key.Check), []byte(s.settings.space)})
	}
	return claims
}

// names returns the names of entries.
func names(entries []Entry) (names []string) {
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	return names
}

// checkClaims returns an error that wraps ErrWrongSecret, and the claim, if one names another space.
func (s *Space) checkClaims(claims []Entry) (claim Entry, err error) {
	for _, claim := range claims {
		if owner := string(claim.Value); claim.Value != nil && owner != s.settings.space {
			return claim, fmt.Errorf("%w: space %q of the same store leases the nodes for it: use that one; if it is gone for good, create another space for the secret, but not as a new one", ErrWrongSecret, owner)
		}
	}
	return Entry{}, nil
}

// gone reports whether the space that a claim names is lost or damaged, so that nothing is granted there.
func (s *Space) gone(ctx context.Context, claim Entry) (bool, error) {
	answer, err := s.engine.Read(ctx, []string{string(claim.Value) + "/" + metaName}, Page{})
	if err != nil {
		return false, err
	}
	_, broken := decodeMeta(answer.Named[0].Value)
	return broken != nil && !errors.Is(broken, ErrFormat), nil
}
