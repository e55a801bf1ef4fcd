// Package wire is what the service and its Go client have in common: how records and errors are sent.
package wire

import (
	"context"
	"errors"
	"io/fs"

	"connectrpc.com/connect"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/segments"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/ulid"
)

// kinds are the errors that are told apart on the other side, by a detail where it is not UNSPECIFIED.
var kinds = []struct {
	err  error
	code connect.Code
	kind api.Reason_Kind
}{
	{lease.ErrInvalidRequest, connect.CodeInvalidArgument, api.Reason_KIND_INVALID_REQUEST},
	{lease.ErrNoRange, connect.CodeResourceExhausted, api.Reason_KIND_NO_RANGE},
	{randflake.ErrEndOfLife, connect.CodeOutOfRange, api.Reason_KIND_END_OF_LIFE},
	{store.ErrWrongSecret, connect.CodeFailedPrecondition, api.Reason_KIND_WRONG_SECRET},
	{store.ErrClock, connect.CodeUnavailable, api.Reason_KIND_CLOCK},
	{store.ErrCorrupt, connect.CodeDataLoss, api.Reason_KIND_CORRUPT},
	{store.ErrNoStore, connect.CodeUnavailable, api.Reason_KIND_NO_STORE},
	{randflake.ErrInvalidID, connect.CodeInvalidArgument, 0},
	{snowflake.ErrInvalidID, connect.CodeInvalidArgument, 0},
	{ulid.ErrInvalidID, connect.CodeInvalidArgument, 0},
	{segments.ErrInvalidName, connect.CodeInvalidArgument, api.Reason_KIND_INVALID_NAME},
	{segments.ErrInvalidOption, connect.CodeInvalidArgument, api.Reason_KIND_INVALID_OPTION},
	{segments.ErrInvalidToken, connect.CodeInvalidArgument, api.Reason_KIND_INVALID_TOKEN},
	{segments.ErrNoCounter, connect.CodeNotFound, api.Reason_KIND_NO_COUNTER},
	{segments.ErrMismatch, connect.CodeFailedPrecondition, api.Reason_KIND_MISMATCH},
	{segments.ErrForgotten, connect.CodeFailedPrecondition, api.Reason_KIND_FORGOTTEN},
	{segments.ErrEnd, connect.CodeOutOfRange, api.Reason_KIND_END},
	{segments.ErrRate, connect.CodeResourceExhausted, api.Reason_KIND_RATE},
	{context.Canceled, connect.CodeCanceled, 0},
	{context.DeadlineExceeded, connect.CodeDeadlineExceeded, 0},
	{randflake.ErrExhausted, connect.CodeUnavailable, 0},
	{randflake.ErrLeaseNotStarted, connect.CodeUnavailable, 0},
	{randflake.ErrLeaseEnded, connect.CodeUnavailable, 0},
	{randflake.ErrClockBackward, connect.CodeUnavailable, 0},
	{randflake.ErrClosed, connect.CodeUnavailable, 0},
	{segments.ErrPending, connect.CodeUnavailable, 0},
	{segments.ErrClosed, connect.CodeUnavailable, 0},
	{fs.ErrClosed, connect.CodeUnavailable, 0},
}

// Error returns err as it is sent, and reports whether it is one of those that are known. Of any other the message says
// nothing but that the store failed, as there may be something in it that is no business of clients.
func Error(err error) (sent *connect.Error, known bool) {
	if errors.As(err, &sent) {
		return sent, true
	}
	for _, k := range kinds {
		if !errors.Is(err, k.err) {
			continue
		}
		sent = connect.NewError(k.code, err)
		if k.kind != 0 {
			if detail, err := connect.NewErrorDetail(&api.Reason{Kind: k.kind}); err == nil {
				sent.AddDetail(detail)
			}
		}
		return sent, true
	}
	return connect.NewError(connect.CodeUnavailable, errors.New("the space's store failed, so that the outcome is unknown: ask again, as the procedure says; the service's log has more")), false
}

// A remoteError is an error of the service with the one of this library that it stands for.
type remoteError struct {
	text        string
	known, sent error
}

func (e *remoteError) Error() string   { return e.text }
func (e *remoteError) Unwrap() []error { return []error{e.known, e.sent} }

// Received returns an error of a call such that errors.Is finds what it was on the other side.
func Received(err error) error {
	var sent *connect.Error
	if !errors.As(err, &sent) {
		return err
	}
	for _, detail := range sent.Details() {
		value, err := detail.Value()
		reason, ok := value.(*api.Reason)
		if err != nil || !ok {
			continue
		}
		for _, k := range kinds {
			if k.kind != 0 && k.kind == reason.Kind {
				return &remoteError{sent.Message(), k.err, sent}
			}
		}
	}
	return err
}
