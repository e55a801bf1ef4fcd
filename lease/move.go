package lease

import (
	"context"
	"fmt"
	"slices"
)

// A move has three steps. One that was stopped is called again, and goes on from there:
//
//  1. announce.go puts a meta entry that only announces the new space: to all but moves there is no space
//     yet. movecounters.go adds the counters, which wait.
//  2. retire.go retires the old space, for the UID of the new one. So only one can take its place.
//  3. makeNew copies the counters again, and then puts the new space's meta in place of the announcement.
//
// If the data of the new space are lost, it is not made once more: the announcement is gone too, or has another
// lineage than the data.
//
// Until the third step, another space may be announced in place of the announced one, or created if it is for
// another secret. Then the announced one is abandoned: it is never made. The meta that came in its place keeps its
// UID in Abandoned. So an old space that was retired for it can be moved again. Counters that were put for the
// abandoned one stay, and wait for a person, as those do that a loss of data left behind.

// A move is one call of Move.
type move struct {
	from, to *Space // from is the old space, and to the new one
	trust    bool   // of the new space
}

// Move retires a space, and makes the one that takes its place in engine, with the limits, the
// check value and the counters of the old one. Of config it takes the name, the clock, and the trust:
// the old space's was about another store. With a reserve, leases begin as soon as after a loss
// of data. Move can be called again with the same arguments, wherever it stopped.
//
// It returns ErrExists if another space has the name, or a node for the same secret, and ErrRetired
// if the old one was retired for another space. Processes go on under the leases that they have:
// start them with the new space before those end.
func Move(ctx context.Context, old *Space, engine Engine, config Config) (*Space, error) {
	to, err := newSpace(engine, config)
	if err != nil {
		return nil, err
	}
	if err := old.checkMade(config); err != nil {
		return nil, err
	}
	mv := &move{from: old, to: to, trust: config.Trust}
	if err := mv.run(ctx); err != nil {
		return nil, err
	}
	return to, nil
}

func (mv *move) run(ctx context.Context) error {
	oldSeen, newSeen, err := mv.look(ctx)
	if err != nil {
		return err
	}
	if newSeen.meta != nil {
		return mv.finish(ctx, oldSeen.meta, newSeen.meta)
	}
	announced, err := mv.announce(ctx, oldSeen, newSeen) // step 1
	if err != nil {
		return err
	}
	if err := mv.announceCounters(ctx, announced.UID); err != nil {
		return err
	}
	retired, err := mv.from.retire(ctx, mv.retirement(announced.UID), announced.Abandoned) // step 2
	if err != nil {
		return err
	}
	return mv.makeNew(ctx, retired, announced) // step 3
}

// retirement returns that of the old space. uid is the new one's.
func (mv *move) retirement(uid string) retirement {
	return retirement{Retired: true, Successor: uid, MovedTo: mv.to.String()}
}

// look reads the leases of the old space, and what is at the new place. It takes ten seconds at most.
func (mv *move) look(ctx context.Context) (oldSeen, newSeen *snapshot, err error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := mv.to.engine.Prepare(ctx); err != nil {
		return nil, nil, mv.to.storeError("prepare", err)
	}
	oldSeen, err = mv.from.readExisting(ctx) // before the new place, as another process may be moving it too
	if err != nil {
		return nil, nil, err
	}
	newSeen, err = mv.to.read(ctx, leasesRecord)
	return oldSeen, newSeen, err
}

// finish ends a move that finds a space at the new place. If an earlier call has made it, finish retires
// the old space once more, as a loss of data there may have undone that.
func (mv *move) finish(ctx context.Context, oldMeta, newMeta *meta) error {
	switch {
	case !newMeta.succeeds(oldMeta):
		return mv.refuseOther(ctx, oldMeta, newMeta)
	case newMeta.Retired:
		return mv.to.moveError(newMeta)
	}
	if _, err := mv.from.retire(ctx, mv.retirement(newMeta.UID), nil); err != nil {
		return err
	}
	seen, err := mv.to.read(ctx, leasesRecord)
	if err != nil {
		return err
	}
	if seen.meta == nil || seen.meta.UID != newMeta.UID {
		return fmt.Errorf("%w: %s: its data was lost meanwhile", ErrOutcomeUnknown, mv.to)
	}
	mv.to.startFrom(seen.meta)
	return nil
}

