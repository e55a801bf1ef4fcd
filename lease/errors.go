package lease

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/randflake/randflake/lease/internal/backoff"
)

// The errors of this package. Errors with more detail wrap one of these, so compare with [errors.Is].
var (
	// ErrFull says that all nodes of a window are taken. Wait until it ends: see [WaitError].
	ErrFull = errors.New("lease: all nodes of the window are taken")

	// ErrLoss says that the leases that a loss of data made the space forget may be in use. Wait until
	// they have ended: see [WaitError].
	ErrLoss = errors.New("lease: data was lost")

	// ErrAhead says that a window is further ahead than the limits allow. Wait: see [WaitError].
	ErrAhead = errors.New("lease: window is too far ahead")

	// ErrClock says that the clock of this machine or of the server is wrong. Set it right.
	ErrClock = errors.New("lease: clock is wrong")

	// ErrOutcomeUnknown says that a change may have happened or not. Take again: the first take, if it
	// happened, is wasted.
	ErrOutcomeUnknown = errors.New("lease: outcome of a change is unknown")

	// ErrStore says that the store failed, and nothing was taken. See to it, and try again.
	ErrStore = errors.New("lease: the store does not answer")

	// ErrUnsafe says that the store may forget what it acknowledged, and by which setting.
	ErrUnsafe = errors.New("lease: settings of the store are not safe")

	// ErrWrongSecret says that the space is another secret's. Use that one, or make another space.
	ErrWrongSecret = errors.New("lease: space of another secret")

	// ErrNoSpace says that there is no space of that name. Create it.
	ErrNoSpace = errors.New("lease: no such space")

	// ErrMoving says that a move to the space has not ended. Call it again. It wraps ErrNoSpace.
	ErrMoving = fmt.Errorf("%w: a move to it has not ended", ErrNoSpace)

	// ErrRetired says that the space grants nothing any more. Use the one that took its place.
	ErrRetired = errors.New("lease: the space is retired")

	// ErrExists says that there is a space or a counter already. Use it, or take another name.
	ErrExists = errors.New("lease: it exists")

	// ErrCorrupt says that an entry can't be read. Nothing was changed: see what wrote it.
	ErrCorrupt = errors.New("lease: data is corrupt")

	// ErrInvalid says that an argument can't be used, and what is wanted.
	ErrInvalid = errors.New("lease: invalid argument")

	// ErrNoCounter says that there is no counter of that name. Create it.
	ErrNoCounter = errors.New("lease: no such counter")

	// ErrCounterLost says that a counter may have forgotten numbers in a loss of data. Set it to a number
	// that is beyond all that were taken.
	ErrCounterLost = errors.New("lease: where the counter goes on is not known")

	// ErrMismatch says that a counter or a space was made as another one. Take what it was made as, or
	// another name.
	ErrMismatch = errors.New("lease: it was made as another one")

	// ErrCounterEnded says that a counter has no number left. Make another one, or wait for the next period.
	ErrCounterEnded = errors.New("lease: the counter has no number left")

	// errBusy says that other processes were faster. Try again: they get on. Engines return it too.
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

// changedNothing are errors that say why a call changed nothing. context.Canceled belongs here,
// as the caller knows why. context.DeadlineExceeded does not: it means that the store did not answer
// in time, so it becomes ErrStore.
var changedNothing = []error{ErrStore, ErrNoSpace, ErrCorrupt, ErrUnsafe, fs.ErrClosed, context.Canceled}

// storeError wraps the error of a call that changed nothing: with ErrStore, unless it is one of changedNothing.
func (s *Space) storeError(call string, err error) error {
	for _, why := range changedNothing {
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
