package lease

import (
	"context"
	"fmt"
	"slices"
)

// A retirement says that a space is retired, and for which one. The zero retirement is that of a space in use.
type retirement struct {
	Retired   bool   `json:"retired,omitempty"`   // nothing is granted any more
	Successor string `json:"successor,omitempty"` // the UID of the space that takes its place, or ""
	MovedTo   string `json:"movedTo,omitempty"`   // where that is, for people
}

// Retire ends a space: nothing is granted any more, neither leases nor numbers of counters. Leases
// that were granted stay in force. Only an older copy of the data would undo it.
func (s *Space) Retire(ctx context.Context) error {
	_, err := s.retire(ctx, retirement{Retired: true}, nil)
	return err
}

// retire puts a retirement, and returns a snapshot in which it is there. A retirement for a successor stays, unless
// that is one of those abandoned, which are never made.
func (s *Space) retire(ctx context.Context, as retirement, abandoned []string) (retired *snapshot, err error) {
	err = s.untilDone(ctx, func(seen *snapshot) (done bool, err error) {
		if seen.meta == nil {
			return false, fmt.Errorf("%w: %s", ErrNoSpace, s)
		}
		loss := seen.loss()
		found := seen.meta.retirement
		isForAbandoned := slices.Contains(abandoned, found.Successor)
		getsSuccessor := as.Successor != "" && found.Successor == ""
		isForAnother := as.Successor != "" && found.Successor != as.Successor
		switch {
		case loss != "":
			return false, s.noteLoss(ctx, seen, loss)
		case !found.Retired, isForAbandoned, getsSuccessor:
			return false, s.putRetirement(ctx, seen, as)
		case isForAnother:
			return false, s.moveError(seen.meta)
		}
		s.rememberRetired(found)
		retired = seen
		return true, nil
	})
	return retired, err
}

// putRetirement puts a retirement, unless another process is faster: the next attempt sees what is there.
func (s *Space) putRetirement(ctx context.Context, seen *snapshot, as retirement) error {
	m := *seen.meta
	m.retirement = as
	if err := seen.unfit(&m); err != nil {
		return err
	}
	_, err := s.putMeta(ctx, seen, &m, nil)
	return err
}

// retiredError is the error for one who would use a retired space.
func (s *Space) retiredError(m *meta) error {
	if m.Successor == "" {
		return s.moveError(m)
	}
	return fmt.Errorf("%w: %s: use the space that took its place: %s", ErrRetired, s, m.MovedTo)
}

// moveError is the error for one who would move a retired space to a place where it can't go.
func (s *Space) moveError(m *meta) error {
	if m.Successor == "" {
		return fmt.Errorf("%w: %s: no space took its place: move it to a store or a name where there is none", ErrRetired, s)
	}
	return fmt.Errorf("%w: %s: for %s: move it there, which goes on or says why it can't; "+
		"if the data there were lost, "+
		"make a new space, not for new IDs, with the limits that this one has, and set its counters",
		ErrRetired, s, m.MovedTo)
}
