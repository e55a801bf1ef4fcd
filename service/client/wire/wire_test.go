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

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/store"
)

// TestError: errors arrive as what they were, with the code of their kind, and without where the data is or what a driver
// says.
func TestError(t *testing.T) {
	const place = `space "default" in db-7:5432`
	for _, tt := range []struct {
		err   error
		code  connect.Code
		text  string
		whole bool
	}{
		{fmt.Errorf("%w: orders in %s", counter.ErrNoCounter, place), connect.CodeNotFound, "counter: no counter: orders in its space", true},
		{fmt.Errorf("%w: %s: others were faster", lease.ErrNoRange, place), connect.CodeResourceExhausted, "lease: no free range of nodes: its space: others were faster", true},
		{fmt.Errorf("%w: record n/00000 is \"token\"", store.ErrCorrupt), connect.CodeDataLoss, "store: data is corrupt; the service's log has more", false},
		{fmt.Errorf("dial tcp db-7:5432: %w", context.DeadlineExceeded), connect.CodeUnavailable, "the space's store failed, so that the outcome is unknown: ask again, as the procedure says; the service's log has more", false},
		{fmt.Errorf("%w: in db-7:5432", store.ErrNoStore), connect.CodeUnavailable, "", false},
		{fmt.Errorf("%w: the data is another copy", store.ErrClock), connect.CodeUnavailable, "", false},
		{fmt.Errorf("store in db-7:5432 %w", fs.ErrClosed), connect.CodeUnavailable, "", false},
		{errors.New("password of db-7:5432 is wrong"), connect.CodeUnavailable, "", false},
		{connect.NewError(connect.CodePermissionDenied, errors.New("no")), connect.CodePermissionDenied, "no", true},
	} {
		sent, whole := Error(tt.err, place)
		if sent.Code() != tt.code || whole != tt.whole || tt.text != "" && sent.Message() != tt.text || strings.Contains(sent.Message(), "db-7") {
			t.Errorf("%v: sent as %v, whole %v", tt.err, sent, whole)
		}
		Describe(sent, "procedure", false)
		for _, k := range kinds {
			if k.reason != "" && errors.Is(tt.err, k.err) && !errors.Is(Received(sent), k.err) {
				t.Errorf("%v: received as %v", tt.err, Received(sent))
			}
		}
	}
	if err := Received(fs.ErrClosed); err != fs.ErrClosed {
		t.Errorf("an error of the client's own: %v", err)
	}
}

// FuzzRecord: a lease that is sent is the one that was, and any text is a token or refused, without being shown.
func FuzzRecord(f *testing.F) {
	f.Add(lease.NewToken(time.Unix(1800000000, 0)).String(), strings.Repeat("0", 32), uint64(1), int64(-1))
	f.Add("", "\xff", uint64(1<<63), int64(1)<<62)
	f.Add("0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef", uint64(131071), int64(1800000000))
	f.Add("00000000000000000000000000000001", "00000000000000000000000000000000", uint64(4294967296), int64(-9223372036854775808))
	f.Add("0123456789ABCDEF0123456789ABCDEF", "", uint64(1), int64(0))
	f.Fuzz(func(t *testing.T, owner, change string, version uint64, second int64) {
		sent := &api.Lease{FirstNode: uint32(version), LastNode: uint32(second), Owner: owner, Change: change, Signature: change, Version: version, Start: second, HighWater: -second, Changed: second / 2}
		r, err := Record(sent)
		if err != nil {
			if shown := owner + change; len(shown) > 8 && strings.Contains(err.Error(), shown) || !errors.Is(err, lease.ErrInvalidRequest) {
				t.Errorf("error %v", err)
			}
			return
		}
		if again, err := Record(Lease(r)); err != nil || again != r || r.Version != version || r.HighWater != -second {
			t.Errorf("%+v came back as %+v, error %v", r, again, err)
		}
	})
}
