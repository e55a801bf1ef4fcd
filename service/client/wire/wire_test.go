package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
)

// place is where the data is, which no client may see, nor what a driver says of it.
const place = `space "default" in db-7:5432`

const more = "; the service's log has more"

// TestError: errors arrive as what they were, with the code of their kind, and without where the
// data is or what a driver says.
func TestError(t *testing.T) {
	for _, tt := range []struct {
		err    error
		code   connect.Code
		reason string // empty if the client can't tell it from others
		text   string // what is shown beside the error's own text
	}{
		{lease.ErrFull, connect.CodeResourceExhausted, "FULL", ": of its space"},
		{lease.ErrLoss, connect.CodeUnavailable, "LOSS", ": of its space"},
		{lease.ErrAhead, connect.CodeUnavailable, "AHEAD", ": of its space"},
		{lease.ErrInvalid, connect.CodeInvalidArgument, "INVALID_ARGUMENT", ": of its space"},
		{lease.ErrWrongSecret, connect.CodeFailedPrecondition, "WRONG_SECRET", ": of its space"},
		{lease.ErrNoCounter, connect.CodeNotFound, "NO_COUNTER", ": of its space"},
		{lease.ErrCounterLost, connect.CodeFailedPrecondition, "COUNTER_LOST", ": of its space"},
		{lease.ErrCounterEnded, connect.CodeOutOfRange, "COUNTER_ENDED", ": of its space"},
		{lease.ErrMismatch, connect.CodeFailedPrecondition, "COUNTER_MISMATCH", ": of its space"},
		{lease.ErrCorrupt, connect.CodeDataLoss, "CORRUPT", more},
		{lease.ErrNoSpace, connect.CodeUnavailable, "NO_SPACE", more},
		{lease.ErrMoving, connect.CodeUnavailable, "MOVING", more},
		{lease.ErrRetired, connect.CodeUnavailable, "RETIRED", more},
		{lease.ErrUnsafe, connect.CodeUnavailable, "UNSAFE", more},
		{lease.ErrClock, connect.CodeUnavailable, "CLOCK", more},
		{lease.ErrOutcomeUnknown, connect.CodeUnavailable, "OUTCOME_UNKNOWN", more},
		{context.Canceled, connect.CodeCanceled, "", more},
		{lease.ErrStore, connect.CodeUnavailable, "STORE", more},
		{context.DeadlineExceeded, connect.CodeDeadlineExceeded, "", more},
		{randflake.ErrEndOfLife, connect.CodeOutOfRange, "END_OF_LIFE", ": of its space"},
		{randflake.ErrInvalidID, connect.CodeInvalidArgument, "INVALID_ID", ": of its space"},
		{randflake.ErrExhausted, connect.CodeDeadlineExceeded, "EXHAUSTED", ": of its space"},
		{randflake.ErrLeaseNotStarted, connect.CodeDeadlineExceeded, "LEASE_NOT_STARTED", ": of its space"},
		{randflake.ErrLeaseEnded, connect.CodeUnavailable, "LEASE_ENDED", ": of its space"},
		{randflake.ErrClockBackward, connect.CodeDeadlineExceeded, "CLOCK_BACKWARD", ": of its space"},
		{randflake.ErrClosed, connect.CodeUnavailable, "", ": of its space"},
		{counter.ErrPending, connect.CodeUnavailable, "", more},
		{counter.ErrClosed, connect.CodeUnavailable, "", ": of its space"},
		{fs.ErrClosed, connect.CodeUnavailable, "", more},
		{ErrRate, connect.CodeResourceExhausted, "RATE", ": of its space"},
		{ErrBusy, connect.CodeUnavailable, "BUSY", ": of its space"},
		{ErrUnknownSpace, connect.CodeNotFound, "UNKNOWN_SPACE", ": of its space"},
		{ErrNoStore, connect.CodeFailedPrecondition, "NO_STORE", ": of its space"},
		{ErrNoSecret, connect.CodeFailedPrecondition, "NO_SECRET", ": of its space"},
		{errLimit, connect.CodePermissionDenied, "LIMIT", ": of its space"},
	} {
		had := fmt.Errorf("%w: of %s", tt.err, place)
		sent, whole := Error(had, "procedure", place)
		want := tt.err.Error() + tt.text
		require.That(t, sent.Code() == tt.code && sent.Message() == want && whole == (tt.text != more),
			"%v: sent as %v, whole %v; want %v: %s", had, sent, whole, tt.code, want)
		got := Received(arrived(t, sent))
		if errors.Is(got, tt.err) != (tt.reason != "") || tt.reason != "" && got.Error() != sent.Message() {
			t.Errorf("%v: received as %v", had, got)
		}
		require.Equal(t, connect.CodeOf(got), tt.code, "%v: received with code", had)
		require.Equal(t, Reason(got), cmp.Or(tt.reason, strings.ToUpper(tt.code.String())), "%v: received with reason", had)
		wait := (*lease.WaitError)(nil)
		require.That(t, !errors.As(got, &wait), "%v: received as %+v, and nobody knows until when to wait", had, wait)
		info := detail[*errdetails.ErrorInfo](sent)
		procedure := info.GetMetadata()["procedure"]
		require.That(t, info.GetDomain() == "randflake" && procedure == "procedure", "%v: described as %v", had, info)
		for _, k := range codings {
			if !errors.Is(tt.err, k.err) && k.reason != "" && errors.Is(got, k.err) {
				t.Errorf("%v: received as %v, too", had, k.err)
			}
		}
	}
}

