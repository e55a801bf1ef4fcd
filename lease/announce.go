package lease

import (
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"slices"
)

// An announcement is a meta entry of a space that is not there yet: a move is to make it. It has what the move must
// find again when it was stopped, and no term, so nothing can be granted by it. move.go says when the announced space
// is abandoned.

// announce returns the announcement of the new space: that of an earlier call, or else one that it puts. It fails
// before anything is written if the move is not possible.
func (mv *move) announce(ctx context.Context, oldSeen, newSeen *snapshot) (*meta, error) {
	oldMeta := oldSeen.meta
	if _, err := oldSeen.takenNodes(mv.from); err != nil { // who can't read them can't end the move
		return nil, err
	}
	found := newSeen.announced
	if newSeen.isMoving() && found.succeeds(oldMeta) && found.Trust == mv.trust {
		return found, nil
	}
	isRetiredForAnother := oldMeta.Successor != "" && !slices.Contains(newSeen.abandoned(), oldMeta.Successor)
	if isRetiredForAnother {
		return nil, mv.from.moveError(oldMeta)
	}
	if err := mv.checkOverlap(ctx, oldMeta); err != nil {
		return nil, err
	}
	return mv.putAnnouncement(ctx, oldMeta, newSeen)
}

// checkOverlap returns an error if another space in the new store is in use with one of the old one's nodes.
func (mv *move) checkOverlap(ctx context.Context, oldMeta *meta) error {
	if oldMeta.Check == "" { // it is not known whose nodes they are
		return nil
	}
	return mv.to.eachEntry(ctx, "", func(e Entry) error {
		m, err := decodeMeta(e.Value) // an error unless the entry is meta
		if err == nil && m.isRival(oldMeta) {
			return fmt.Errorf("%w: the space of %s there has nodes %d to %d of this secret: "+
				"take another store, or retire that space", ErrExists, e.Name, m.FirstNode, m.LastNode())
		}
		return nil
	})
}

// isRival reports whether another space is in use with a node of the old one, for the same secret.
func (m *meta) isRival(old *meta) bool {
	inUse := !m.Retired && !m.Announced
	return inUse && m.UID != old.UID && m.Check == old.Check && m.Overlaps(old.Limits)
}

// putAnnouncement announces the new space, with a UID of its own.
func (mv *move) putAnnouncement(ctx context.Context, oldMeta *meta, newSeen *snapshot) (*meta, error) {
	if err := mv.to.checkTrust(newSeen, mv.trust); err != nil {
		return nil, err
	}
	if err := newSeen.clockError(oldMeta); err != nil {
		return nil, err
	}
	m := &meta{
		Announced:   true,
		Limits:      oldMeta.Limits,
		Check:       oldMeta.Check,
		UID:         cryptorand.Text(),
		Lineage:     newSeen.Lineage,
		Incarnation: newSeen.Incarnation,
		Trust:       mv.trust,
		Predecessor: oldMeta.UID,
		Abandoned:   newSeen.abandoned(),
	}
	after, err := mv.to.swapMeta(ctx, newSeen, m, nil)
	if err != nil {
		return nil, err
	}
	if !after.Swapped {
		return nil, fmt.Errorf("%w: %s: try again", errBusy, mv.to)
	}
	return m, nil
}

// isMoving reports whether a move that was stopped can still make the announced space.
func (seen *snapshot) isMoving() bool {
	return seen.announced != nil && seen.announced.matches(seen.Answer)
}

// announces reports whether a move can still make the space of that UID.
func (seen *snapshot) announces(uid string) bool {
	return seen.isMoving() && seen.announced.UID == uid
}

// abandoned returns what is to be Abandoned in a meta that takes the place of the announcement here.
func (seen *snapshot) abandoned() []string {
	was := seen.announced
	switch {
	case was == nil:
		return nil
	case !was.matches(seen.Answer): // it may have been made, and its data lost
		return was.Abandoned
	}
	return slices.Concat(was.Abandoned, []string{was.UID})
}
