package lease

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
)

// Retire ends a space: nothing is granted any more, neither leases nor numbers of counters. Leases that were granted stay in
// force. Only an older copy of the data would undo it.
func (s *Space) Retire(ctx context.Context) error {
	_, err := s.retire(ctx, "")
	return err
}

// Move retires a space, and makes the one that takes its place in engine, with the limits, the check value and the counters of
// the old one. Of config it takes the name and the clock. With a reserve, leases begin as soon as after a loss of data. Move can
// be called again with the same arguments, wherever it stopped.
//
// It returns ErrExists if another space has the name, and ErrRetired if the old one was retired for another space. Processes go on
// under the leases that they have: start them with the new space before those end.
func Move(ctx context.Context, old *Space, engine Engine, config Config) (*Space, error) {
	s, err := newSpace(engine, config)
	if err != nil {
		return nil, err
	}
	if err := engine.Prepare(ctx); err != nil {
		return nil, s.failed("prepare", err)
	}
	// First, so that nothing is retired if the name is taken, even by the old space itself.
	if err := s.checkFree(ctx, old); err != nil {
		return nil, err
	}
	last, err := old.retire(ctx, s.String())
	if err != nil {
		return nil, err
	}
	if err := s.follow(ctx, old, last); err != nil {
		return nil, err
	}
	return s, nil
}

// checkFree returns ErrExists if there is a space of the name that did not take the place of old.
func (s *Space) checkFree(ctx context.Context, old *Space) error {
	now, err := s.read(ctx, leases)
	if err != nil || now.meta == nil {
		return err
	}
	before, err := old.read(ctx, leases)
	if err != nil {
		return err
	}
	if before.meta == nil || !now.meta.follows(before.meta) {
		return fmt.Errorf("%w: %s: take another name or store", ErrExists, s)
	}
	return nil
}

// follows reports whether the space took the place of a retired one.
func (m *meta) follows(retired *meta) bool {
	return m.From != "" && m.From == retired.Retired
}

// retire puts the mark of a retired space, for a successor or for none yet, and returns what is there since.
func (s *Space) retire(ctx context.Context, successor string) (*snapshot, error) {
	for {
		now, err := s.read(ctx, leases)
		if err != nil {
			return nil, err
		}
		if now.meta == nil {
			return nil, fmt.Errorf("%w: %s", ErrNoSpace, s)
		}
		if loss := now.loss(); loss != "" {
			if err := s.noteLoss(ctx, now, loss); err != nil {
				return nil, err
			}
			continue
		}

		m := *now.meta
		if m.Successor != "" && successor != "" && m.Successor != successor {
			return nil, fmt.Errorf("%w: %s: %s took its place", ErrRetired, s, m.Successor)
		}
		if m.Retired != "" && (successor == "" || m.Successor == successor) {
			return now, nil
		}
		if err := now.clockError(&m); err != nil {
			return nil, err
		}
		m.Retired = cmp.Or(m.Retired, cryptorand.Text())
		m.Successor = cmp.Or(successor, m.Successor)
		if _, err := s.putMeta(ctx, now, &m, nil); err != nil {
			return nil, err
		}
	}
}

// follow makes the space that takes the place of a retired one. Its meta entry comes last, because nobody can use the space before.
func (s *Space) follow(ctx context.Context, old *Space, last *snapshot) error {
	now, err := s.read(ctx, leases)
	if err != nil {
		return err
	}
	if now.meta != nil {
		if !now.meta.follows(last.meta) {
			return fmt.Errorf("%w: %s: another process has just made it", ErrExists, s)
		}
		s.known.meta = now.meta
		return nil
	}

	m := *last.meta
	m.ID = m.Retired // the same in each attempt, for the counters
	m.From = m.Retired
	m.Retired = ""
	m.Successor = ""
	m.Lineage = now.Lineage
	m.Why = "moved from " + old.String()
	if err := now.clockError(&m); err != nil {
		return err
	}
	m.Low = max(m.Low, now.floor(&m))
	taken, err := decodeNumbers(last.value)
	if err != nil {
		return err
	}
	if m.Reserve > 0 {
		now.openReserve(&m, taken)
	}

	if err := s.copyCounters(ctx, old, last.meta.ID, m.ID); err != nil {
		return err
	}
	done, err := s.putMeta(ctx, now, &m, taken.encode())
	if err != nil {
		return err
	}
	if !done {
		return fmt.Errorf("%w: %s: another process was faster, or its data was lost meanwhile: try again", ErrExists, s)
	}
	return nil
}

// copyCounters puts the counters of a retired space where the space has none of their names. Those that wait for a person after a
// loss wait here too. id is that of the old space, and to that of this one.
func (s *Space) copyCounters(ctx context.Context, old *Space, id, to string) error {
	prefix := old.entry(counterPrefix)
	after := prefix
	for {
		const page = 100
		entries, err := old.engine.List(ctx, prefix, after, page)
		if err != nil {
			return old.failed("list", err)
		}
		for _, entry := range entries {
			name := strings.TrimPrefix(entry.Name, prefix)
			c, err := decodeCounter(name, entry.Value, id)
			if err != nil {
				return err
			}
			c.ID = to
			if c.Lost {
				c.ID = ""
			}
			value, err := json.Marshal(c)
			if err != nil {
				return err
			}
			nothing := &snapshot{record: counterRecord(name)}
			if _, err := s.swap(ctx, nothing, Entry{counterPrefix + name, value}); err != nil {
				return fmt.Errorf("counter %s: %w", name, err)
			}
		}
		if len(entries) < page {
			return nil
		}
		after = entries[len(entries)-1].Name
	}
}
