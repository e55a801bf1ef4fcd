package lease

import (
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"slices"
)

// An announcement is a meta entry of a space that is not there yet: a move is to make it. It has what
// the move must find again when it was stopped, and no term, so nothing can be granted by it.

// announce returns the announcement of the new space, which an earlier call may have put. It fails
// before anything is written if the move is not possible.
func (mv *move) announce(ctx context.Context, old, there *snapshot) (*meta, error) {
	if _, err := old.takenNodes(mv.old); err != nil { // or the move could not end
		return nil, err
	}
	found := there.announced
	if there.isMoving() && found.succeeds(old.meta) && found.Trust == mv.trust {
		return found, nil
	}
	successor := old.meta.Successor // "" unless the old space is retired for another one
	if successor != "" && !slices.Contains(there.abandoned(), successor) {
		return nil, mv.old.moveError(old.meta)
	}
	if err := mv.checkOverlap(ctx, old.meta); err != nil {
		return nil, err
	}
	return mv.putAnnouncement(ctx, old.meta, there)
}

// checkOverlap returns an error if another living space in the new store has one of the old one's
// nodes.
func (mv *move) checkOverlap(ctx context.Context, old *meta) error {
	if old.Check == "" { // it is not known whose nodes they are
		return nil
	}
	after := ""
	for {
		entries, err := mv.to.engine.List(ctx, "", after, 1000)
		if err != nil {
			return mv.to.storeError("list", err)
		}
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			after = e.Name
			m, err := decodeMeta(e.Value) // an error for all entries but metas
			if err == nil && m.isRival(old) {
				return fmt.Errorf("%w: the space of %s there has nodes %d to %d of this secret: "+
					"take another store, or retire that space", ErrExists, e.Name, m.First, m.Last())
			}
		}
	}
}

// isRival reports whether another space is in use with a node of the old one, for the same secret.
func (m *meta) isRival(old *meta) bool {
	inUse := !m.Retired && !m.Announced
	return inUse && m.UID != old.UID && m.Check == old.Check && m.Overlaps(old.Limits)
}

// putAnnouncement announces the new space, with a UID of its own.
func (mv *move) putAnnouncement(ctx context.Context, old *meta, there *snapshot) (*meta, error) {
	if err := mv.to.checkTrust(there, mv.trust); err != nil {
		return nil, err
	}
	if err := there.clockError(old); err != nil {
		return nil, err
	}
	m := &meta{
		Announced:   true,
		Limits:      old.Limits,
		Check:       old.Check,
		UID:         cryptorand.Text(),
		Lineage:     there.Lineage,
		Incarnation: there.Incarnation,
		Trust:       mv.trust,
		Predecessor: old.UID,
		Abandoned:   there.abandoned(),
	}
	after, err := mv.to.swapMeta(ctx, there, m, nil)
	if err != nil {
		return nil, err
	}
	if !after.Swapped {
		return nil, fmt.Errorf("%w: %s: another process was faster: try again", ErrExists, mv.to)
	}
	return m, nil
}

// isMoving reports whether a move that was stopped can still make the announced space.
func (seen *snapshot) isMoving() bool {
	return seen.announced != nil && seen.announced.isOf(seen.Answer)
}

// announces reports whether a move can still make the space of that UID.
func (seen *snapshot) announces(uid string) bool {
	return seen.isMoving() && seen.announced.UID == uid
}

// abandoned returns the UIDs of the spaces that were announced here, and are never made if another
// meta is put by this snapshot.
func (seen *snapshot) abandoned() []string {
	was := seen.announced
	switch {
	case was == nil:
		return nil
	case !was.isOf(seen.Answer): // it may have been made, and its data lost
		return was.Abandoned
	}
	return append(was.Abandoned, was.UID)
}
