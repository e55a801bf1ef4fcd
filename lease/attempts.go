package lease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/randflake/randflake/lease/internal/backoff"
)

// attempts are the attempts to change a space by what a record shows. An attempt that ends in an error is the
// last one. Another one follows if another process was faster, or if it is to see what this one has put.
type attempts struct {
	space  *Space
	record record
	count  int       // of attempts so far
	pauses int       // before them
	beaten int       // swaps in which another process was faster
	latest *snapshot // what the last of these has shown, if the attempt after it has not begun; or nil
}

func (s *Space) attempts(r record) *attempts { return &attempts{space: s, record: r} }

// untilDone makes attempts by the leases until one is done, or fails.
func (s *Space) untilDone(ctx context.Context, attempt func(seen *snapshot) (done bool, err error)) error {
	attempts := s.attempts(leasesRecord)
	for {
		seen, err := attempts.next(ctx)
		if err != nil {
			return err
		}
		done, err := attempt(seen)
		if done || err != nil {
			return err
		}
	}
}

// next begins an attempt, and returns what it goes by. The one after the first beaten swap goes by
// what that has shown, at once. Each later one begins with a pause and a read; the pause grows with
// their number, and with the time that a beaten swap took.
func (a *attempts) next(ctx context.Context) (*snapshot, error) {
	latest := a.latest
	a.latest = nil
	a.count++
	if latest != nil && a.beaten <= 1 {
		return latest, nil
	}
	if a.count > 1 {
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

// overtaken notes that another process was faster than a swap, which has shown what is there now.
func (a *attempts) overtaken(after *snapshot) {
	a.beaten++
	a.latest = after
}

// pause pauses before another attempt. beaten is what a beaten swap has shown, or nil.
func (a *attempts) pause(ctx context.Context, beaten *snapshot) error {
	var swapTook time.Duration
	if beaten != nil {
		swapTook = beaten.answered.Sub(beaten.asked)
	}
	a.pauses++
	if err := a.space.sleep(ctx, rand.N(backoff.Most(a.pauses, swapTook))); err != nil {
		return fmt.Errorf("%w: %s: %w", errBusy, a.space, err)
	}
	return nil
}

// markBusy marks the error of a call whose time was over after other attempts: the store works, so
// it is worth beginning again.
func (a *attempts) markBusy(ctx context.Context, err error) error {
	if a.count > 1 && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errBusy, err)
	}
	return err
}
