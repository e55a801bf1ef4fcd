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
func (mv *move) announce(ctx context.Context, before, seen *snapshot) (*meta, error) {
	if _, err := before.takenNodes(mv.old); err != nil { // or the move could not end
		return nil, err
	}
	begun := seen.isMoving() && seen.announced.succeeds(before.meta)
	if begun && seen.announced.Trust == mv.trust {
		return seen.announced, nil
	}
	successor := before.meta.Successor // "" unless the old space is retired for another one
	if successor != "" && !slices.Contains(seen.abandoned(), successor) {
		return nil, mv.old.moveError(before.meta)
	}
	if err := mv.checkOverlap(ctx, before.meta); err != nil {
		return nil, err
	}
	return mv.putAnnouncement(ctx, before.meta, seen)
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
			isRival := err == nil && m.Check == old.Check && m.UID != old.UID && !m.Retired && !m.Announced
			if isRival && m.Overlaps(old.Limits) {
				return fmt.Errorf("%w: the space of %s there has nodes %d to %d of this secret: "+
					"take another store, or retire that space", ErrExists, e.Name, m.First, m.Last())
			}
		}
	}
}

// putAnnouncement announces the new space, with a UID of its own.
func (mv *move) putAnnouncement(ctx context.Context, old *meta, seen *snapshot) (*meta, error) {
	if err := mv.to.checkTrust(seen, mv.trust); err != nil {
		return nil, err
	}
	if err := seen.clockError(old); err != nil {
		return nil, err
	}
	m := &meta{
		Announced:   true,
		Limits:      old.Limits,
		Check:       old.Check,
		UID:         cryptorand.Text(),
		Lineage:     seen.Lineage,
		Incarnation: seen.Incarnation,
		Trust:       mv.trust,
		Predecessor: old.UID,
		Abandoned:   seen.abandoned(),
	}
	value, err := m.encode()
	if err != nil {
		return nil, err
	}
	after, err := mv.to.swap(ctx, seen, Entry{metaEntry, value})
	if err != nil {
		return nil, err
	}
	if !after.Swapped {
		return nil, fmt.Errorf("%w: %s: another process was faster: try again", ErrExists, mv.to)
	}
	return m, nil
}

// announces reports whether the space of that UID is announced.
func (seen *snapshot) announces(uid string) bool {
	return seen.announced != nil && seen.announced.UID == uid
}

// isMoving reports whether a move that was stopped can still make the announced space.
func (seen *snapshot) isMoving() bool {
	return seen.announced != nil && seen.announced.isOf(seen.Answer)
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
