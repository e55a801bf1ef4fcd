package lease

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/randflake/randflake"
)

// A snapshot is what an answer of the engine shows of the space and one of its records, with the evidence and
// the clocks.
type snapshot struct {
	Answer
	record
	meta     *meta     // nil if there is no space
	raw      []byte    // of meta
	value    []byte    // of the record
	replaced []byte    // value of the record before, if it was swapped
	asked    time.Time // by the process's clock, before the call
	answered time.Time // by the same clock, after the call
	known    known     // before the call, with the values of this record and of the leases alone
}

// A record is an entry of a space beside meta.
type record struct {
	name     string
	wentBack wentBack
}

const metaEntry = "meta"

var leases = record{"leases", takenNodesWentBack}

func (s *Space) read(ctx context.Context, r record) (*snapshot, error) {
	seen := s.newSnapshot(r)
	var err error
	seen.Answer, err = s.engine.Read(ctx, s.entry(metaEntry), s.entry(r.name))
	if err != nil {
		return nil, s.failed("read", err)
	}
	return seen, seen.decode(s)
}

// swap puts meta and the value of the record, each unless it is nil, if both are as in before, and returns
// what is there then.
func (s *Space) swap(ctx context.Context, before *snapshot, meta, value []byte) (*snapshot, error) {
	after := s.newSnapshot(before.record)
	expect := []Entry{
		{s.entry(metaEntry), before.raw},
		{s.entry(before.name), before.value},
	}
	changed := slices.Clone(expect)
	var put []Entry
	for i, value := range [][]byte{meta, value} {
		if value != nil {
			changed[i].Value = value
			put = append(put, changed[i])
		}
	}
	var err error
	after.Answer, err = s.engine.Swap(ctx, expect, put)
	if err != nil {
		return nil, s.notSwapped(err)
	}
	if after.Swapped {
		after.replaced = before.value
		after.Entries = changed
	}
	return after, after.decode(s)
}

// newSnapshot begins one, with the time before the call, and what is known by then.
func (s *Space) newSnapshot(r record) *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := &snapshot{record: r, asked: s.now(), known: s.known}
	seen.known.values = map[string][]byte{}
	for _, name := range []string{r.name, leases.name} {
		seen.known.values[name] = s.known.values[name]
	}
	return seen
}

// decode decodes the answer.
func (s *snapshot) decode(space *Space) error {
	s.answered = space.now()
	s.raw = s.Entries[0].Value
	s.value = s.Entries[1].Value
	if s.raw == nil {
		return nil
	}
	m, err := decodeMeta(s.raw)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, space, err)
	}
	s.meta = m
	before := s.known.meta
	same := before == nil || before.Limits == m.Limits && before.Check == m.Check
	if !same { // its windows may be others
		return fmt.Errorf("%w: %s was made anew, with other limits or for another secret: start this program again",
			ErrNoSpace, space)
	}
	return nil
}

// clockError returns an error that wraps ErrClock unless the clocks of process and server can both be right.
func (s *snapshot) clockError(m *meta) error {
	if s.asked.Unix() < randflake.Epoch {
		return fmt.Errorf("%w: this machine's says %s", ErrClock, s.asked.UTC().Format(time.RFC3339))
	}
	if s.Time.IsZero() {
		return nil
	}
	behind := s.asked.Sub(s.Time)
	ahead := s.Time.Sub(s.answered)
	if behind > m.MaxSkew || ahead > m.MaxSkew {
		return fmt.Errorf("%w: the server's is %v ahead of this machine's: "+
			"want at most %v between them: set the wrong one right",
			ErrClock, (-behind).Round(time.Second), m.MaxSkew)
	}
	return nil
}

// later returns the later of the process's time after the answer and the server's.
func (s *snapshot) later() time.Time {
	if s.Time.After(s.answered) {
		return s.Time
	}
	return s.answered
}

// id returns the ID of the space, or "" if there is none.
func (s *snapshot) id() string {
	if s.meta == nil {
		return ""
	}
	return s.meta.ID
}
