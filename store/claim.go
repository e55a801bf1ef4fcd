package store

import (
	"context"
	"fmt"
)

// A claim is an entry of the engine, beside those of its spaces, that names the space whose leases a secret is for. So two
// spaces of one engine can't be bound to one secret, which would grant the same nodes twice.
func claimName(check CheckValue) string { return "_secrets/" + check.String() }

// claim is what binds the space.
func (s *Space) claim(check CheckValue) Entry {
	return Entry{claimName(check), []byte(s.settings.space)}
}

// checkClaim returns an error that wraps ErrWrongSecret if the claim names another space.
func (s *Space) checkClaim(claim Entry) error {
	if owner := string(claim.Value); claim.Value != nil && owner != s.settings.space {
		return fmt.Errorf("%w: space %q of the same store leases the nodes for it: use that one; if it is gone for good, create another space for the secret, but not as a new one", ErrWrongSecret, owner)
	}
	return nil
}

// gone reports whether the space that a claim names is lost or damaged, so that nothing is granted there.
func (s *Space) gone(ctx context.Context, claim Entry) (bool, error) {
	answer, err := s.engine.Read(ctx, []string{string(claim.Value) + "/" + metaName}, Page{})
	if err != nil {
		return false, err
	}
	_, broken := decodeMeta(answer.Named[0].Value)
	return broken != nil, nil
}
