package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/client"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A mint is a service whose IDs are 1, 2, 3 and so on. Each call takes a second.
type mint struct {
	randflakev1connect.UnimplementedIDServiceHandler
	kind  string
	calls atomic.Int64
	last  atomic.Uint64
	fail  atomic.Pointer[connect.Error]
	short bool
	limit uint32 // of a call; 0 for none
}

func (m *mint) Mint(_ context.Context, r *api.MintRequest) (*api.MintResponse, error) {
	m.calls.Add(1)
	time.Sleep(time.Second)
	if err := m.fail.Load(); err != nil {
		return nil, err
	}
	if m.limit > 0 && r.Count > m.limit {
		return nil, sent(connect.NewError(connect.CodePermissionDenied, &wire.LimitError{Limit: uint64(m.limit)}))
	}
	if m.short {
		return &api.MintResponse{Ids: []string{randflake.ID(1).String()}}, nil
	}
	answer := &api.MintResponse{}
	for range r.Count {
		n := m.last.Add(1)
		text := randflake.ID(n).String()
		switch m.kind {
		case "twitter":
			text = snowflake.ID(n).String()
		case "ulid":
			text = ulid.ID{15: byte(n), 14: byte(n >> 8)}.String()
		}
		answer.Ids = append(answer.Ids, text)
	}
	return answer, nil
}

func (m *mint) Inspect(_ context.Context, r *api.InspectRequest) (*api.InspectResponse, error) {
	if err := m.fail.Load(); err != nil {
		return nil, err
	}
	id, err := randflake.Parse(r.GetText())
	return &api.InspectResponse{Node: 7, Sequence: uint64(id), Plausible: true}, err
}

// A handled request does not leave the process, so that it is in the bubble of a synctest.
type handled map[string]http.Handler

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	answered := make(chan *http.Response, 1)
	go func() {
		w := httptest.NewRecorder()
		h[r.URL.Host].ServeHTTP(w, r)
		answered <- w.Result()
	}()
	select {
	case answer := <-answered:
		return answer, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func minting[I client.ID](t *testing.T, m *mint, options ...client.Option) *client.IDs[I] {
	t.Helper()
	_, handler := randflakev1connect.NewIDServiceHandler(m)
	through := client.WithHTTPClient(&http.Client{Transport: handled{"one": handler}})
	ids, err := client.NewIDs[I]("demo", []string{"http://one"}, append(options, through)...)
	require.NoError(t, err)
	return ids
}

// TestMintBuffer: a thousand callers share two calls, IDs follow each other, and the next call is
// made in the background when a quarter is left. What is older than five minutes is not used.
func TestMintBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mint{}
		ids := minting[randflake.ID](t, m)
		want := func(what string, calls int64) {
			t.Helper()
			if synctest.Wait(); m.calls.Load() != calls {
				t.Errorf("%s: %d calls, want %d", what, m.calls.Load(), calls)
			}
		}
		var wg sync.WaitGroup
		var seen sync.Map
		for range 1000 {
			wg.Go(func() {
				id, err := ids.Mint(t.Context())
				if err != nil {
					t.Error(err)
				}
				_, again := seen.LoadOrStore(id, true)
				require.That(t, !again, "ID %d twice", id)
			})
		}
		wg.Wait()
		want("1000 callers, and one call ahead", 3)
		time.Sleep(time.Minute) // for the call ahead
		begun := time.Now()
		left := 3*512 - 1000
		for range left - 128 - 1 {
			ids.Mint(t.Context())
		}
		want("more than a quarter left", 3)
		if id, err := ids.Mint(t.Context()); err != nil || id != randflake.ID(3*512-128) || time.Since(begun) != 0 {
			t.Errorf("ID %d, error %v after %v, want the next one at once", id, err, time.Since(begun))
		}
		want("a quarter left", 4)
		time.Sleep(time.Minute)
		if id, _ := ids.Mint(t.Context()); id != 3*512-128+1 {
			t.Errorf("ID %d, want what was left first", id)
		}
		time.Sleep(5 * time.Minute)
		require.Gives(t, randflake.ID(4*512+1), "ID")(ids.Mint(t.Context()))
		want("all are too old", 5)
		n := ids.Batches()
		require.That(t, n <= 1, "%d batches are kept", n)
		dst := make([]randflake.ID, 2000)
		if n, err := ids.Fill(t.Context(), dst); n != 2000 || err != nil || dst[1999] != 4*512+2001 {
			t.Errorf("%d IDs up to %d, error %v", n, dst[1999], err)
		}
		time.Sleep(time.Minute)
	})
}

