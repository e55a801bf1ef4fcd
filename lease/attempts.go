package lease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/randflake/randflake/lease/internal/backoff"
)

// attempts are the attempts to change a space by what a record shows. Another one follows if another process was
// faster, or if the caller is to see what it has put. An error ends them.
type attempts struct {
	space     *Space
	record    record
	count     int       // of attempts so far
	pauses    int       // before them
	overtaken int       // how many of them were overtaken by a swap of another process
	found     *snapshot // what the swap of the last attempt has found, if that was overtaken; or nil
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

// next begins an attempt, and returns what it goes by:
//
//   - The first attempt goes by a read.
//   - After the first swap that was overtaken, the next one goes at once by what that swap has found.
//   - Any other one pauses, and reads. Pauses grow with their number, and with how long an overtaken swap took.
func (a *attempts) next(ctx context.Context) (*snapshot, error) {
	found := a.found
	a.found = nil
	a.count++
	if found != nil && a.overtaken == 1 {
		return found, nil
	}
	if a.count > 1 {
		if err := a.pause(ctx, found); err != nil {
			return nil, err
		}
	}
	seen, err := a.space.read(ctx, a.record)
	if err != nil {
		return nil, a.markBusy(ctx, err)
	}
	return seen, nil
}

// noteOvertaken notes that another process was faster than a swap, which has found what is there now.
func (a *attempts) noteOvertaken(found *snapshot) {
	a.overtaken++
	a.found = found
}

// pause pauses before another attempt. found is what an overtaken swap has found, or nil.
func (a *attempts) pause(ctx context.Context, found *snapshot) error {
	var swapTook time.Duration
	if found != nil {
		swapTook = found.answered.Sub(found.asked)
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
