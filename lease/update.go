package lease

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/randflake/randflake"
)

// A record is an entry of a space beside meta.
type record struct {
	name     string
	wentBack wentBack
}

const metaEntry, leasesEntry = "meta", "leases"

var leases = record{leasesEntry, numbersWentBack}

// A snapshot is what an answer shows of the space and one of its records.
type snapshot struct {
	Answer
	record
	meta     *meta // nil if there is no space
	raw      []byte
	value    []byte    // of the record
	replaced []byte    // value of the record before, if it was swapped
	from     time.Time // by the process's clock, before the question, and
	to       time.Time // after the answer
	known    known     // before the question, without values
	last     []byte    // known value of the record, before the question
}

// update changes one record of a space by compare-and-swap, and tries again when others were faster. It is all that leases and
// counters have in common. decide returns the new value for what it is shown.
func (s *Space) update(ctx context.Context, r record, decide func(*snapshot) ([]byte, error)) error {
	var now *snapshot
	for try := 0; ; try++ {
		if now == nil {
			var err error
			if now, err = s.read(ctx, r); err != nil {
				return afterLosing(try, err)
			}
		}
		if loss := now.loss(); loss != "" {
			if err := s.noteLoss(ctx, now, loss); err != nil {
				return err
			}
			now = nil
			continue
		}
		if now.meta.Retired != "" {
			s.learnMark(now.meta)
			return fmt.Errorf("%w: %s: use the space that took its place", ErrRetired, s)
		}

		value, err := decide(now)
		if err != nil {
			return err
		}
		begun := time.Now()
		after, err := s.swap(ctx, now, Entry{r.name, value})
		if err != nil {
			return afterLosing(try, err)
		}
		if after.Swapped {
			return s.swapped(ctx, after)
		}

		now = after
		if try == 0 {
			continue // at once, by what is there now
		}
		if err := s.pause(ctx, backoff(try, time.Since(begun))); err != nil {
			return afterLosing(try, fmt.Errorf("%s: %w", s, err))
		}
		now = nil // the record has probably changed again
	}
}

// afterLosing marks an error of an update that was not the fastest: the store works, so that another try is worth it.
func afterLosing(try int, err error) error {
	if try == 0 {
		return err
	}
	return fmt.Errorf("%w: %w", errBusy, err)
}

// swapped ends an update. The swap doesn't count if it was made on what is left of the data.
func (s *Space) swapped(ctx context.Context, after *snapshot) error {
	loss := after.loss()
	if loss == "" {
		s.learn(after)
		return nil
	}
	if err := s.noteLoss(ctx, after, loss); err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return fmt.Errorf("%w: data was lost meanwhile: %s", ErrUnknown, loss)
}

// backoff returns a random pause. Many want the same record: the longer a call took, the more they are.
func backoff(try int, call time.Duration) time.Duration {
	const shortest, longest = 5 * time.Millisecond, 4 * time.Second
	grown := max(call, shortest) << min(2*try, 12)
	return rand.N(min(grown, longest))
}

func (s *Space) read(ctx context.Context, r record) (*snapshot, error) {
	now := s.question(r)
	var err error
	now.Answer, err = s.engine.Read(ctx, s.entry(metaEntry), s.entry(r.name))
	if err != nil {
		return nil, s.failed("read", err)
	}
	return now, now.open(s)
}

// swap puts entries of the space, meta or the record or both, if both are as in before, and returns what is there then.
func (s *Space) swap(ctx context.Context, before *snapshot, put ...Entry) (*snapshot, error) {
	after := s.question(before.record)
	entries := []Entry{{s.entry(metaEntry), before.raw}, {s.entry(before.name), before.value}}
	expect := slices.Clone(entries)
	for i := range put {
		put[i].Name = s.entry(put[i].Name)
	}
	var err error
	after.Answer, err = s.engine.Swap(ctx, expect, put)
	if err != nil {
		return nil, s.notSwapped(err)
	}
	if after.Swapped {
		after.replaced = before.value
		after.Entries = replaced(entries, put)
	}
	return after, after.open(s)
}

// replaced returns entries with the values of those that were put.
func replaced(entries, put []Entry) []Entry {
	for i := range entries {
		for _, p := range put {
			if p.Name == entries[i].Name {
				entries[i].Value = p.Value
			}
		}
	}
	return entries
}

// question begins a snapshot: with the time before the call, and what is known by then.
func (s *Space) question(r record) *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := &snapshot{record: r, from: s.now(), known: s.known, last: s.known.values[r.name]}
	now.known.values = nil // they change
	return now
}

// open decodes the answer.
func (s *snapshot) open(space *Space) error {
	s.to = space.now()
	s.raw = s.Entries[0].Value
	s.value = s.Entries[1].Value
	if s.raw == nil {
		return nil
	}
	before := s.known.meta
	if bytes.Equal(s.raw, s.known.raw) {
		s.meta = before
		return nil
	}
	m, err := decodeMeta(s.raw)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, space, err)
	}
	s.meta = m
	if before != nil && (before.Limits != m.Limits || before.Check != m.Check) { // its windows may be others
		return fmt.Errorf("%w: %s was made anew, with other limits or for another secret: start this program again", ErrNoSpace, space)
	}
	return nil
}

// clockError returns an error that wraps ErrClock unless the clocks of process and server can both be right.
func (s *snapshot) clockError(m *meta) error {
	if s.from.Unix() < randflake.Epoch {
		return fmt.Errorf("%w: this machine's says %s", ErrClock, s.from.UTC().Format(time.RFC3339))
	}
	if s.Time.IsZero() {
		return nil
	}
	behind, ahead := s.from.Sub(s.Time), s.Time.Sub(s.to)
	if behind > m.MaxSkew || ahead > m.MaxSkew {
		return fmt.Errorf("%w: the server's is %v ahead of this machine's: want at most %v between them: set the wrong one right",
			ErrClock, (-behind).Round(time.Second), m.MaxSkew)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
