package lease

import (
	"bytes"
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"slices"
)

// A move has three steps. One that was stopped is called again, and goes on from there:
//
//  1. announce looks at both spaces, and puts a meta entry that only announces the new one: to all
//     but moves there is no space yet. announceCounters adds counters that wait.
//  2. retire retires the old space, for the space of that name. So only one can take its place.
//  3. makeSuccessor copies the counters, and then puts the new space's meta in place of the
//     announcement.
//
// If the data of the new space are lost, it is not made once more: the announcement is gone too, or
// has another lineage than the data.
//
// Until the third step, another space may be announced in place of the announced one, or created if
// it is for another secret. Then the announced one is never made. The new meta remembers its name, so
// that the old space, which may be retired for it, can be moved again.

// Retire ends a space: nothing is granted any more, neither leases nor numbers of counters. Leases
// that were granted stay in force. Only an older copy of the data would undo it.
func (s *Space) Retire(ctx context.Context) error {
	_, err := s.retire(ctx, &meta{}, "")
	return err
}

// Move retires a space, and makes the one that takes its place in engine, with the limits, the
// check value and the counters of the old one. Of config it takes the name, the clock and the trust,
// as that of the old space was in another store. With a reserve, leases begin as soon as after a loss
// of data. Move can be called again with the same arguments, wherever it stopped.
//
// It returns ErrExists if another space has the name, or a node for the same secret, and ErrRetired
// if the old one was retired for another space. Processes go on under the leases that they have:
// start them with the new space before those end.
func Move(ctx context.Context, old *Space, engine Engine, config Config) (*Space, error) {
	s, err := newSpace(engine, config)
	if err != nil {
		return nil, err
	}
	announced, err := s.announce(ctx, old, config.Trust)
	if err != nil {
		return nil, err
	}
	if err := s.announceCounters(ctx, old, announced); err != nil {
		return nil, err
	}
	last, err := old.retire(ctx, announced, s.String())
	if err != nil {
		return nil, err
	}
	if err := s.makeSuccessor(ctx, old, last, announced); err != nil {
		return nil, err
	}
	return s, nil
}

// announce returns the meta that announces the successor of the old space. It fails before anything
// is written if the move is not possible. It takes ten seconds at most.
func (s *Space) announce(ctx context.Context, old *Space, trust bool) (*meta, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := s.engine.Prepare(ctx); err != nil {
		return nil, s.storeError("prepare", err)
	}
	before, err := old.readExisting(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := s.read(ctx, leasesRecord)
	if err != nil {
		return nil, err
	}
	if seen.meta != nil {
		return s.existing(ctx, old, before.meta, seen.meta)
	}
	if _, err := before.takenNodes(old); err != nil {
		return nil, err
	}

	name := before.meta.Successor // "" if the old space is not retired for another one
	found := cmp.Or(seen.announced, &meta{})
	ours := found.Predecessor == before.meta.Name && (name == "" || name == found.Name)
	begun := ours && found.isOf(seen.Answer)
	switch {
	case begun && found.Trust == trust:
		return found, nil
	case !begun && name != "" && !slices.Contains(found.Replaced, name):
		return nil, old.retiredFor(before.meta)
	}
	if err := s.checkOverlap(ctx, before.meta); err != nil {
		return nil, err
	}
	return s.putAnnouncement(ctx, seen, before.meta, trust)
}

// checkOverlap returns an error if another living space in the engine has one of the old one's nodes.
func (s *Space) checkOverlap(ctx context.Context, old *meta) error {
	after := ""
	for old.Check != "" { // without, nobody knows whose nodes they are
		entries, err := s.engine.List(ctx, "", after, 1000)
		if err != nil {
			return s.storeError("list", err)
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			after = e.Name
			m, err := decodeMeta(e.Value) // of another entry this is an error
			isRival := err == nil && m.Check == old.Check && m.Name != old.Name && !m.Retired && !m.Announced
			if isRival && m.Overlaps(old.Limits) {
				return fmt.Errorf("%w: the space of %s there has nodes %d to %d of this secret: "+
					"take another store, or retire that space",
					ErrExists, e.Name, m.First, m.Last())
			}
		}
	}
	return nil
}

// existing returns the name of a space that is there already, in a meta that has nothing else, if it
// is the successor of the old one.
func (s *Space) existing(ctx context.Context, old *Space, before, is *meta) (*meta, error) {
	ours := is.Predecessor == before.Name && (before.Successor == "" || before.Successor == is.Name)
	switch {
	case ours && is.Retired:
		return nil, s.retiredFor(is)
	case ours: // without a lineage: if the space is gone soon, it is not made again
		return &meta{Name: is.Name}, nil
	case is.Name == before.Name: // perhaps by another address
		return nil, fmt.Errorf("%w: %s and %s are the same space, or one is a copy of the other: "+
			"take another name or store",
			ErrExists, old, s)
	case slices.Contains(is.Replaced, before.Successor):
		if err := old.forgetSuccessor(ctx, before); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s: it did not take the place of %s, which can be moved again: "+
			"take another name or store",
			ErrExists, s, old)
	}
	return nil, fmt.Errorf("%w: %s: it did not take the place of %s: take another name or store", ErrExists, s, old)
}

