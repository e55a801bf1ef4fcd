package promises

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	_ "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/wire"
)

// protocol has each field, procedure and word of an enum, and how errors are sent.
func protocol(t *testing.T) (lines []string) {
	protoregistry.GlobalFiles.RangeFilesByPackage("randflake.v1", func(file protoreflect.FileDescriptor) bool {
		lines = append(lines, fieldsOf(file.Messages())...)
		for i := range file.Enums().Len() {
			words := file.Enums().Get(i).Values()
			for k := range words.Len() {
				lines = append(lines, fmt.Sprintf("%s: %d", words.Get(k).FullName(), words.Get(k).Number()))
			}
		}
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for k := range methods.Len() {
				m := methods.Get(k)
				lines = append(lines, fmt.Sprintf("%s: %s to %s", m.FullName(), m.Input().Name(), m.Output().Name()))
			}
		}
		return true
	})
	return slices.Concat(lines, reasons(t), overHTTP(t))
}

// overHTTP has the paths beside those of procedures, the headers that only this service gives a meaning, the statuses of
// errors, and which services a health check knows.
func overHTTP(t *testing.T) (lines []string) {
	s := startService(t)
	path := regexp.MustCompile(`^GET (/\w*)`)
	header := regexp.MustCompile(`^(X-Request-Id|Traceparent|Authorization|WWW-Authenticate)$`)
	for _, file := range sources(t) {
		if !strings.HasPrefix(file, "service/internal/") {
			continue
		}
		for _, text := range literals(t, file) {
			if found := path.FindStringSubmatch(text); found != nil {
				known, stranger := s.status(t, found[1], "Bearer "+bearer), s.status(t, found[1], "")
				lines = append(lines, fmt.Sprintf("path %s: GET, status %d, without a token %d", found[1], known, stranger))
			}
			if header.MatchString(text) {
				lines = append(lines, fmt.Sprintf("header %s: header", text))
			}
		}
	}
	for code := connect.CodeCanceled; code <= connect.CodeUnauthenticated; code++ {
		request := httptest.NewRequest("POST", "/", nil)
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		connect.NewErrorWriter().Write(answer, request, connect.NewError(code, errors.New("")))
		lines = append(lines, fmt.Sprintf("code %v: status %d", code, answer.Code))
	}
	for _, name := range []string{"", "randflake.v1.CounterService", "randflake.v1.IDService", "randflake.v1.LeaseService"} {
		answer := s.post(t, "/grpc.health.v1.Health/Check", fmt.Sprintf(`{"service":%q}`, name))
		lines = append(lines, fmt.Sprintf("grpc.health.v1.Health, service %q: %s", name, answer))
	}
	return lines
}

func fieldsOf(messages protoreflect.MessageDescriptors) (lines []string) {
	for i := range messages.Len() {
		message := messages.Get(i)
		for k := range message.Fields().Len() {
			f := message.Fields().Get(k)
			line := fmt.Sprintf("%s: %d, %s %s", f.FullName(), f.Number(), f.Cardinality(), f.Kind())
			if f.HasOptionalKeyword() {
				line += ", which may be absent"
			}
			lines = append(lines, line)
		}
		lines = append(lines, fieldsOf(message.Messages())...)
	}
	return lines
}

// reasons has what clients are sent for each error: a reason, its code and its metadata.
func reasons(t *testing.T) (lines []string) {
	for _, err := range []error{
		&lease.WaitError{Err: lease.ErrFull},
		&lease.WaitError{Err: lease.ErrLoss},
		&lease.WaitError{Err: lease.ErrAhead},
		lease.ErrInvalid,
		lease.ErrWrongSecret,
		lease.ErrNoCounter,
		lease.ErrCounterLost,
		lease.ErrCounterEnded,
		lease.ErrMismatch,
		lease.ErrCorrupt,
		lease.ErrMoving,
		lease.ErrNoSpace,
		lease.ErrRetired,
		lease.ErrUnsafe,
		lease.ErrClock,
		lease.ErrOutcomeUnknown,
		lease.ErrStore,
		randflake.ErrEndOfLife,
		randflake.ErrExhausted,
		randflake.ErrLeaseEnded,
		randflake.ErrLeaseNotStarted,
		randflake.ErrClockBackward,
		randflake.ErrInvalidID,
		wire.ErrRate,
		wire.ErrBusy,
		wire.ErrUnknownSpace,
		wire.ErrNoStore,
		wire.ErrNoSecret,
		connect.NewError(connect.CodePermissionDenied, &wire.LimitError{What: "count", Asked: 2, Limit: 1}),
		connect.NewError(connect.CodePermissionDenied, errors.New("")),
		connect.NewError(connect.CodeUnauthenticated, errors.New("")),
		connect.NewError(connect.CodeUnavailable, errors.New("")),
		context.DeadlineExceeded,
		context.Canceled,
	} {
		sent, _ := wire.Error(err, "PROCEDURE", "")
		for _, detail := range sent.Details() {
			value, err := detail.Value()
			require.NoError(t, err)
			if info, ok := value.(*errdetails.ErrorInfo); ok {
				keys := strings.Join(slices.Sorted(maps.Keys(info.Metadata)), " ")
				lines = append(lines, fmt.Sprintf("reason %s: %s of %s, metadata %s", info.Reason, sent.Code(), info.Domain, keys))
			}
		}
	}
	return lines
}