// TestOther: an error of no kind shows nothing, one that was made to be sent is sent, and without a
// place there is nothing to hide.
func TestOther(t *testing.T) {
	for _, tt := range []struct {
		err    error
		code   connect.Code
		reason string
	}{
		{errors.New("password of db-7:5432 is wrong"), connect.CodeUnavailable, "STORE"},
		{fmt.Errorf("dial tcp db-7:5432: %w", context.DeadlineExceeded), connect.CodeDeadlineExceeded, "DEADLINE_EXCEEDED"},
		{fmt.Errorf("%w: dial tcp db-7:5432: %w", lease.ErrStore, context.DeadlineExceeded), connect.CodeUnavailable, "STORE"},
		{fmt.Errorf("%w: dial tcp db-7:5432: %w", lease.ErrStore, context.Canceled), connect.CodeCanceled, "CANCELED"},
		{fmt.Errorf("%w: read tcp db-7:5432: %w", lease.ErrOutcomeUnknown, context.Canceled), connect.CodeUnavailable, "OUTCOME_UNKNOWN"},
		{fmt.Errorf("%w: db-7: %w", randflake.ErrExhausted, context.Canceled), connect.CodeCanceled, "CANCELED"},
	} {
		sent, whole := Error(tt.err, "procedure", place)
		reason := detail[*errdetails.ErrorInfo](sent).GetReason()
		shows := whole || strings.Contains(sent.Message(), "db-7")
		require.That(t, sent.Code() == tt.code && reason == tt.reason && !shows,
			"%v: sent as %v, reason %s, whole %v", tt.err, sent, reason, whole)
	}
	denied := connect.NewError(connect.CodePermissionDenied, errors.New("no"))
	if sent, whole := Error(fmt.Errorf("it: %w", denied), "procedure", place); sent != denied || !whole {
		t.Errorf("sent as %v, whole %v; want %v", sent, whole, denied)
	}
	shown, _ := Error(fmt.Errorf("%w: 7", lease.ErrInvalid), "procedure", "")
	require.Equal(t, shown.Message(), lease.ErrInvalid.Error()+": 7", "without a place: %v", shown)
	require.That(t, Received(fs.ErrClosed) == fs.ErrClosed && Reason(fs.ErrClosed) == "", "an error of the client's own")
	for _, message := range []proto.Message{
		&errdetails.ErrorInfo{Reason: "FULL", Domain: "example.org"},
		&errdetails.ErrorInfo{Domain: domain},
		&errdetails.RetryInfo{},
	} {
		other := connect.NewError(connect.CodeUnavailable, errors.New("of a proxy"))
		made, err := connect.NewErrorDetail(message)
		require.NoError(t, err)
		other.AddDetail(made)
		if got := Received(arrived(t, other)); errors.Is(got, lease.ErrFull) || got.Error() != other.Error() {
			t.Errorf("an error of somebody else, with %v: received as %v", message, got)
		}
	}
}

