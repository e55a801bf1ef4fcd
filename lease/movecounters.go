package lease

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// The counters of the old space are put beside the announcement before that space is retired, and again after
// it: so if one can't be read, or the store has no room for them, that shows before.

// announceCounters puts the counters as they are, so they wait: their term is one of the old space. What an
// earlier call has put stays until copyCounter replaces it.
func (mv *move) announceCounters(ctx context.Context, uid string) error {
	seen, err := mv.to.read(ctx, leasesRecord)
	if err != nil {
		return err
	}
	switch {
	case seen.meta != nil: // the space was made, or the third step says what came in its place
		return nil
	case !seen.announces(uid): // the old space must not be retired for one that is never made
		return fmt.Errorf("%w: %s: data was lost meanwhile, or another move has begun: try again", ErrOutcomeUnknown, mv.to)
	}
	return mv.from.eachCounter(ctx, func(name string, value []byte) error {
		if _, err := decodeCounter(name, value, ""); err != nil {
			return err
		}
		withoutIt := &snapshot{record: counterRecord(name), rawMeta: seen.rawMeta}
		_, err := mv.to.swap(ctx, withoutIt, Entry{withoutIt.record.name, value})
		return err
	})
}

// copyCounters puts the counters of the retired space into the announced one, as long as the
// announcement is that of seen.
func (mv *move) copyCounters(ctx context.Context, seen *snapshot) error {
	return mv.from.eachCounter(ctx, func(name string, _ []byte) error {
		if err := mv.copyCounter(ctx, name, seen); err != nil {
			return fmt.Errorf("counter %s: %w", name, err)
		}
		return nil
	})
}

// copyCounter puts a counter of the retired space into the announced one, in place of what an earlier
// attempt has put: since then the old space may have lost its retirement, and given numbers. If another
// process has just made the new space, copyCounter changes nothing, and makeNew finds that out.
func (mv *move) copyCounter(ctx context.Context, name string, seen *snapshot) error {
	attempts := mv.to.attempts(counterRecord(name))
	for {
		found, err := attempts.next(ctx)
		if err != nil {
			return err
		}
		if found.meta != nil {
			return nil
		}
		if !bytes.Equal(found.rawMeta, seen.rawMeta) {
			return fmt.Errorf("%w: %s: another move has begun: try again", ErrOutcomeUnknown, mv.to)
		}
		value, err := mv.retiredCounter(ctx, name, seen.announced.UID)
		if err != nil {
			return err
		}
		after, err := mv.to.swap(ctx, found, Entry{found.record.name, value})
		if err != nil {
			return err
		}
		if err := after.doubtError(seen.announced.Trust); err != nil {
			return err
		}
		if after.Swapped {
			return nil
		}
		attempts.noteOvertaken(after)
	}
}

// retiredCounter returns the value of a counter of the old space for the new one, which has that UID.
// It reads the counter together with the retirement, as a counter of a retired space does not grow. If the
// counter waits for a person after a loss of data, it waits in the new space too.
func (mv *move) retiredCounter(ctx context.Context, name, uid string) ([]byte, error) {
	seen, err := mv.from.read(ctx, counterRecord(name))
	if err != nil {
		return nil, err
	}
	if loss := seen.loss(); loss != "" {
		return nil, fmt.Errorf("%w: %s: data was lost meanwhile: %s: try again", ErrOutcomeUnknown, mv.from, loss)
	}
	if seen.meta.Successor != uid {
		return nil, fmt.Errorf("%w: %s: another move of it has begun: try again", ErrOutcomeUnknown, mv.from)
	}
	c, err := decodeCounter(name, seen.value, seen.meta.Term)
	if err != nil {
		return nil, err
	}
	c.Term = uid // the first term of the new space
	if c.Lost {
		c.Term = ""
	}
	return c.encode(seen.value)
}

// eachCounter calls do with the name and the value of each counter, in the order of their names, until do fails.
func (s *Space) eachCounter(ctx context.Context, do func(name string, value []byte) error) error {
	prefix := s.entryName(counterPrefix)
	return s.eachEntry(ctx, prefix, func(e Entry) error {
		return do(strings.TrimPrefix(e.Name, prefix), e.Value)
	})
}

// eachEntry calls do for each entry of the engine whose name begins with prefix, by name, until do fails.
func (s *Space) eachEntry(ctx context.Context, prefix string, do func(Entry) error) error {
	after := ""
	for {
		entries, err := s.engine.List(ctx, prefix, after, 1000)
		if err != nil {
			return s.storeError("list", err)
		}
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			if err := do(e); err != nil {
				return err
			}
			after = e.Name
		}
	}
}
