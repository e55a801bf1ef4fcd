package lease

import (
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A move has three steps. One that was stopped is called again, and goes on from there:
//
//  1. announce looks at both spaces, and puts a tie into the new store: an entry with the name that
//     the new space is to have.
//  2. retire retires the old space, for the space of that name. So only one can take its place.
//  3. makeSuccessor copies the counters, and then puts the meta entry, which makes the new space. It
//     expects the tie.
//
// If the data of the new space are lost, it is not made once more: the tie is gone too, or has
// another lineage than the data.
//
// A move that stopped before the third step may be replaced by one of another old space, or with
// another trust: its tie goes, by a swap, so its space is never made. The new tie remembers that, so
// that the old space, which may be retired, can be moved again.
type tie struct {
	Name        string   `json:"name"`                  // of the new space
	Lineage     string   `json:"lineage"`               // of the new space's data
	Incarnation string   `json:"incarnation,omitempty"` // of the same
	Trust       bool     `json:"trust,omitempty"`       // of the new space
	Old         string   `json:"old"`                   // the name of the old space
	From        string   `json:"from"`                  // where the old space is, for people
	Replaced    []string `json:"replaced,omitempty"`    // names of spaces that were to be here, and never were
}

// mostReplaced keeps a tie within MaxValue.
const mostReplaced = 1000

// moving is the record of a tie. Only a move changes it, so it needs no wentBack.
var moving = record{name: "move"}

// Retire ends a space: nothing is granted any more, neither leases nor numbers of counters. Leases
// that were granted stay in force. Only an older copy of the data would undo it.
func (s *Space) Retire(ctx context.Context) error {
	_, err := s.retire(ctx, tie{}, "")
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
	t, err := s.announce(ctx, old, config.Trust)
	if err != nil {
		return nil, err
	}
	last, err := old.retire(ctx, t, s.String())
	if err != nil {
		return nil, err
	}
	if err := s.makeSuccessor(ctx, old, last, t); err != nil {
		return nil, err
	}
	return s, nil
}

// announce returns what ties the old space to this one. It fails before anything is written if the
// move is not possible. It takes ten seconds at most.
func (s *Space) announce(ctx context.Context, old *Space, trust bool) (tie, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := s.engine.Prepare(ctx); err != nil {
		return tie{}, s.storeError("prepare", err)
	}
	before, err := old.readExisting(ctx)
	if err != nil {
		return tie{}, err
	}
	seen, err := s.read(ctx, moving)
	if err != nil {
		return tie{}, err
	}
	found, err := s.decodeTie(seen.value)
	if err != nil {
		return tie{}, err
	}
	if seen.meta != nil {
		return s.existing(ctx, old, before.meta, seen, found)
	}

	name := before.meta.Successor // "" if the old space is not retired for another one
	begun := found.Old == before.meta.Name && found.isOf(seen.Answer) && (name == "" || name == found.Name)
	switch {
	case begun && found.Trust == trust:
		return found, nil
	case !begun && name != "" && !found.replaced(name):
		return tie{}, old.retiredFor(before.meta)
	}
	if err := s.checkTrust(seen, trust); err != nil {
		return tie{}, err
	}
	if err := s.checkOverlap(ctx, before.meta); err != nil {
		return tie{}, err
	}
	return s.putTie(ctx, seen, found, old, before.meta, trust)
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
			isRival := err == nil && m.Check == old.Check && m.Name != old.Name && !m.Retired
			if isRival && m.Overlaps(old.Limits) {
				return fmt.Errorf("%w: the space of %s there has nodes %d to %d of this secret: take another store, or retire that space",
					ErrExists, e.Name, m.First, m.Last())
			}
		}
	}
	return nil
}

