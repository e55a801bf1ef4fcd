package lease

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A move has three steps. One that was stopped is called again, and goes on from there:
//
//  1. announce puts a tie into the new store: an entry with a random word.
//  2. retire retires the old space, with the word as its mark. So only one space can take its place.
//  3. makeSuccessor copies the counters, and then puts the meta entry, which makes the new space. Its
//     ID is the word.
//
// If the data of the new space are lost, it is not made once more: the tie is gone too, or has
// another lineage than the data.
type tie struct {
	Word    string `json:"word"`
	Lineage string `json:"lineage"` // of the new space's data
	Old     string `json:"old"`     // the old space
}

// moving is the record of a tie. It is never updated, so it needs no wentBack.
var moving = record{name: "move"}

// Retire ends a space: nothing is granted any more, neither leases nor numbers of counters. Leases
// that were granted stay in force. Only an older copy of the data would undo it.
func (s *Space) Retire(ctx context.Context) error {
	_, err := s.retire(ctx, "", "")
	return err
}

// Move retires a space, and makes the one that takes its place in engine, with the limits, the
// check value and the counters of the old one. Of config it takes the name and the clock. With a
// reserve, leases begin as soon as after a loss of data. Move can be called again with the same
// arguments, wherever it stopped.
//
// It returns ErrExists if another space has the name, and ErrRetired if the old one was retired for
// another space. Processes go on under the leases that they have: start them with the new space
// before those end.
func Move(ctx context.Context, old *Space, engine Engine, config Config) (*Space, error) {
	s, err := newSpace(engine, config)
	if err != nil {
		return nil, err
	}
	t, err := s.announce(ctx, old)
	if err != nil {
		return nil, err
	}
	last, err := old.retire(ctx, t.Word, s.String())
	if err != nil {
		return nil, err
	}
	if err := s.makeSuccessor(ctx, old, last, t); err != nil {
		return nil, err
	}
	return s, nil
}

// announce returns what ties the old space to this one. The first call of a move puts it here. If
// the name is taken, even by the old space itself, announce fails before anything is retired. It
// takes ten seconds at most.
func (s *Space) announce(ctx context.Context, old *Space) (tie, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := s.engine.Prepare(ctx); err != nil {
		return tie{}, s.storeError("prepare", err)
	}
	seen, err := s.read(ctx, moving)
	switch {
	case err != nil:
		return tie{}, err
	case seen.meta != nil && seen.meta.ID == old.knownMeta().ID: // perhaps by another address
		return tie{}, fmt.Errorf("%w: %s and %s are the same space, or one is a copy of the other: take another name or store",
			ErrExists, old, s)
	case seen.meta != nil: // a space was made here, perhaps by this move
		made := tie{Word: seen.meta.From} // without a lineage: if the space is gone soon, it is not made again
		return made, s.checkTied(ctx, made, old)
	case seen.value != nil: // a move has begun
		return s.oldTie(ctx, seen, old)
	}
	return s.newTie(ctx, seen, old)
}

// newTie puts the tie of a move, with a new word.
func (s *Space) newTie(ctx context.Context, seen *snapshot, old *Space) (tie, error) {
	if err := seen.clockError(old.knownMeta()); err != nil {
		return tie{}, err
	}
	put := tie{Word: cryptorand.Text(), Lineage: seen.Lineage, Old: old.String()}
	value, _ := json.Marshal(put) // can't fail on such fields
	after, err := s.swap(ctx, seen, nil, value)
	if err != nil {
		return tie{}, err
	}
	if !after.Swapped {
		return tie{}, fmt.Errorf("%w: %s: another process was faster: try again", ErrExists, s)
	}
	return put, nil
}

// oldTie returns the tie that is here, if it is that of this move, which was stopped.
func (s *Space) oldTie(ctx context.Context, seen *snapshot, old *Space) (tie, error) {
	var found tie
	err := json.Unmarshal(seen.value, &found)
	if err == nil && found.Word == "" { // two moves could go on with it
		err = errors.New("it has no word")
	}
	if err != nil {
		return tie{}, fmt.Errorf("%w: %s: move: %.100q: %w", ErrCorrupt, s, seen.value, err)
	}
	sameData := found.Lineage == seen.Lineage
	if sameData && found.Old == old.String() {
		return found, nil
	}
	if err := s.checkTied(ctx, found, old); err != nil {
		return tie{}, err
	}
	if !sameData {
		return tie{}, fmt.Errorf("%w: %s: for %s, whose data were lost since", ErrRetired, old, s)
	}
	return found, nil
}