// forgetSuccessor forgets the successor of a retired space, which was never made.
func (s *Space) forgetSuccessor(ctx context.Context, before *meta) error {
	attempts := s.attempts(leasesRecord)
	for {
		seen, err := attempts.next(ctx)
		if err != nil {
			return err
		}
		unchanged := seen.meta != nil && seen.meta.Retired && seen.meta.Successor == before.Successor
		if !unchanged {
			return nil
		}
		m := *seen.meta
		m.Successor = ""
		m.MovedTo = ""
		if _, err := s.putMeta(ctx, seen, &m, nil); err != nil { // the next attempt sees that
			return err
		}
	}
}

// retiredFor is the error for a retired space, which another one may have replaced, or will.
func (s *Space) retiredFor(m *meta) error {
	if m.Successor == "" {
		return fmt.Errorf("%w: %s: no space took its place: move it to a store or a name where there is none",
			ErrRetired, s)
	}
	return fmt.Errorf("%w: %s: for %s: move it there, which goes on or says why it can't; "+
		"if the data there were lost, make a new space, not for new IDs, "+
		"with the limits that this one has, and set its counters",
		ErrRetired, s, m.MovedTo)
}

// useRetired is the error for who would use a retired space.
func (s *Space) useRetired(m *meta) error {
	if m.Successor == "" {
		return s.retiredFor(m)
	}
	return fmt.Errorf("%w: %s: use the space that took its place: %s", ErrRetired, s, m.MovedTo)
}

// putAnnouncement announces the successor of the old space, which gets a new name.
func (s *Space) putAnnouncement(ctx context.Context, seen *snapshot, before *meta, trust bool) (*meta, error) {
	if err := s.checkTrust(seen, trust); err != nil {
		return nil, err
	}
	if err := seen.clockError(before); err != nil {
		return nil, err
	}
	m := &meta{
		Announced:   true,
		Limits:      before.Limits,
		Check:       before.Check,
		Name:        cryptorand.Text(),
		Lineage:     seen.Lineage,
		Incarnation: seen.Incarnation,
		Trust:       trust,
		Predecessor: before.Name,
		Replaced:    seen.replacedNames(),
	}
	value, err := m.encode()
	if err != nil {
		return nil, err
	}
	after, err := s.swap(ctx, seen, Entry{metaEntry, value})
	if err != nil {
		return nil, err
	}
	if !after.Swapped {
		return nil, fmt.Errorf("%w: %s: another process was faster: try again", ErrExists, s)
	}
	return m, nil
}

// isMoving reports whether a move that was stopped can still make the announced space.
func (seen *snapshot) isMoving() bool {
	return seen.announced != nil && seen.announced.isOf(seen.Answer)
}

// replacedNames returns the names of the spaces that were announced here, and that never are made
// if another meta is put by this snapshot.
func (seen *snapshot) replacedNames() []string {
	was := seen.announced
	switch {
	case was == nil:
		return nil
	case !was.isOf(seen.Answer): // it may have been made, and its data lost
		return was.Replaced
	}
	return append(was.Replaced, was.Name)
}