// existing returns the tie of a space that is there already: the successor of the old one.
func (s *Space) existing(ctx context.Context, old *Space, before *meta, seen *snapshot, found tie) (tie, error) {
	is := seen.meta
	ours := is.Predecessor == before.Name && (before.Successor == "" || before.Successor == is.Name)
	// That move stopped before it made its space, as the data are those in which its tie was put, or were
	// when this space was made or last noted a loss.
	sameData := found.isOf(seen.Answer) || found.isOf(Answer{Lineage: is.Lineage, Incarnation: is.Incarnation})
	stopped := found.Name == before.Successor && sameData
	neverMade := found.replaced(before.Successor) || stopped && found.Name != ""
	switch {
	case ours && is.Retired:
		return tie{}, s.retiredFor(is)
	case ours: // without a lineage: if the space is gone soon, it is not made again
		return tie{Name: is.Name}, nil
	case is.Name == before.Name: // perhaps by another address
		return tie{}, fmt.Errorf("%w: %s and %s are the same space, or one is a copy of the other: take another name or store",
			ErrExists, old, s)
	case neverMade:
		if err := old.untie(ctx, before); err != nil {
			return tie{}, err
		}
		return tie{}, fmt.Errorf("%w: %s: it did not take the place of %s, which can be moved again: take another name or store",
			ErrExists, s, old)
	}
	return tie{}, fmt.Errorf("%w: %s: it did not take the place of %s: take another name or store", ErrExists, s, old)
}

// untie forgets the successor of a retired space, which was never made.
func (s *Space) untie(ctx context.Context, before *meta) error {
	return s.repeat(ctx, leasesRecord, func(seen *snapshot) (done bool, call time.Duration, err error) {
		unchanged := seen.meta != nil && seen.meta.Retired && seen.meta.Successor == before.Successor
		if !unchanged {
			return true, 0, nil
		}
		m := *seen.meta
		m.Successor = ""
		m.MovedTo = ""
		done, err = s.putMeta(ctx, seen, &m, nil)
		return done, 0, err
	})
}

// retiredFor is the error for a retired space, which another one may have replaced, or will.
func (s *Space) retiredFor(m *meta) error {
	if m.Successor == "" {
		return fmt.Errorf("%w: %s: no space took its place: move it to a store or a name where there is none", ErrRetired, s)
	}
	return fmt.Errorf("%w: %s: for %s: move it there, which goes on or says why it can't; if the data there were lost, "+
		"make a new space, not for new IDs, with the limits that this one has, and set its counters",
		ErrRetired, s, m.MovedTo)
}

// useRetired is the error for who would use a retired space.
func (s *Space) useRetired(m *meta) error {
	if m.Successor == "" {
		return s.retiredFor(m)
	}
	return fmt.Errorf("%w: %s: use the space that took its place: %s", ErrRetired, s, m.MovedTo)
}

// putTie puts the tie of a move, with a new name, in place of one that is there.
func (s *Space) putTie(ctx context.Context, seen *snapshot, found tie, old *Space, before *meta, trust bool) (tie, error) {
	if err := seen.clockError(before); err != nil {
		return tie{}, err
	}
	put := tie{
		Name:        cryptorand.Text(),
		Lineage:     seen.Lineage,
		Incarnation: seen.Incarnation,
		Trust:       trust,
		Old:         before.Name,
		From:        old.String(),
		Replaced:    found.Replaced,
	}
	if found.Name != "" && found.isOf(seen.Answer) {
		put.Replaced = append(put.Replaced, found.Name)
		put.Replaced = put.Replaced[max(len(put.Replaced)-mostReplaced, 0):]
	}
	value, err := json.Marshal(put)
	if err != nil {
		return tie{}, err
	}
	after, err := s.swap(ctx, seen, Entry{moving.name, value})
	if err != nil {
		return tie{}, err
	}
	if !after.Swapped {
		return tie{}, fmt.Errorf("%w: %s: another process was faster: try again", ErrExists, s)
	}
	return put, nil
}

// replaced reports whether the tie says that the space of a name never was there, nor will be.
func (t tie) replaced(name string) bool { return name != "" && slices.Contains(t.Replaced, name) }

// isOf reports whether the answer comes from the data in which the tie was put.
func (t tie) isOf(a Answer) bool {
	return t.Lineage == a.Lineage && (t.Trust || t.Incarnation == a.Incarnation)
}

// decodeTie returns the zero tie if value is nil.
func (s *Space) decodeTie(value []byte) (t tie, err error) {
	if value == nil {
		return t, nil
	}
	err = json.Unmarshal(value, &t)
	if err == nil && t.Name == "" { // two moves could go on with it
		err = errors.New("it has no name")
	}
	if err != nil {
		err = fmt.Errorf("%w: %s: move: %.100q: %w", ErrCorrupt, s, value, err)
	}
	return t, err
}