// checkTied returns ErrExists unless the old space, perhaps by another address, was retired for the
// word of a tie.
func (s *Space) checkTied(ctx context.Context, t tie, old *Space) error {
	seen, err := old.read(ctx, leasesRecord)
	if err != nil {
		return err
	}
	tied := seen.meta != nil && t.Word != "" && seen.meta.Retired == t.Word
	if !tied {
		return fmt.Errorf("%w: %s: it is not the one that took the place of %s: take another name or store; "+
			"or it is, and an older copy of the other is back, without its mark: retire that",
			ErrExists, s, old)
	}
	return nil
}

// retire puts the mark of a retired space, and returns a snapshot in which the mark is there. word
// ties the space to successor, which takes its place; both are empty if none does.
func (s *Space) retire(ctx context.Context, word, successor string) (last *snapshot, err error) {
	err = s.repeat(ctx, leasesRecord, func(seen *snapshot) (done bool, call time.Duration, err error) {
		if seen.meta == nil {
			return false, 0, fmt.Errorf("%w: %s", ErrNoSpace, s)
		}
		loss := seen.loss()
		if loss != "" {
			return false, 0, s.noteLoss(ctx, seen, loss)
		}
		m := *seen.meta
		if m.Retired != "" && (word == "" || m.Retired == word) {
			s.rememberRetired(seen.meta)
			last = seen
			return true, 0, nil
		}
		if m.Successor != "" {
			return false, 0, fmt.Errorf("%w: %s: for %s, whose data were lost since if it is not there",
				ErrRetired, s, m.Successor)
		}
		if err := seen.clockError(&m); err != nil {
			return false, 0, err
		}
		m.Retired = cmp.Or(word, cryptorand.Text())
		m.Successor = successor
		_, err = s.putMeta(ctx, seen, &m, nil)
		return false, 0, err // the next try reads what is there with the mark
	})
	return last, err
}

// makeSuccessor makes the space that takes the place of a retired one, unless it is there. last is
// the retired one's. Meta comes last, because nobody can use the space until then. The space is not
// made if its data were lost after the tie was found: perhaps it was there already, and used.
func (s *Space) makeSuccessor(ctx context.Context, old *Space, last *snapshot, t tie) error {
	seen, err := s.read(ctx, leasesRecord)
	if err != nil {
		return err
	}
	if seen.meta != nil {
		if seen.meta.From != last.meta.Retired {
			return fmt.Errorf("%w: %s: another process has just made it", ErrExists, s)
		}
		s.known.meta = seen.meta // without the lock, as nobody else has s yet
		return nil
	}
	if seen.Lineage != t.Lineage {
		return fmt.Errorf("%w: %s: data was lost meanwhile: try again", ErrUnknown, s)
	}

	m := seen.successorMeta(last.meta, old)
	if err := seen.clockError(m); err != nil {
		return err
	}
	taken, err := decodeTakenNodes(last.value)
	if err != nil {
		return err
	}
	if m.Reserve > 0 {
		seen.openReserve(m, taken)
	}
	if err := s.copyCounters(ctx, old, m.ID); err != nil {
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
	m.ID = retired.Retired // the same in each attempt, for the counters
	m.From = retired.Retired
	m.Losses++ // for a program whose name of the old store leads here now, it is a loss that was noted
	m.Retired = ""
	m.Successor = ""
	m.Lineage = seen.Lineage
	m.Why = "moved from " + old.String()
	m.Floor = max(m.Floor, seen.newFloor(&m))
	return &m
}

// copyCounters puts the counters of a retired space into this one, which is to have that ID.
func (s *Space) copyCounters(ctx context.Context, old *Space, id string) error {
	after := ""
	for {
		const page = 100
		counters, err := old.Counters(ctx, after, page)
		if err != nil || len(counters) == 0 {
			return err
		}
		for _, c := range counters {
			if err := s.copyCounter(ctx, old, c.Name, id); err != nil {
				return err
			}
			after = c.Name
		}
	}
}

// copyCounter puts a counter of a retired space into this one, in place of what an earlier attempt
// has put: since then the old space may have lost its mark, and given numbers. If another process
// has just made this space, copyCounter changes nothing, and makeSuccessor finds that out.
func (s *Space) copyCounter(ctx context.Context, old *Space, name, id string) error {
	there := &snapshot{record: counterRecord(name)} // at first: neither meta nor this counter
	for {
		value, err := old.retiredCounter(ctx, name, id)
		if err != nil {
			return err
		}
		there, err = s.swap(ctx, there, nil, value)
		if err != nil {
			return fmt.Errorf("counter %s: %w", name, err)
		}
		if there.Swapped || there.meta != nil {
			return nil
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
	if loss := seen.loss(); loss != "" || seen.meta.Retired != id {
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
