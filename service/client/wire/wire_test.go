package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/randflake/randflake/lease"
)

// TestError: errors arrive as what they were, with the code of their kind, and without where the data is or what a driver says.
func TestError(t *testing.T) {
	const place = `space "default" in db-7:5432`
	until := time.Now().Add(3 * time.Minute).Truncate(time.Second).UTC()
	for _, tt := range []struct {
		err   error
		code  connect.Code
		text  string
		whole bool
	}{
		{fmt.Errorf("%w: orders of %s", lease.ErrNoCounter, place), connect.CodeNotFound, "lease: no such counter: orders of its space", true},
		{&lease.WaitError{Err: lease.ErrFull, Until: until, Why: place}, connect.CodeResourceExhausted, "", true},
		{fmt.Errorf("take: %w", &lease.WaitError{Err: lease.ErrLoss, Until: until, Why: place}), connect.CodeUnavailable, "", true},
		{fmt.Errorf("%w: entry is \"this\"", lease.ErrCorrupt), connect.CodeDataLoss, "lease: data is corrupt; the service's log has more", false},
		{fmt.Errorf("dial tcp db-7:5432: %w", context.DeadlineExceeded), connect.CodeUnavailable, "lease: outcome of a change is unknown; the service's log has more", false},
		{fmt.Errorf("%w: in db-7:5432", lease.ErrNoSpace), connect.CodeUnavailable, "", false},
		{fmt.Errorf("%w: in db-7:5432", lease.ErrRetired), connect.CodeUnavailable, "lease: the space is retired; the service's log has more", false},
		{fmt.Errorf("%w: that of db-7:5432", lease.ErrClock), connect.CodeUnavailable, "", false},
		{fmt.Errorf("store in db-7:5432 %w", fs.ErrClosed), connect.CodeUnavailable, "", false},
		{errors.New("password of db-7:5432 is wrong"), connect.CodeUnavailable, "", false},
		{connect.NewError(connect.CodePermissionDenied, errors.New("no")), connect.CodePermissionDenied, "no", true},
	} {
		sent, whole := Error(tt.err, place)
		if sent.Code() != tt.code || whole != tt.whole || tt.text != "" && sent.Message() != tt.text || strings.Contains(sent.Message(), "db-7") {
			t.Errorf("%v: sent as %v, whole %v", tt.err, sent, whole)
		}
		Describe(sent, "procedure", true)
		for _, k := range kinds {
			if k.reason != "" && errors.Is(tt.err, k.err) && !errors.Is(Received(sent), k.err) {
				t.Errorf("%v: received as %v", tt.err, Received(sent))
			}
		}
		var had, got *lease.WaitError
		if !errors.As(tt.err, &had) {
			continue
		}
		if !errors.As(Received(sent), &got) || got.Err != had.Err || !got.Until.Equal(until) {
			t.Errorf("%v: received as %+v", tt.err, got)
		}
		pause, _ := sent.Details()[1].Value()
		if d := pause.(*errdetails.RetryInfo).RetryDelay.AsDuration(); d < 2*time.Minute || d > 3*time.Minute {
			t.Errorf("%v: to be tried again after %v", tt.err, d)
		}
	}
	if err := Received(fs.ErrClosed); err != fs.ErrClosed {
		t.Errorf("an error of the client's own: %v", err)
	}
}