// succeeds reports whether a space, made or announced, takes the place of the old one.
func (m *meta) succeeds(old *meta) bool {
	return m.Predecessor == old.UID && (old.Successor == "" || old.Successor == m.UID)
}

// refuseOther returns the error of a move that finds another space at the new place.
func (mv *move) refuseOther(ctx context.Context, oldMeta, otherMeta *meta) error {
	if otherMeta.UID == oldMeta.UID { // perhaps by another address
		return fmt.Errorf("%w: %s and %s are the same space, or one is a copy of the other: take another name or store",
			ErrExists, mv.from, mv.to)
	}
	err := fmt.Errorf("%w: %s: it did not take the place of %s", ErrExists, mv.to, mv.from)
	if slices.Contains(otherMeta.Abandoned, oldMeta.Successor) {
		if err := mv.retireForNone(ctx, otherMeta.Abandoned); err != nil {
			return err
		}
		err = fmt.Errorf("%w, which can be moved again", err)
	}
	return fmt.Errorf("%w: take another name or store", err)
}

// retireForNone retires the old space once more, so that it can move elsewhere: what it was retired for was abandoned.
func (mv *move) retireForNone(ctx context.Context, abandoned []string) error {
	_, err := mv.from.retire(ctx, retirement{Retired: true}, abandoned)
	return err
}

// makeNew makes the announced space, unless another call has made it. The space is not made if its data
// were lost after the announcement was found: perhaps it was there already, and used.
func (mv *move) makeNew(ctx context.Context, retired *snapshot, announced *meta) error {
	seen, err := mv.to.read(ctx, leasesRecord)
	if err != nil {
		return err
	}
	switch {
	case seen.meta != nil && seen.meta.UID != announced.UID:
		return fmt.Errorf("%w: %s: another space was made there: try again", errBusy, mv.to)
	case seen.meta != nil:
		mv.to.startFrom(seen.meta)
		return nil
	case !seen.announces(announced.UID):
		return fmt.Errorf("%w: %s: data was lost meanwhile, or another move has begun: try again", ErrOutcomeUnknown, mv.to)
	}
	return mv.makeFrom(ctx, seen, retired)
}

// makeFrom puts the counters of the retired space, and then its leases and the new meta, in place of the
// announcement that seen shows. Meta comes last, because nobody can use the space until then.
func (mv *move) makeFrom(ctx context.Context, seen, retired *snapshot) error {
	m := mv.successorMeta(retired.meta, seen)
	if err := seen.unfit(m); err != nil {
		return err
	}
	nodes, err := retired.takenNodes(mv.from)
	if err != nil {
		return err
	}
	if m.Reserve > 0 {
		m.chooseSlice(seen.later(), nodes)
	}
	if err := mv.copyCounters(ctx, seen); err != nil {
		return err
	}
	done, err := mv.to.putMeta(ctx, seen, m, nodes.Encode())
	if err == nil && !done {
		err = fmt.Errorf("%w, or its data was lost meanwhile: %s: try again", errBusy, mv.to)
	}
	return err
}

// successorMeta returns the meta of the announced space, which takes the place of the retired one. What
// is not set here stays, such as the limits, the check value and Begin.
func (mv *move) successorMeta(retired *meta, seen *snapshot) *meta {
	m := *retired
	m.UID = retired.Successor
	m.Term = m.UID // the same in each attempt, as counters are copied before
	m.Predecessor = retired.UID
	m.FloorsSet++ // a program that still uses the old address, if that leads here now, must see a noted loss
	m.retirement = retirement{}
	m.Lineage = seen.Lineage
	m.Incarnation = seen.Incarnation
	m.Trust = seen.announced.Trust
	m.Abandoned = seen.announced.Abandoned
	m.madeFrom = slices.Concat(retired.madeFrom, seen.announced.madeFrom)
	m.Why = "moved from " + mv.from.String()
	m.Floor = max(m.Floor, m.newFloor(seen.later()))
	return &m
}
