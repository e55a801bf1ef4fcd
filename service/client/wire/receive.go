package wire

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/randflake/randflake/lease"
)

// Received returns an error for err, which a call returned. In it errors.Is finds the library's
// error that the service had, and errors.As the lease.WaitError, or the LimitError with the limit.
func Received(err error) error {
	sent, info := infoOf(err)
	isReason := func(c coding) bool { return c.reason == info.GetReason() }
	at := slices.IndexFunc(codings, isReason)
	if info.GetReason() == "" || at < 0 {
		return err
	}
	as := codings[at].err
	known := &knownError{text: sent.Message(), all: []error{as, sent}}
	second, err := strconv.ParseInt(info.Metadata[untilKey], 10, 64)
	if err == nil {
		wait := &lease.WaitError{Err: as, Until: time.Unix(second, 0).UTC(), Why: sent.Message()}
		known.all = append(known.all, wait)
	}
	limit, err := strconv.ParseUint(info.Metadata[limitKey], 10, 64)
	if err == nil {
		known.all = append(known.all, &LimitError{Limit: limit})
	}
	return known
}

// Reason returns the reason of an error that a call returned, or "" if the service did not send it.
func Reason(err error) string {
	_, info := infoOf(err)
	return info.GetReason()
}

// infoOf returns the error that the service sent, and what it says for programs, or nil.
func infoOf(err error) (*connect.Error, *errdetails.ErrorInfo) {
	sent, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return nil, nil
	}
	for _, detail := range sent.Details() {
		value, _ := detail.Value()
		info, ok := value.(*errdetails.ErrorInfo)
		if ok && info.Domain == domain {
			return sent, info
		}
	}
	return nil, nil
}
