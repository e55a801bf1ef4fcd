package lease

import (
	"context"
	"fmt"
)

// update changes one record of a space by compare-and-swap. decide returns the new value of the record, by what
// a snapshot shows. Where another process was faster, decide is asked again, by a newer snapshot.
//
// Leases and counters change only here, and where a space is made, has lost data (loss.go) or moves (move.go).
func (s *Space) update(ctx context.Context, r record, decide func(*snapshot) ([]byte, error)) error {
	attempts := s.attempts(r)
	for {
		seen, err := attempts.next(ctx)
		if err != nil {
			return err
		}
		loss := seen.loss()
		if loss != "" {
			if err := s.noteLoss(ctx, seen, loss); err != nil {
				return err
			}
			continue // after a pause
		}
		if seen.meta.Retired {
			s.rememberRetired(seen.meta.retirement)
			return s.retiredError(seen.meta)
		}
		if err := seen.doubtError(seen.meta.Trust); err != nil {
			return fmt.Errorf("%w: %s", err, s)
		}

		value, err := decide(seen)
		if err != nil {
			return err
		}
		after, err := s.swap(ctx, seen, Entry{r.name, value})
		if err != nil {
			return attempts.markBusy(ctx, err)
		}
		if after.Swapped {
			return s.finishUpdate(ctx, after)
		}
		attempts.noteOvertaken(after)
	}
}

// finishUpdate ends an update whose swap took effect. It returns ErrOutcomeUnknown if that was on another or
// an older copy of the data, or in doubt.
func (s *Space) finishUpdate(ctx context.Context, after *snapshot) error {
	loss := after.loss()
	if loss != "" {
		if err := s.noteLoss(ctx, after, loss); err != nil {
			return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		}
		return fmt.Errorf("%w: data was lost meanwhile: %s", ErrOutcomeUnknown, loss)
	}
	if err := after.doubtError(after.meta.Trust); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrOutcomeUnknown, s, err)
	}
	s.learn(after)
	return nil
}
