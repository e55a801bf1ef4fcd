package lease

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/randflake/randflake/lease/internal/backoff"
)

// Errors that carry more detail wrap one of these. The comment says what to do.
var (
	// Wait until the window ends: see WaitError.
	ErrFull = errors.New("lease: all nodes of the window are taken")

	// Wait until the forgotten leases have ended: see WaitError.
	ErrLoss = errors.New("lease: data was lost")

	// Wait: see WaitError.
	ErrAhead = errors.New("lease: window is too far ahead")

	// Set the clock of this machine or of the server right.
	ErrClock = errors.New("lease: clock is wrong")

	// Take again: the first take, if it happened, is wasted.
	ErrOutcomeUnknown = errors.New("lease: outcome of a change is unknown")

	// Nothing was taken: see to the store, and try again.
	ErrStore = errors.New("lease: the store does not answer")

	// It may forget what it acknowledged: the error says which setting.
	ErrUnsafe = errors.New("lease: settings of the store are not safe")

	// Use the secret of this space, or make another space.
	ErrWrongSecret = errors.New("lease: space of another secret")

	// Create the space.
	ErrNoSpace = errors.New("lease: no such space")

	// Call the move again. It wraps ErrNoSpace.
	ErrMoving = fmt.Errorf("%w: a move to it has not ended", ErrNoSpace)

	// Use the space that took its place.
	ErrRetired = errors.New("lease: the space is retired")

	// Use the one that is there.
	ErrExists = errors.New("lease: space exists")

	// Nothing was changed: see what wrote it.
	ErrCorrupt = errors.New("lease: data is corrupt")

	// The error says what is wanted.
	ErrInvalid = errors.New("lease: invalid argument")

	// Create the counter.
	ErrNoCounter = errors.New("lease: no such counter")

	// Set it to a number that is beyond all that were taken.
	ErrCounterLost = errors.New("lease: where the counter goes on is not known")

	// Take what the counter or space was made as, or another name.
	ErrMismatch = errors.New("lease: it was made as another one")

	// Make another counter, or wait for the next period.
	ErrCounterEnded = errors.New("lease: the counter has no number left")

	// Try again: they get on. Engines return it too.
	errBusy = backoff.ErrBusy
)

// A WaitError says that waiting helps: Err is ErrFull, ErrLoss or ErrAhead, and its reason is over
// from Until on.
type WaitError struct {
	Err   error
	Until time.Time
	Why   string
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("%v: %s: wait until %s", e.Err, e.Why, e.Until.UTC().Format(time.RFC3339))
}

func (e *WaitError) Unwrap() error { return e.Err }

// speakForThemselves are errors that say why a call changed nothing. context.Canceled belongs here,
// as the caller knows why. context.DeadlineExceeded does not: it means that the store did not answer
// in time, so it becomes ErrStore.
var speakForThemselves = []error{ErrStore, ErrNoSpace, ErrCorrupt, ErrUnsafe, fs.ErrClosed, context.Canceled}

// storeError wraps the error of a call that changed nothing: with ErrStore, unless it is one of
// those that speak for themselves.
func (s *Space) storeError(call string, err error) error {
	for _, why := range speakForThemselves {
		if errors.Is(err, why) {
			return fmt.Errorf("lease: %s: %s: %w", call, s, err)
		}
	}
	return fmt.Errorf("%w: %s: %s: %w", ErrStore, call, s, err)
}

// swapError wraps the error of a swap: with ErrOutcomeUnknown, unless the engine says by ErrStore that
// nothing was changed.
func (s *Space) swapError(err error) error {
	if errors.Is(err, ErrStore) {
		return s.storeError("swap", err)
	}
	return fmt.Errorf("%w: swap: %s: %w", ErrOutcomeUnknown, s, err)
}
