package lease

import (
	"context"
	"fmt"
)

// SetTrust says whether the space trusts other incarnations of its data. One that does not takes
// each for a loss of data. By trust you promise that none forgets what was acknowledged before: a
// promoted standby of PostgreSQL, a Redis that starts again. See the package of the engine. While the
// engine has a doubt of that, each call that would change the space returns ErrUnsafe.
//
// A change of trust is noted as a loss, for which processes may pause: see [Limits.LossPause]. After
// trust was taken back, keep the promise until each replica has that change. An older copy of
// the data may have the trust of then. A retired space stays retired.
//
// It returns ErrInvalid if the engine has no incarnations. What one is depends on the engine alone, so
// trust is yes or no; the command's words say what is promised.
func (s *Space) SetTrust(ctx context.Context, trust bool) error {
	return s.untilDone(ctx, func(seen *snapshot) (done bool, err error) {
		switch {
		case seen.meta == nil:
			return false, fmt.Errorf("%w: %s", ErrNoSpace, s)
		case seen.isNew(): // by another mark nobody would know that
			return false, s.noteLoss(ctx, seen, seen.loss())
		case seen.meta.Trust != trust:
			return false, s.markTrust(ctx, seen, trust) // the next attempt sees that as a loss
		case seen.loss() != "":
			return false, s.noteLoss(ctx, seen, seen.loss())
		}
		return true, nil
	})
}

// markTrust changes the trust, in the swap that marks the space as one where a loss is to be noted. So nothing that
// was decided under the other trust takes effect afterwards, and a loss that nobody has seen yet is not forgotten.
func (s *Space) markTrust(ctx context.Context, seen *snapshot, trust bool) error {
	if err := s.checkTrust(seen, trust); err != nil {
		return err
	}
	m := seen.restoredMeta()
	m.Lineage = trustMark
	m.Trust = trust
	m.Why = "its trust was taken back"
	if trust {
		m.Why = "its trust was given"
	}
	_, err := s.putMark(ctx, seen, m)
	return err
}

// checkTrust returns why the space can't have that trust, or nil.
func (s *Space) checkTrust(seen *snapshot, trust bool) error {
	if trust && seen.Incarnation == "" {
		return fmt.Errorf("%w: %s: its data have no incarnations to trust: leave trust out", ErrInvalid, s)
	}
	return seen.doubtError(trust)
}

// doubtError returns an error that wraps ErrUnsafe if incarnations are trusted, and the engine has a doubt of that.
func (seen *snapshot) doubtError(trust bool) error {
	if !trust || seen.Doubt == "" {
		return nil
	}
	return fmt.Errorf("%w: the space trusts incarnations, and %s", ErrUnsafe, seen.Doubt)
}
