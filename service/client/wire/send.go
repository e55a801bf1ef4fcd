package wire

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// Error returns the error to send for err, which a procedure returned, with the details that tell
// programs why: google.rpc.ErrorInfo, and google.rpc.RetryInfo where trying again helps. If err wraps
// a connect.Error, that one is sent, with its own code and text, and nothing of what is around it.
//
// Error reports whether the sent error contains the whole text. If it does not, the caller should log
// err. An error without a coding is sent as lease.ErrStore, so clients learn only that the store
// does not answer. The store's location is cut out of its text.
func Error(err error, procedure, location string) (sent *connect.Error, whole bool) {
	if sent, ok := errors.AsType[*connect.Error](err); ok {
		describe(sent, procedure)
		return sent, true
	}
	as := codingOf(err)
	if as.err == nil {
		as = codingOf(lease.ErrStore)
	}
	known := &knownError{text: err.Error(), all: []error{as.err}}
	if !as.shows {
		known.text = as.err.Error() + "; the service's log has more"
	}
	if location != "" {
		known.text = strings.ReplaceAll(known.text, location, "its space")
	}
	if wait, ok := errors.AsType[*lease.WaitError](err); ok {
		known.all = append(known.all, wait)
	}
	sent = connect.NewError(as.code, known)
	describe(sent, procedure)
	return sent, as.shows
}

// Pauses before a client should try again, where no WaitError says when.
const (
	usualPause   = time.Second
	noLeasePause = 5 * time.Second // until a service without a lease has asked for one again
)

// describe adds the details to an error. If it has no reason of its own, its code is the reason.
func describe(sent *connect.Error, procedure string) {
	reason := cmp.Or(codingOf(sent).reason, strings.ToUpper(sent.Code().String()))
	info := &errdetails.ErrorInfo{
		Reason:   reason,
		Domain:   domain,
		Metadata: map[string]string{procedureKey: procedure},
	}
	pause := usualPause
	if errors.Is(sent, randflake.ErrLeaseEnded) {
		pause = noLeasePause
	}
	if wait, ok := errors.AsType[*lease.WaitError](sent); ok {
		info.Metadata[untilKey] = strconv.FormatInt(wait.Until.Unix(), 10)
		pause = max(time.Until(wait.Until), 0)
	}
	if over, ok := errors.AsType[*LimitError](sent); ok {
		info.Metadata[limitKey] = strconv.FormatUint(over.Limit, 10)
	}
	addDetail(sent, info)
	switch sent.Code() {
	case connect.CodeUnavailable, connect.CodeResourceExhausted, connect.CodeDeadlineExceeded:
		addDetail(sent, &errdetails.RetryInfo{RetryDelay: durationpb.New(pause)})
	}
}

func addDetail(sent *connect.Error, message proto.Message) {
	if detail, err := connect.NewErrorDetail(message); err == nil {
		sent.AddDetail(detail)
	}
}
