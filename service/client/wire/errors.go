// Package wire has the code that the service and its Go client share. [Error] turns an error of the
// library into one that can be sent, and [Received] turns that back. [Counter] and [ReadCounter] do
// the same with counters.
package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"connectrpc.com/connect"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
)

// A coding is how an error is sent.
type coding struct {
	err    error
	code   connect.Code
	reason string // in ErrorInfo, for programs, and by which the client finds err again; or ""
	shows  bool   // whether clients see its text
}

// The text of an error may contain texts of drivers or of the data, such as addresses: then it is
// hidden, and clients see only the text of coding.err.
const (
	shown  = true
	hidden = false
)

// Errors of the service alone.
var (
	ErrRate         = errors.New("too many calls")
	ErrBusy         = errors.New("the service is busy")
	ErrUnknownSpace = errors.New("the service has no such space")
	ErrNoStore      = errors.New("no store")
	ErrNoSecret     = errors.New("the service does not have the secret")
	errLimit        = errors.New("beyond a limit") // see LimitError
)

// codings are the errors that the service sends with a code of their own. If an error wraps several of
// them, the first one counts.
var codings = []coding{
	{lease.ErrFull, connect.CodeResourceExhausted, "FULL", shown},
	{lease.ErrLoss, connect.CodeUnavailable, "LOSS", shown},
	{lease.ErrAhead, connect.CodeUnavailable, "AHEAD", shown},
	{lease.ErrInvalid, connect.CodeInvalidArgument, "INVALID_ARGUMENT", shown},
	{lease.ErrWrongSecret, connect.CodeFailedPrecondition, "WRONG_SECRET", shown},
	{lease.ErrNoCounter, connect.CodeNotFound, "NO_COUNTER", shown},
	{lease.ErrCounterLost, connect.CodeFailedPrecondition, "COUNTER_LOST", shown},
	{lease.ErrCounterEnded, connect.CodeOutOfRange, "COUNTER_ENDED", shown},
	{lease.ErrMismatch, connect.CodeFailedPrecondition, "COUNTER_MISMATCH", shown},
	{lease.ErrCorrupt, connect.CodeDataLoss, "CORRUPT", hidden},
	{lease.ErrMoving, connect.CodeUnavailable, "MOVING", hidden}, // it wraps ErrNoSpace
	{lease.ErrNoSpace, connect.CodeUnavailable, "NO_SPACE", hidden},
	{lease.ErrRetired, connect.CodeUnavailable, "RETIRED", hidden},
	{lease.ErrUnsafe, connect.CodeUnavailable, "UNSAFE", hidden},
	// Causes, after the effects above that they may have.
	{lease.ErrClock, connect.CodeUnavailable, "CLOCK", hidden},
	{lease.ErrOutcomeUnknown, connect.CodeUnavailable, "OUTCOME_UNKNOWN", hidden},
	{context.Canceled, connect.CodeCanceled, "", hidden},
	{lease.ErrStore, connect.CodeUnavailable, "STORE", hidden},
	// What a call waited for until its deadline, before that.
	{randflake.ErrExhausted, connect.CodeDeadlineExceeded, "EXHAUSTED", shown},
	{randflake.ErrLeaseNotStarted, connect.CodeDeadlineExceeded, "LEASE_NOT_STARTED", shown},
	{randflake.ErrClockBackward, connect.CodeDeadlineExceeded, "CLOCK_BACKWARD", shown},
	{context.DeadlineExceeded, connect.CodeDeadlineExceeded, "", hidden},
	{randflake.ErrEndOfLife, connect.CodeOutOfRange, "END_OF_LIFE", shown},
	{randflake.ErrInvalidID, connect.CodeInvalidArgument, "INVALID_ID", shown}, // of any kind
	{randflake.ErrLeaseEnded, connect.CodeUnavailable, "LEASE_ENDED", shown},
	{randflake.ErrClosed, connect.CodeUnavailable, "", shown},
	{counter.ErrPending, connect.CodeUnavailable, "", hidden},
	{counter.ErrClosed, connect.CodeUnavailable, "", shown},
	{fs.ErrClosed, connect.CodeUnavailable, "", hidden},
	{ErrRate, connect.CodeResourceExhausted, "RATE", shown},
	{ErrBusy, connect.CodeUnavailable, "BUSY", shown},
	{ErrUnknownSpace, connect.CodeNotFound, "UNKNOWN_SPACE", shown},
	{ErrNoStore, connect.CodeFailedPrecondition, "NO_STORE", shown},
	{ErrNoSecret, connect.CodeFailedPrecondition, "NO_SECRET", shown},
	{errLimit, connect.CodePermissionDenied, "LIMIT", shown},
}

// codingOf returns how an error is sent, or the zero coding.
func codingOf(err error) coding {
	for _, c := range codings {
		if errors.Is(err, c.err) {
			return c
		}
	}
	return coding{}
}

// A knownError stands for errors of the library. The service makes one to send, with the text that
// clients may see, and the client makes one of what it received.
type knownError struct {
	text string
	all  []error
}

func (e *knownError) Error() string   { return e.text }
func (e *knownError) Unwrap() []error { return e.all }

// A LimitError says that a call asks for more than a rule, or a space, allows. A client has Limit alone.
type LimitError struct {
	What         string
	Asked, Limit uint64
}

func (e *LimitError) Error() string {
	if e.What == "" {
		return fmt.Sprintf("the limit is %d", e.Limit)
	}
	return fmt.Sprintf("%s %d: the limit is %d", e.What, e.Asked, e.Limit)
}

func (e *LimitError) Unwrap() error { return errLimit }

// The domain of ErrorInfo, and the keys of its metadata.
const (
	domain       = "randflake"
	procedureKey = "procedure"
	limitKey     = "limit" // how much a call may ask for
	untilKey     = "until" // the Unix second from which on the reason is gone
)
