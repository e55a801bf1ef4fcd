// Package wire has the code that the service and its Go client share: it converts records and errors to messages and
// back.
package wire

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"connectrpc.com/connect"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/ulid"
)

// kinds are the errors that the client can distinguish, by a detail if kind is not UNSPECIFIED. The text of an inner
// error may contain text of a driver or of the data, such as addresses and tokens, which clients must not see.
var kinds = []struct {
	err   error
	code  connect.Code
	kind  api.Reason_Kind
	inner bool
}{
	{lease.ErrInvalidRequest, connect.CodeInvalidArgument, api.Reason_KIND_INVALID_REQUEST, false},
	{lease.ErrNoRange, connect.CodeResourceExhausted, api.Reason_KIND_NO_RANGE, false},
	{randflake.ErrEndOfLife, connect.CodeOutOfRange, api.Reason_KIND_END_OF_LIFE, false},
	{store.ErrWrongSecret, connect.CodeFailedPrecondition, api.Reason_KIND_WRONG_SECRET, false},
	{store.ErrCorrupt, connect.CodeDataLoss, api.Reason_KIND_CORRUPT, true},
	{store.ErrNoStore, connect.CodeUnavailable, api.Reason_KIND_NO_STORE, true},
	{randflake.ErrInvalidID, connect.CodeInvalidArgument, 0, false},
	{snowflake.ErrInvalidID, connect.CodeInvalidArgument, 0, false},
	{ulid.ErrInvalidID, connect.CodeInvalidArgument, 0, false},
	{counter.ErrInvalidName, connect.CodeInvalidArgument, api.Reason_KIND_INVALID_NAME, false},
	{counter.ErrInvalidOption, connect.CodeInvalidArgument, api.Reason_KIND_INVALID_OPTION, false},
	{counter.ErrInvalidToken, connect.CodeInvalidArgument, api.Reason_KIND_INVALID_TOKEN, false},
	{counter.ErrNoCounter, connect.CodeNotFound, api.Reason_KIND_NO_COUNTER, false},
	{counter.ErrMismatch, connect.CodeFailedPrecondition, api.Reason_KIND_MISMATCH, false},
	{counter.ErrForgotten, connect.CodeFailedPrecondition, api.Reason_KIND_FORGOTTEN, false},
	{counter.ErrEnd, connect.CodeOutOfRange, api.Reason_KIND_END, false},
	{counter.ErrRate, connect.CodeResourceExhausted, api.Reason_KIND_RATE, false},
	{store.ErrClock, connect.CodeUnavailable, api.Reason_KIND_CLOCK, true}, // after what else is wrong because of a clock
	{context.Canceled, connect.CodeCanceled, 0, true},
	{randflake.ErrExhausted, connect.CodeUnavailable, 0, false},
	{randflake.ErrLeaseNotStarted, connect.CodeUnavailable, 0, false},
	{randflake.ErrLeaseEnded, connect.CodeUnavailable, 0, false},
	{randflake.ErrClockBackward, connect.CodeUnavailable, 0, false},
	{randflake.ErrClosed, connect.CodeUnavailable, 0, false},
	{counter.ErrPending, connect.CodeUnavailable, 0, true},
	{counter.ErrClosed, connect.CodeUnavailable, 0, false},
	{fs.ErrClosed, connect.CodeUnavailable, 0, true},
}

// Error returns the error to send for err, and reports whether it contains the whole text. If not, the caller should
// log err: for an unknown error the message says only that the store failed. The text never contains place, the store's
// location.
func Error(err error, place string) (sent *connect.Error, whole bool) {
	if errors.As(err, &sent) {
		return sent, true
	}
	for _, k := range kinds {
		if !errors.Is(err, k.err) {
			continue
		}
		text := err.Error()
		if k.inner {
			text = k.err.Error() + "; the service's log has more"
		} else if place != "" {
			text = strings.ReplaceAll(text, place, "its space")
		}
		sent = connect.NewError(k.code, errors.New(text))
		for _, k := range kinds {
			if k.kind == 0 || !errors.Is(err, k.err) {
				continue
			}
			if detail, err := connect.NewErrorDetail(&api.Reason{Kind: k.kind}); err == nil {
				sent.AddDetail(detail)
			}
		}
		return sent, !k.inner
	}
	return connect.NewError(connect.CodeUnavailable, errors.New("the space's store failed, so that the outcome is unknown: ask again, as the procedure says; the service's log has more")), false
}

// A remoteError is an error of the service, together with the library's errors that it stands for.
type remoteError struct {
	text string
	all  []error
}

func (e *remoteError) Error() string   { return e.text }
func (e *remoteError) Unwrap() []error { return e.all }

// Received returns err, the error of a call, such that errors.Is finds the library's errors that the service had.
func Received(err error) error {
	var sent *connect.Error
	if !errors.As(err, &sent) {
		return err
	}
	var known []error
	for _, detail := range sent.Details() {
		value, err := detail.Value()
		reason, ok := value.(*api.Reason)
		if err != nil || !ok {
			continue
		}
		for _, k := range kinds {
			if k.kind != 0 && k.kind == reason.Kind {
				known = append(known, k.err)
			}
		}
	}
	if known == nil {
		return err
	}
	return &remoteError{sent.Message(), append(known, sent)}
}
