package lease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// update changes one record of a space by compare-and-swap, and tries again when others were
// faster. decide returns the new value of the record in the snapshot that it is shown, and runs
// again in each try.
//
// Takes and counters change their records in no other way. Only who notes a loss (loss.go) or moves
// the space (move.go) puts these records too.
func (s *Space) update(ctx context.Context, r record, decide func(*snapshot) ([]byte, error)) error {
	seen, err := s.read(ctx, r)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		seen, err = s.noteLosses(ctx, seen)
		if err != nil {
			return err
		}
		if seen.meta.Retired != "" {
			s.rememberRetired(seen.meta)
			return fmt.Errorf("%w: %s: use the space that took its place", ErrRetired, s)
		}

		value, err := decide(seen)
		if err != nil {
			return err
		}
		after, err := s.swap(ctx, seen, nil, value)
		if err != nil {
			return markBusy(ctx, try, err)
		}
		if after.Swapped {
			return s.swapped(ctx, after)
		}

		seen = after // which shows what is there now: so the second try is made at once
		if try > 0 {
			if err := s.backOff(ctx, try, after.answered.Sub(after.asked)); err != nil {
				return err
			}
			seen, err = s.read(ctx, r) // as the record has probably changed again
			if err != nil {
				return markBusy(ctx, try, err)
			}
		}
	}
}

// changeMeta reads the leases and has change put another meta, until it is done: others may be faster.
func (s *Space) changeMeta(ctx context.Context, change func(*snapshot) (done bool, err error)) error {
	for try := 0; ; try++ {
		seen, err := s.read(ctx, leasesRecord)
		if err != nil {
			return err
		}
		done, err := change(seen)
		if done || err != nil {
			return err
		}
		if err := s.backOff(ctx, try, 0); err != nil {
			return err
		}
	}
}

// noteLosses notes the loss of data that seen shows, if any, and reads again until an answer shows
// no loss. It returns that answer.
func (s *Space) noteLosses(ctx context.Context, seen *snapshot) (*snapshot, error) {
	for try := 0; ; try++ {
		loss := seen.loss()
		if loss == "" {
			return seen, nil
		}
		if try > 0 {
			if err := s.backOff(ctx, try, 0); err != nil {
				return nil, err
			}
		}
		err := s.noteLoss(ctx, seen, loss)
		if err != nil {
			return nil, err
		}
		seen, err = s.read(ctx, seen.record)
		if err != nil {
			return nil, err
		}
	}
}

// markBusy marks the error of an update whose time was over when others had been faster: the store
// works, so it is worth beginning again.
func markBusy(ctx context.Context, try int, err error) error {
	if try > 0 && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errBusy, err)
	}
	return err
}

// swapped ends an update whose swap took effect. It returns ErrUnknown if that was on another or an
// older copy of the data.
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

// backOff pauses after a try in which others were faster. The pause is random, and grows with the
// number of tries and with how long the last call took: the longer that is, the more processes want
// the same record.
func (s *Space) backOff(ctx context.Context, try int, call time.Duration) error {
	const shortest, longest = 5 * time.Millisecond, 4 * time.Second
	grown := max(call, shortest) << min(2*try, 12)
	if err := s.pause(ctx, rand.N(min(grown, longest))); err != nil {
		return fmt.Errorf("%w: %s: %w", errBusy, s, err)
	}
	return nil
}

// sleep returns the error of ctx if that ends before d is over.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
