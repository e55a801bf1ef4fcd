package lease

import (
	"errors"
	"fmt"
	"time"
)

// Errors that carry more detail wrap one of these. The comment says what to do.
var (
	ErrFull      = errors.New("lease: all nodes of the window are taken")             // wait until the window ends: see WaitError
	ErrLoss      = errors.New("lease: data was lost")                                 // wait until the forgotten leases have ended: see WaitError
	ErrAhead     = errors.New("lease: window is too far ahead")                       // wait: see WaitError
	ErrClock     = errors.New("lease: clock is wrong")                                // set the clock of this machine or of the server right
	ErrUnknown   = errors.New("lease: outcome of a change is unknown")                // take again: the first take, if it happened, is wasted
	ErrUnsafe    = errors.New("lease: settings of the store are not safe")            // it may forget what it acknowledged: the error says which setting
	ErrSecret    = errors.New("lease: space of another secret")                       // use the secret of this space, or make another space
	ErrNoSpace   = errors.New("lease: no such space")                                 // create it
	ErrExists    = errors.New("lease: space exists")                                  // open it
	ErrCorrupt   = errors.New("lease: data is corrupt")                               // nothing was changed: see what wrote it
	ErrInvalid   = errors.New("lease: invalid argument")                              // the error says what is wanted
	ErrNoCounter = errors.New("lease: no such counter")                               // create it
	ErrCounter   = errors.New("lease: where the counter goes on is not known")        // set it to a number that is beyond all that were taken
	ErrEnd       = errors.New("lease: the counter has no number left")                // there is none
	errAgain     = errors.New("lease: the space changed meanwhile: look at it again") // never leaves the package
)

// A WaitError says that waiting helps: Err is ErrFull, ErrLoss or ErrAhead, and from Until on the reason is gone.
type WaitError struct {
	Err   error
	Until time.Time
	Why   string
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("%v: %s: wait until %s", e.Err, e.Why, e.Until.UTC().Format(time.RFC3339))
}

func (e *WaitError) Unwrap() error { return e.Err }
