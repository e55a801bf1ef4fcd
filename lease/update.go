package lease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/randflake/randflake/lease/internal/backoff"
)

// update changes one record of a space by compare-and-swap, and tries again when others were
// faster. decide returns the new value of the record in the snapshot that it is shown. It runs again
// before each swap.
//
// Takes and counters change their records in no other way. Only who notes a loss (loss.go) or moves
// the space (move.go) puts these records too.
func (s *Space) update(ctx context.Context, r record, decide func(*snapshot) ([]byte, error)) error {
	lost := 0 // swaps in which others were faster
	return s.repeat(ctx, r, func(seen *snapshot) (done bool, call time.Duration, err error) {
		for {
			loss := seen.loss()
			if loss != "" {
				return false, 0, s.noteLoss(ctx, seen, loss)
			}
			if seen.meta.Retired {
				s.rememberRetired(seen.meta)
				return false, 0, s.useRetired(seen.meta)
			}
			if err := seen.doubtError(seen.meta.Trust); err != nil {
				return false, 0, fmt.Errorf("%w: %s", err, s)
			}

			value, err := decide(seen)
			if err != nil {
				return false, 0, err
			}
			after, err := s.swap(ctx, seen, Entry{r.name, value})
			if err != nil {
				return false, 0, markBusy(ctx, lost, err)
			}
			if after.Swapped {
				return true, 0, s.swapped(ctx, after)
			}

			seen = after // which shows what is there now: so the second swap is made at once
			lost++
			if lost > 1 {
				return false, after.answered.Sub(after.asked), nil
			}
		}
	})
}

// repeat reads a record and has try change the space, until try says that it is done: it is not if
// others were faster, or if the next try is to see what this one has put. repeat pauses in between,
// for longer if the call in which others were faster took long.
func (s *Space) repeat(
	ctx context.Context,
	r record,
	try func(*snapshot) (done bool, call time.Duration, err error),
) error {
	for tries := 0; ; tries++ {
		seen, err := s.read(ctx, r)
		if err != nil {
			return markBusy(ctx, tries, err)
		}
		done, call, err := try(seen)
		if done || err != nil {
			return err
		}
		if err := s.backOff(ctx, tries+1, call); err != nil {
			return err
		}
	}
}

// markBusy marks the error of a call whose time was over after tries in which others were faster:
// the store works, so it is worth beginning again.
func markBusy(ctx context.Context, tries int, err error) error {
	if tries > 0 && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errBusy, err)
	}
	return err
}

// swapped ends an update whose swap took effect. It returns ErrUnknown if that was on another or an
// older copy of the data, or in doubt.
func (s *Space) swapped(ctx context.Context, after *snapshot) error {
	loss := after.loss()
	if loss == "" {
		if err := after.doubtError(after.meta.Trust); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrUnknown, s, err)
		}
		s.learn(after)
		return nil
	}
	if err := s.noteLoss(ctx, after, loss); err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return fmt.Errorf("%w: data was lost meanwhile: %s", ErrUnknown, loss)
}

// backOff pauses after tries in which others were faster.
func (s *Space) backOff(ctx context.Context, tries int, call time.Duration) error {
	if err := s.pause(ctx, rand.N(backoff.Most(tries, call))); err != nil {
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