// TestLimitError: programs learn how much a call may ask for.
func TestLimitError(t *testing.T) {
	why := fmt.Errorf("denied: %w", &LimitError{What: "count", Asked: 6, Limit: 5})
	over, _ := Error(connect.NewError(connect.CodePermissionDenied, why), "procedure", place)
	var got *LimitError
	known := errors.As(Received(arrived(t, over)), &got)
	says := over.Message() == "denied: count 6: the limit is 5" && Reason(over) == "LIMIT"
	require.That(t, known && got.Error() == "the limit is 5" && says, "%v, with the limit %v", over, got)
}

// TestWait: clients learn until when to wait, or else after what pause to try again, where that
// helps.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(3 * time.Minute).UTC()
		full := &lease.WaitError{Err: lease.ErrFull, Until: until, Why: place}
		past := &lease.WaitError{Err: lease.ErrFull, Until: time.Now().Add(-time.Minute), Why: place}
		for _, tt := range []struct {
			err   error
			pause time.Duration
			until time.Time
		}{
			{full, 3 * time.Minute, until},
			{fmt.Errorf("take: %w", full), 3 * time.Minute, until},
			{past, 0, past.Until},
			{fmt.Errorf("%w: %w", randflake.ErrLeaseEnded, full), 3 * time.Minute, until},
			{randflake.ErrLeaseEnded, 5 * time.Second, time.Time{}},
			{randflake.ErrExhausted, time.Second, time.Time{}},
			{lease.ErrInvalid, -1, time.Time{}},
		} {
			sent, _ := Error(tt.err, "procedure", place)
			require.Omits(t, sent.Message(), "db-7", "%v: sent as", tt.err)
			pause := time.Duration(-1)
			if retry := detail[*errdetails.RetryInfo](sent); retry != nil {
				pause = retry.RetryDelay.AsDuration()
			}
			require.Equal(t, pause, tt.pause, "%v: to be tried again after", tt.err)
			got := (*lease.WaitError)(nil)
			known := errors.As(Received(arrived(t, sent)), &got)
			if known != !tt.until.IsZero() || known && (got.Err != lease.ErrFull || !got.Until.Equal(tt.until)) {
				t.Errorf("%v: received as %+v, want until %v", tt.err, got, tt.until)
			}
		}
	})
}

// arrived returns an error as it is at the other end.
func arrived(t *testing.T, sent *connect.Error) *connect.Error {
	t.Helper()
	made := connect.NewWireError(sent.Code(), errors.New(sent.Message()))
	for _, d := range sent.Details() {
		value, err := d.Value()
		require.NoError(t, err)
		again, err := connect.NewErrorDetail(value)
		require.NoError(t, err)
		made.AddDetail(again)
	}
	return made
}

// detail returns a detail of an error, or the zero one.
func detail[M proto.Message](sent *connect.Error) (found M) {
	for _, d := range sent.Details() {
		if value, err := d.Value(); err == nil {
			if of, ok := value.(M); ok {
				found = of
			}
		}
	}
	return found
}

// TestCounter: a counter arrives as it was.
func TestCounter(t *testing.T) {
	want := lease.Counter{
		Name:    "orders",
		Start:   1,
		Step:    2,
		Last:    9,
		Periods: "year@UTC",
		Series:  "aa",
		Next:    4,
		Period:  "2026",
		Lost:    true,
	}
	require.Equal(t, ReadCounter(Counter(want)), want, "as it comes back")
	want.Last, want.Next = math.MaxInt64, -1
	require.That(t, Counter(want).Next == nil && ReadCounter(Counter(want)) == want, "one without a number that is left")
	var none *api.Counter
	require.Equal(t, ReadCounter(none), lease.Counter{Next: -1}, "no counter")
}
