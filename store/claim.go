package store

import "fmt"

// A claim is an entry of the engine, beside those of its spaces, that names the space whose leases a secret is for. So two
// spaces of one engine can't be bound to one secret, which would grant the same nodes twice.
func claimName(check CheckValue) string { return "_secrets/" + check.String() }

// checkClaim returns an error that wraps ErrWrongSecret if the claim names another space.
func (s *Space) checkClaim(claim Entry) error {
	if owner := string(claim.Value); claim.Value != nil && owner != s.settings.space {
		return fmt.Errorf("%w: space %q of the same store leases the nodes for it: use that one; if it is gone for good, create another space for the secret, but not as a new one", ErrWrongSecret, owner)
	}
	return nil
}

// expectClaim returns the claim that a Swap expects which binds the space: its own, or none.
func (s *Space) expectClaim(check CheckValue, own bool) Entry {
	claim := Entry{Name: claimName(check)}
	if own {
		claim.Value = []byte(s.settings.space)
	}
	return claim
}
