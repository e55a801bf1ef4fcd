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
			continue
		}
		if err := s.checkGrants(seen); err != nil {
			return err
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
			return s.swapped(ctx, after)
		}
		attempts.overtaken(after)
	}
}

// checkGrants returns why the space grants nothing, or nil.
func (s *Space) checkGrants(seen *snapshot) error {
	if seen.meta.Retired {
		s.rememberRetired(seen.meta.retirement)
		return s.retiredError(seen.meta)
	}
	if err := seen.doubtError(seen.meta.Trust); err != nil {
		return fmt.Errorf("%w: %s", err, s)
	}
	return nil
}

// attempts are the attempts to change a space by what a record shows. An attempt that fails by an
// error is the last one. Another one follows if others were faster, or if it is to see what this one
// has put.
type attempts struct {
	space  *Space
	record record
	begun  int
	pauses int       // that were made between them
	beaten int       // swaps in which others were faster
	latest *snapshot // what the last of these has shown, until the next attempt goes by it
}

func (s *Space) attempts(r record) *attempts { return &attempts{space: s, record: r} }

// next begins an attempt, and returns what it goes by. The second swap is made at once, by what the
// first one has shown. Before each other attempt next pauses, for longer if the call in which others
// were faster took long, and reads the record.
func (a *attempts) next(ctx context.Context) (*snapshot, error) {
	latest := a.latest
	a.latest = nil
	a.begun++
	if latest != nil && a.beaten <= 1 {
		return latest, nil
	}
	if a.begun > 1 {
		if err := a.pause(ctx, latest); err != nil {
			return nil, err
		}
	}
	seen, err := a.space.read(ctx, a.record)
	if err != nil {
		return nil, a.markBusy(ctx, err)
	}
	return seen, nil
}

// overtaken notes that others were faster than a swap, which has shown what is there now.
func (a *attempts) overtaken(after *snapshot) {
	a.beaten++
	a.latest = after
}

// pause pauses before another attempt. latest is nil, or what a swap has shown in which others were
// faster.
func (a *attempts) pause(ctx context.Context, latest *snapshot) error {
	var call time.Duration
	if latest != nil {
		call = latest.answered.Sub(latest.asked)
	}
	a.pauses++
	if err := a.space.pause(ctx, rand.N(backoff.Most(a.pauses, call))); err != nil {
		return fmt.Errorf("%w: %s: %w", errBusy, a.space, err)
	}
	return nil
}

// markBusy marks the error of a call whose time was over after other attempts: the store works, so
// it is worth beginning again.
func (a *attempts) markBusy(ctx context.Context, err error) error {
	if a.begun > 1 && ctx.Err() != nil {
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

// sleep returns the error of ctx if that ends before d is over.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
