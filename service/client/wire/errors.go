// Package wire has the code that the service and its Go client share: it converts errors and counters to messages and back.
package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
)

// A coding is how an error is sent.
type coding struct {
	err    error
	code   connect.Code
	reason string // in ErrorInfo, by which the client can distinguish it
	inner  bool   // its text may have that of a driver or of the data, such as addresses, which clients must not see
}

// codings are the errors that the service sends with a code of their own. The first one counts that an error wraps.
var codings = []coding{
	{lease.ErrFull, connect.CodeResourceExhausted, "FULL", false},
	{lease.ErrLoss, connect.CodeUnavailable, "LOSS", false},
	{lease.ErrAhead, connect.CodeUnavailable, "AHEAD", false},
	{lease.ErrInvalid, connect.CodeInvalidArgument, "INVALID", false},
	{lease.ErrSecret, connect.CodeFailedPrecondition, "SECRET", false},
	{lease.ErrNoCounter, connect.CodeNotFound, "NO_COUNTER", false},
	{lease.ErrCounter, connect.CodeFailedPrecondition, "COUNTER", false},
	{lease.ErrEnd, connect.CodeOutOfRange, "END", false},
	{lease.ErrExists, connect.CodeAlreadyExists, "EXISTS", false},
	{lease.ErrMismatch, connect.CodeFailedPrecondition, "MISMATCH", false},
	{lease.ErrCorrupt, connect.CodeDataLoss, "CORRUPT", true},
	{lease.ErrNoSpace, connect.CodeUnavailable, "NO_SPACE", true},
	{lease.ErrRetired, connect.CodeUnavailable, "RETIRED", true},
	{lease.ErrUnsafe, connect.CodeUnavailable, "UNSAFE", true},
	{lease.ErrClock, connect.CodeUnavailable, "CLOCK", true}, // after what else is wrong because of a clock
	{lease.ErrUnknown, connect.CodeUnavailable, "UNKNOWN", true},
	{context.Canceled, connect.CodeCanceled, "", true},
	{lease.ErrStore, connect.CodeUnavailable, "STORE", true},
	{context.DeadlineExceeded, connect.CodeDeadlineExceeded, "", true},
	{randflake.ErrEndOfLife, connect.CodeOutOfRange, "END_OF_LIFE", false},
	{randflake.ErrInvalidID, connect.CodeInvalidArgument, "", false}, // of any kind
	{randflake.ErrExhausted, connect.CodeUnavailable, "", false},
	{randflake.ErrLeaseNotStarted, connect.CodeUnavailable, "", false},
	{randflake.ErrLeaseEnded, connect.CodeUnavailable, "", false},
	{randflake.ErrClockBackward, connect.CodeUnavailable, "", false},
	{randflake.ErrClosed, connect.CodeUnavailable, "", false},
	{counter.ErrPending, connect.CodeUnavailable, "", true},
	{counter.ErrClosed, connect.CodeUnavailable, "", false},
	{fs.ErrClosed, connect.CodeUnavailable, "", true},
}

// Error returns the error to send for err, of a procedure, with the details that tell programs why: google.rpc.ErrorInfo, and
// google.rpc.RetryInfo where trying again helps. It reports whether the error contains the whole text. If not, the caller should log
// err: for another error, which no change has, the message says only that the store does not answer. The text never contains place,
// the store's location.
func Error(err error, procedure, place string) (sent *connect.Error, whole bool) {
	if errors.As(err, &sent) {
		describe(sent, procedure)
		return sent, true
	}
	as := codingOf(err)
	if as.err == nil {
		as = codingOf(lease.ErrStore)
	}
	known := &knownError{as.err.Error() + "; the service's log has more", []error{as.err}}
	if !as.inner {
		known.text = err.Error()
	}
	if place != "" {
		known.text = strings.ReplaceAll(known.text, place, "its space")
	}
	if wait := (*lease.WaitError)(nil); errors.As(err, &wait) {
		known.all = append(known.all, wait)
	}
	sent = connect.NewError(as.code, known)
	describe(sent, procedure)
	return sent, !as.inner
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

// A knownError stands for errors of the library: on its way, with the text that clients may see, or as received.
type knownError struct {
	text string
	all  []error
}

func (e *knownError) Error() string   { return e.text }
func (e *knownError) Unwrap() []error { return e.all }

// A LimitError says that a call asks for more than a rule, or a space, allows.
type LimitError struct {
	What         string
	Asked, Limit uint64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s %d: the limit is %d", e.What, e.Asked, e.Limit)
}

const (
	domain     = "randflake"
	limit      = "limit"         // the key of how much a call may ask for
	until      = "until"         // the key of the Unix second from which on the reason is gone
	noLease    = 5 * time.Second // between attempts of a service without a lease
	retryAfter = time.Second     // where trying again helps, and nobody knows when
)

// describe adds the details. The reason of an error that has no other is its code.
func describe(sent *connect.Error, procedure string) {
	reason := cmp.Or(codingOf(sent).reason, strings.ToUpper(sent.Code().String()))
	info := &errdetails.ErrorInfo{Reason: reason, Domain: domain, Metadata: map[string]string{"procedure": procedure}}
	pause := retryAfter
	if errors.Is(sent, randflake.ErrLeaseEnded) {
		pause = noLease
	}
	if wait := (*lease.WaitError)(nil); errors.As(sent, &wait) {
		info.Metadata[until] = strconv.FormatInt(wait.Until.Unix(), 10)
		pause = max(time.Until(wait.Until), 0)
	}
	if over := (*LimitError)(nil); errors.As(sent, &over) {
		info.Metadata[limit] = strconv.FormatUint(over.Limit, 10)
	}
	details := []proto.Message{info}
	if sent.Code() == connect.CodeUnavailable || sent.Code() == connect.CodeResourceExhausted {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(pause)})
	}
	for _, message := range details {
		if detail, err := connect.NewErrorDetail(message); err == nil {
			sent.AddDetail(detail)
		}
	}
}

// Received returns err, the error of a call, such that errors.Is finds the library's errors that the service had, and errors.As
// the lease.WaitError.
func Received(err error) error {
	var sent *connect.Error
	if !errors.As(err, &sent) {
		return err
	}
	for _, detail := range sent.Details() {
		value, _ := detail.Value()
		info, ok := value.(*errdetails.ErrorInfo)
		if !ok || info.Domain != domain {
			continue
		}
		for _, c := range codings {
			if c.reason == "" || c.reason != info.Reason {
				continue
			}
			known := []error{c.err, sent}
			if second, err := strconv.ParseInt(info.Metadata[until], 10, 64); err == nil {
				known = append(known, &lease.WaitError{Err: c.err, Until: time.Unix(second, 0).UTC(), Why: sent.Message()})
			}
			return &knownError{sent.Message(), known}
		}
	}
	return err
}

// Counter returns the message for a counter.
func Counter(c lease.Counter) *api.Counter {
	return &api.Counter{
		Name:    c.Name,
		Start:   c.Start,
		Step:    c.Step,
		End:     c.End,
		Periods: c.Periods,
		Check:   c.Check,
		Next:    c.Next,
		Period:  c.Period,
		Lost:    c.Lost,
	}
}

// ReadCounter reads what Counter returned.
func ReadCounter(c *api.Counter) lease.Counter {
	return lease.Counter{
		Name:    c.GetName(),
		Start:   c.GetStart(),
		Step:    c.GetStep(),
		End:     c.GetEnd(),
		Periods: c.GetPeriods(),
		Check:   c.GetCheck(),
		Next:    c.GetNext(),
		Period:  c.GetPeriod(),
		Lost:    c.GetLost(),
	}
}
