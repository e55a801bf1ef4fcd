package lease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// update changes one record of a space by compare-and-swap, and tries again when others were faster. Leases
// and counters change in no other way. decide returns the new value of the record that it is shown.
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
		begun := time.Now()
		after, err := s.swap(ctx, seen, nil, value)
		if err != nil {
			return markBusy(try, err)
		}
		if after.Swapped {
			return s.swapped(ctx, after)
		}

		seen = after
		if try == 0 {
			continue // at once: the swap that failed has shown what is there now
		}
		if err := s.pause(ctx, backoff(try, time.Since(begun))); err != nil {
			return markBusy(try, fmt.Errorf("%s: %w", s, err))
		}
		seen, err = s.read(ctx, r) // as the record has probably changed again
		if err != nil {
			return markBusy(try, err)
		}
	}
}

// noteLosses notes the loss of data that seen shows, if any, and reads again until an answer shows no loss.
// It returns that answer.
func (s *Space) noteLosses(ctx context.Context, seen *snapshot) (*snapshot, error) {
	for {
		loss := seen.loss()
		if loss == "" {
			return seen, nil
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

// markBusy marks an error of an update that was not the fastest: the store works, so another try is worth it.
func markBusy(try int, err error) error {
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