// TestMintAfterStop: a machine that was stopped, whose monotonic clock stood still, does not use
// the IDs that it had, nor does one whose clock was set back.
func TestMintAfterStop(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			wall := time.Now().Round(0)
			ids := minting[randflake.ID](t, &mint{})
			ids.SetClock(func() time.Time { return wall })
			id, err := ids.Mint(t.Context())
			require.That(t, id == 1 && err == nil, "ID %d, error %v, want the first", id, err)
			wall = wall.Add(step)
			require.Gives(t, randflake.ID(513), "after a step of %v, the first of a new call", step)(ids.Mint(t.Context()))
		})
	}
}

// sent returns an error as the service sends it.
func sent(err error) *connect.Error {
	sent, _ := wire.Error(err, "procedure", "")
	return sent
}

// TestMintFails: callers get the error of their call, and no more calls are made than one a second
// while some IDs are ready. A caller who leaves does not end the call for the others.
func TestMintFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mint{}
		ids := minting[randflake.ID](t, m, client.WithBatch(8))
		left, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		if n, err := ids.Fill(left, make([]randflake.ID, 1)); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d IDs, error %v, want that of the context", n, err)
		}
		dst := make([]randflake.ID, 6)
		if n, err := ids.Fill(t.Context(), dst); n != 6 || err != nil || dst[0] != 1 {
			t.Errorf("%d IDs from %d, error %v, want those of the call that was begun", n, dst[0], err)
		}
		sent := sent(lease.ErrCorrupt)
		m.fail.Store(sent)
		time.Sleep(10 * time.Second)
		before := m.calls.Load()
		n, err := ids.Fill(t.Context(), make([]randflake.ID, 12))
		isCorrupt := errors.Is(err, lease.ErrCorrupt) && client.Reason(err) == "CORRUPT"
		require.That(t, n == 2 && isCorrupt && m.calls.Load() == before+1,
			"%d IDs, error %v, %d calls, want the 2 that were left, and an error", n, err, m.calls.Load()-before)
		m.fail.Store(nil)
		if _, err := ids.Mint(t.Context()); err != nil {
			t.Error(err)
		}
		m.fail.Store(sent)
		ids.Fill(t.Context(), make([]randflake.ID, 5))
		time.Sleep(10 * time.Second)
		before = m.calls.Load()
		ids.Mint(t.Context())
		time.Sleep(1100 * time.Millisecond) // it has failed
		ids.Mint(t.Context())
		if synctest.Wait(); m.calls.Load() != before+1 {
			t.Errorf("%d calls in the background within a second of a failure, want 1", m.calls.Load()-before)
		}
		time.Sleep(time.Minute)
	})
}

// TestMintKinds: each kind of IDs is read as what it is; IDs of another kind, and too few of them, are refused.
func TestMintKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Gives(t, ulid.ID{15: 1}, "a ULID")(minting[ulid.ID](t, &mint{kind: "ulid"}).Mint(t.Context()))
		require.Gives(t, snowflake.ID(1), "a Snowflake")(minting[snowflake.ID](t, &mint{kind: "twitter"}).Mint(t.Context()))
		for _, other := range []string{"ulid", "twitter"} {
			_, err := minting[randflake.ID](t, &mint{kind: other}).Mint(t.Context())
			wantText := "space demo: its IDs are not randflake.ID: call NewIDs with their type"
			require.That(t, err != nil && strings.Contains(err.Error(), wantText),
				"IDs of the kind %s for randflake.ID: error %v", other, err)
		}
		if _, err := minting[randflake.ID](t, &mint{short: true}).Mint(t.Context()); err == nil {
			t.Error("one ID in place of 512")
		}
		few := &mint{limit: 5}
		require.Gives(t, randflake.ID(1), "of five, as the service allows")(minting[randflake.ID](t, few).Mint(t.Context()))
		require.Equal(t, few.last.Load(), uint64(5), "IDs that were made")
		f, err := minting[randflake.ID](t, &mint{}).Inspect(t.Context(), 99)
		want := (client.Fields{Time: f.Time, Node: 7, Sequence: 99, Plausible: true})
		require.That(t, err == nil && f == want, "%+v, error %v, want %+v", f, err, want)
		failing := &mint{}
		failing.fail.Store(sent(lease.ErrInvalid))
		if f, err := minting[randflake.ID](t, failing).Inspect(t.Context(), 99); !errors.Is(err, lease.ErrInvalid) {
			t.Errorf("%+v, error %v, want that of the service", f, err)
		}
		time.Sleep(time.Minute)
	})
	for _, n := range []int{1, 65536} {
		if _, err := client.NewIDs[ulid.ID]("demo", []string{"http://one"}, client.WithBatch(n)); err != nil {
			t.Errorf("batches of %d: error %v", n, err)
		}
	}
	for _, n := range []int{0, -1, 65537} {
		_, err := client.NewIDs[ulid.ID]("demo", []string{"http://one"}, client.WithBatch(n))
		require.That(t, errors.Is(err, randflake.ErrInvalidOption), "batches of %d: error %v", n, err)
	}
}