// retire puts the mark of a retired space, and returns a snapshot in which the mark is there. t has
// the name of the space that takes its place, which is at movedTo; both are empty if none does.
func (s *Space) retire(ctx context.Context, t tie, movedTo string) (last *snapshot, err error) {
	err = s.repeat(ctx, leasesRecord, func(seen *snapshot) (done bool, call time.Duration, err error) {
		if seen.meta == nil {
			return false, 0, fmt.Errorf("%w: %s", ErrNoSpace, s)
		}
		loss := seen.loss()
		if loss != "" {
			return false, 0, s.noteLoss(ctx, seen, loss)
		}
		m := *seen.meta
		if m.Retired && (t.Name == "" || m.Successor == t.Name) {
			s.rememberRetired(seen.meta)
			last = seen
			return true, 0, nil
		}
		if m.Successor != "" && !t.replaced(m.Successor) {
			return false, 0, s.retiredFor(&m)
		}
		if err := seen.unfit(&m); err != nil {
			return false, 0, err
		}
		m.Retired = true
		m.Successor = t.Name
		m.MovedTo = movedTo
		_, err = s.putMeta(ctx, seen, &m, nil)
		return false, 0, err // the next try reads what is there with the mark
	})
	return last, err
}

// makeSuccessor makes the space that takes the place of a retired one, unless it is there. last is
// the retired one's. Meta comes last, because nobody can use the space until then. The space is not
// made if its data were lost after the tie was found: perhaps it was there already, and used.
func (s *Space) makeSuccessor(ctx context.Context, old *Space, last *snapshot, t tie) error {
	seen, err := s.read(ctx, moving)
	if err != nil {
		return err
	}
	if seen.meta != nil {
		if seen.meta.Name != t.Name {
			return fmt.Errorf("%w: %s: another process has just made it: try again", ErrExists, s)
		}
		s.known.meta = seen.meta // without the lock, as nobody else has s yet
		return nil
	}
	found, err := s.decodeTie(seen.value)
	if err != nil {
		return err
	}
	if found.Name != t.Name || !t.isOf(seen.Answer) {
		return fmt.Errorf("%w: %s: data was lost meanwhile, or another move has begun: try again", ErrUnknown, s)
	}

	m := seen.successorMeta(last.meta, old)
	m.Trust = t.Trust
	if err := seen.unfit(m); err != nil {
		return err
	}
	taken, err := decodeTakenNodes(last.value)
	if err != nil {
		return err
	}
	if m.Reserve > 0 {
		seen.openReserve(m, taken)
	}
	if err := s.copyCounters(ctx, old, t, seen.value); err != nil {
		return err
	}
	done, err := s.putMeta(ctx, seen, m, taken.encode())
	if err != nil {
		return err
	}
	if !done {
		return fmt.Errorf("%w: %s: another process was faster, or its data was lost meanwhile: try again", ErrExists, s)
	}
	return nil
}

// successorMeta returns the meta of the space that takes the place of a retired one. What is not set
// here stays, such as the limits, the check value and Begin.
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
	m.Why = "moved from " + old.String()
	m.Floor = max(m.Floor, seen.newFloor(&m))
	return &m
}

// copyCounters puts the counters of a retired space into this one, as long as the tie is there.
func (s *Space) copyCounters(ctx context.Context, old *Space, t tie, rawTie []byte) error {
	after := ""
	for {
		const page = 100
		counters, err := old.Counters(ctx, after, page)
		if err != nil || len(counters) == 0 {
			return err
		}
		for _, c := range counters {
			if err := s.copyCounter(ctx, old, c.Name, t, rawTie); err != nil {
				return err
			}
			after = c.Name
		}
	}
}

// copyCounter puts a counter of a retired space into this one, in place of what an earlier attempt
// has put: since then the old space may have lost its mark, and given numbers. If another process
// has just made this space, copyCounter changes nothing, and makeSuccessor finds that out.
func (s *Space) copyCounter(ctx context.Context, old *Space, name string, t tie, rawTie []byte) error {
	there := &snapshot{ // at first: neither meta nor this counter
		record: counterRecord(name),
		also:   []Entry{{moving.name, rawTie}},
	}
	for {
		value, err := old.retiredCounter(ctx, name, t.Name)
		if err != nil {
			return err
		}
		there, err = s.swap(ctx, there, Entry{there.name, value})
		if err != nil {
			return fmt.Errorf("counter %s: %w", name, err)
		}
		if err := there.doubtError(t.Trust); err != nil {
			return fmt.Errorf("counter %s: %w", name, err)
		}
		if there.Swapped || there.meta != nil {
			return nil
		}
		if !bytes.Equal(there.also[0].Value, rawTie) {
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