// retire puts the mark of a retired space, and returns a snapshot in which the mark is there. The
// space that takes its place is at movedTo; its name and movedTo are empty if none does.
func (s *Space) retire(ctx context.Context, successor *meta, movedTo string) (*snapshot, error) {
	attempts := s.attempts(leasesRecord)
	for {
		seen, err := attempts.next(ctx)
		if err != nil {
			return nil, err
		}
		if seen.meta == nil {
			return nil, fmt.Errorf("%w: %s", ErrNoSpace, s)
		}
		m := *seen.meta
		loss := seen.loss()
		switch {
		case loss != "":
			err = s.noteLoss(ctx, seen, loss)
		case m.Retired && (successor.Name == "" || successor.Name == m.Successor):
			s.rememberRetired(seen.meta)
			return seen, nil
		case m.Successor != "" && !slices.Contains(successor.Replaced, m.Successor):
			return nil, s.retiredFor(&m)
		default:
			m.Retired = true
			m.Successor = successor.Name
			m.MovedTo = movedTo
			err = s.putRetired(ctx, seen, &m) // the next attempt sees that
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *Space) putRetired(ctx context.Context, seen *snapshot, m *meta) error {
	if err := seen.unfit(m); err != nil {
		return err
	}
	_, err := s.putMeta(ctx, seen, m, nil)
	return err
}

// makeSuccessor makes the announced space, unless it is there. last is of the retired one. Meta comes
// last, because nobody can use the space until then. The space is not made if its data were lost after
// the announcement was found: perhaps it was there already, and used.
func (s *Space) makeSuccessor(ctx context.Context, old *Space, last *snapshot, announced *meta) error {
	seen, err := s.read(ctx, leasesRecord)
	if err != nil {
		return err
	}
	if seen.meta != nil {
		if seen.meta.Name != announced.Name {
			return fmt.Errorf("%w: %s: another process has just made it: try again", ErrExists, s)
		}
		s.known.meta = seen.meta // without the lock, as nobody else has s yet
		return nil
	}
	found := cmp.Or(seen.announced, &meta{})
	if found.Name != announced.Name || !announced.isOf(seen.Answer) {
		return fmt.Errorf("%w: %s: data was lost meanwhile, or another move has begun: try again", ErrUnknown, s)
	}

	m := seen.successorMeta(last.meta, old)
	if err := seen.unfit(m); err != nil {
		return err
	}
	nodes, err := last.takenNodes(old)
	if err != nil {
		return err
	}
	if m.Reserve > 0 {
		seen.openReserve(m, nodes)
	}
	if err := s.copyCounters(ctx, old, seen); err != nil {
		return err
	}
	done, err := s.putMeta(ctx, seen, m, nodes.Encode())
	if err != nil {
		return err
	}
	if !done {
		return fmt.Errorf("%w: %s: another process was faster, or its data was lost meanwhile: try again", ErrExists, s)
	}
	return nil
}

// successorMeta returns the meta of the announced space that takes the place of a retired one. What is
// not set here stays, such as the limits, the check value and Begin.
func (seen *snapshot) successorMeta(retired *meta, old *Space) *meta {
	m := *retired
	m.Name = retired.Successor
	m.ID = retired.Successor // the same in each attempt, for the counters
	m.Predecessor = retired.Name
	m.Losses++ // for a program whose name of the old store leads here now, it is a loss that was noted
	m.Retired = false
	m.Successor = ""
	m.MovedTo = ""
	m.Lineage = seen.Lineage
	m.Incarnation = seen.Incarnation
	m.Trust = seen.announced.Trust
	m.Replaced = seen.announced.Replaced
	m.Why = "moved from " + old.String()
	m.Floor = max(m.Floor, seen.newFloor(&m))
	return &m
}

// announceCounters puts the counters of the old space into the announced one, as counters that wait. So
// if one can't be read, or the store has no room for them, that shows before the old space is retired.
func (s *Space) announceCounters(ctx context.Context, old *Space, announced *meta) error {
	seen, err := s.read(ctx, leasesRecord)
	if err != nil {
		return err
	}
	isThere := seen.announced != nil && seen.announced.Name == announced.Name
	if !isThere { // the space was made, or the third step says what came in its place
		return nil
	}
	return old.eachCounter(ctx, func(c Counter) error {
		value, err := c.encode() // with an ID of the old space, so it waits
		if err != nil {
			return err
		}
		absent := &snapshot{record: counterRecord(c.Name), rawMeta: seen.rawMeta}
		_, err = s.swap(ctx, absent, Entry{absent.name, value})
		return err
	})
}

// copyCounters puts the counters of a retired space into the announced one, as long as it is that.
func (s *Space) copyCounters(ctx context.Context, old *Space, seen *snapshot) error {
	return old.eachCounter(ctx, func(c Counter) error {
		if err := s.copyCounter(ctx, old, c, seen); err != nil {
			return fmt.Errorf("counter %s: %w", c.Name, err)
		}
		return nil
	})
}

// copyCounter puts a counter of a retired space into the announced one, in place of what an earlier
// attempt has put: since then the old space may have lost its mark, and given numbers. If another
// process has just made this space, copyCounter changes nothing, and makeSuccessor finds that out.
func (s *Space) copyCounter(ctx context.Context, old *Space, c Counter, seen *snapshot) error {
	waiting, err := c.encode() // is there unless the counter was changed since announceCounters
	if err != nil {
		return err
	}
	there := &snapshot{record: counterRecord(c.Name), rawMeta: seen.rawMeta, value: waiting}
	for {
		value, err := old.retiredCounter(ctx, c.Name, seen.announced.Name)
		if err != nil {
			return err
		}
		there, err = s.swap(ctx, there, Entry{there.name, value})
		if err != nil {
			return err
		}
		if err := there.doubtError(seen.announced.Trust); err != nil {
			return err
		}
		if there.Swapped || there.meta != nil {
			return nil
		}
		if !bytes.Equal(there.rawMeta, seen.rawMeta) {
			return fmt.Errorf("%w: %s: another move has begun: try again", ErrUnknown, s)
		}
	}
}

// retiredCounter returns the value of a counter for the space that has that ID. It reads the
// counter together with the mark, as a counter of a retired space does not grow. If the counter
// waits for a person after a loss of data, it waits in the other space too.
func (s *Space) retiredCounter(ctx context.Context, name, id string) ([]byte, error) {
	seen, err := s.read(ctx, counterRecord(name))
	if err != nil {
		return nil, err
	}
	if loss := seen.loss(); loss != "" || seen.meta.Successor != id {
		return nil, fmt.Errorf("%w: %s: data was lost meanwhile %s: try again", ErrUnknown, s, loss)
	}
	c, err := decodeCounter(name, seen.value, seen.meta.ID)
	if err != nil {
		return nil, err
	}
	c.ID = id
	if c.Lost {
		c.ID = ""
	}
	return c.encode()
}
