package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/client"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
)

// A replica answers with a lease, or several, or an error, or one that does not fit.
type replica struct {
	randflakev1connect.UnimplementedLeaseServiceHandler
	err    error
	leases [][]int64 // by call: their windows, 0 for the first one that is asked for. nil is that one
	longer int64     // seconds
	more   uint32
	limits *api.GetLimitsResponse // nil are those of a sound one

	calls  int
	header http.Header // of the last call
	label  string
	asked  []uint32 // windows, by call
}

func (r *replica) GetLimits(ctx context.Context, _ *api.GetLimitsRequest) (*api.GetLimitsResponse, error) {
	info, _ := connect.CallInfoForHandlerContext(ctx)
	r.header = info.RequestHeader()
	if r.limits != nil {
		return r.limits, nil
	}
	return &api.GetLimitsResponse{
		WindowSeconds:  60,
		FirstNode:      16,
		NodeCount:      8,
		Ahead:          5,
		MaxSkewSeconds: 7,
		CheckValue:     "0123456789abcdef",
	}, nil
}

func (r *replica) Take(_ context.Context, q *api.TakeRequest) (*api.TakeResponse, error) {
	r.label = q.Label
	r.asked = append(r.asked, q.WindowCount)
	windows := []int64{0}
	if r.calls < len(r.leases) {
		windows = r.leases[r.calls]
	}
	r.calls++
	var all []*api.Lease
	for _, window := range windows {
		start := (q.Window + window) * 60
		all = append(all, &api.Lease{
			FirstNode: 3,
			LastNode:  2 + q.NodeCount + r.more,
			Start:     start,
			End:       start + 60 + r.longer,
		})
	}
	return &api.TakeResponse{Leases: all}, r.err
}

// coded is an error with a code alone.
func coded(code connect.Code) error { return connect.NewError(code, nil) }

func serve(t *testing.T, r *replica) string {
	_, handler := randflakev1connect.NewLeaseServiceHandler(r)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// resetting returns the address of a replica that resets connections.
func resetting(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			conn.Read(make([]byte, 1))
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

// TestReplicas: a call goes to the next replica where that may help, and an answer that does not fit is refused.
func TestReplicas(t *testing.T) {
	sound, away := serve(t, &replica{}), "http://127.0.0.1:1"
	full := sent(&lease.WaitError{Err: lease.ErrFull, Until: time.Now().Add(time.Minute)})
	loss := sent(&lease.WaitError{Err: lease.ErrLoss, Until: time.Now().Add(time.Minute)})
	for what, tt := range map[string]struct {
		replicas []string
		err      error
		ok       bool
	}{
		"sound":       {[]string{sound}, nil, true},
		"away":        {[]string{away, sound}, nil, true},
		"resetting":   {[]string{resetting(t), sound}, nil, true},
		"wrong clock": {[]string{serve(t, &replica{err: sent(lease.ErrClock)}), sound}, nil, true},
		"full":        {[]string{serve(t, &replica{err: full}), sound}, lease.ErrFull, false},
		"loss":        {[]string{serve(t, &replica{err: loss}), sound}, lease.ErrLoss, false},
		"unavailable": {[]string{serve(t, &replica{err: coded(connect.CodeUnavailable)}), sound}, nil, true},
		"late":        {[]string{serve(t, &replica{err: coded(connect.CodeDeadlineExceeded)}), sound}, nil, true},
		"internal":    {[]string{serve(t, &replica{err: coded(connect.CodeInternal)}), sound}, nil, true},
		"unknown":     {[]string{serve(t, &replica{err: coded(connect.CodeUnknown)}), sound}, nil, true},
		"canceled":    {[]string{serve(t, &replica{err: coded(connect.CodeCanceled)}), sound}, nil, true},
		"denied":      {[]string{serve(t, &replica{err: coded(connect.CodePermissionDenied)}), sound}, nil, false},
		"another":     {[]string{serve(t, &replica{leases: [][]int64{{1}}}), sound}, nil, false},
		"no lease":    {[]string{serve(t, &replica{leases: [][]int64{{}}}), sound}, nil, false},
		"longer":      {[]string{serve(t, &replica{longer: 1}), sound}, nil, false},
		"more":        {[]string{serve(t, &replica{more: 1}), sound}, nil, false},
		"none":        {[]string{serve(t, &replica{err: sent(lease.ErrClock)}), away}, lease.ErrClock, false},
		"none either": {[]string{away, serve(t, &replica{err: sent(lease.ErrClock)})}, lease.ErrClock, false},
	} {
		leases, err := client.OpenLeases(t.Context(), "demo", tt.replicas)
		require.NoError(t, err)
		got, err := leases.Take(t.Context(), 30_000_000, 30_000_000, 2)
		if (err == nil) != tt.ok || tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
		if tt.ok && (got[0].FirstNode != 3 || got[0].LastNode != 4) {
			t.Errorf("%s: %+v, want nodes 3 and 4", what, got)
		}
	}
	leases, err := client.OpenLeases(t.Context(), "demo", []string{away, sound})
	want := lease.Limits{FirstNode: 16, Nodes: 8, Ahead: 5, Window: time.Minute, MaxSkew: 7 * time.Second}
	require.Must(t, err == nil && leases.Limits() == want, "%+v, %v", leases, err)
	require.NoError(t, leases.CheckSecret([8]byte{1, 35, 69, 103, 137, 171, 205, 239}))
	err = leases.CheckSecret([8]byte{})
	require.That(t, errors.Is(err, lease.ErrWrongSecret) && strings.Contains(err.Error(), sound),
		"another secret: error %v, want one that says of which service", err)
	last, err := client.OpenLeases(t.Context(), "demo", []string{serve(t, &replica{err: sent(lease.ErrClock)}), resetting(t)})
	require.NoError(t, err)
	if _, err := last.Take(t.Context(), 30_000_000, 30_000_000, 2); err == nil || errors.Is(err, lease.ErrClock) {
		t.Errorf("the last one resets connections: error %v, want its own", err)
	}
	_, err = client.OpenLeases(t.Context(), "demo", []string{away, away})
	require.Contains(t, fmt.Sprint(err), "connection refused", "all are away: error")
}

// TestCurrent: calls go to the replica that answered last, and say whose leases they are. A lease
// has a node at least.
func TestCurrent(t *testing.T) {
	first, second := &replica{}, &replica{}
	leases, err := client.OpenLeases(t.Context(), "demo", []string{serve(t, first), serve(t, second)})
	require.NoError(t, err)
	for _, first.err = range []error{nil, coded(connect.CodeUnavailable), nil, nil} {
		require.Done(t)(leases.Take(t.Context(), 30_000_000, 30_000_000, 1))
	}
	require.That(t, first.calls == 2 && second.calls == 3,
		"%d and %d calls, want two until the first one failed, and three then", first.calls, second.calls)
	if want := "/" + filepath.Base(os.Args[0]); !strings.HasSuffix(second.label, want) || second.label == want {
		t.Errorf("label %q, want this machine and program", second.label)
	}
	require.Refuses(t, lease.ErrInvalid, "a lease of no nodes")(leases.Take(t.Context(), 30_000_000, 30_000_000, 0))
	require.Refuses(t, lease.ErrInvalid, "a lease of no windows")(leases.Take(t.Context(), 30_000_000, 29_999_999, 1))
	require.That(t, second.calls == 3, "%d calls, want none for leases of nothing", second.calls)
}

// TestMissing: leases of several windows come in one call. The first window that has none in its
// answer is asked for alone, and what comes for it is checked too.
func TestMissing(t *testing.T) {
	const first = 30_000_000
	for _, tt := range []struct {
		granted [][]int64 // in each answer, from the first window that is asked for
		want    []int64   // from the first window
		asked   []uint32
		ok      bool
	}{
		{[][]int64{{0, 1, 2}}, []int64{0, 1, 2}, []uint32{3}, true},
		{[][]int64{{0, 2}, {0}}, []int64{0, 1, 2}, []uint32{3, 1}, true},
		{[][]int64{{1, 2}, {0}}, []int64{0, 1, 2}, []uint32{3, 1}, true},
		{[][]int64{{0, 1}, {0}}, []int64{0, 1, 2}, []uint32{3, 1}, true},
		{[][]int64{{0}, {0}}, []int64{0, 1}, []uint32{3, 1}, true},
		{[][]int64{{0}, {1}}, []int64{0}, []uint32{3, 1}, false},
		{[][]int64{{0, 0}}, nil, []uint32{3}, false},
		{[][]int64{{1, 0}}, nil, []uint32{3}, false},
		{[][]int64{{0, 3}}, nil, []uint32{3}, false},
	} {
		r := &replica{leases: tt.granted}
		leases, err := client.OpenLeases(t.Context(), "demo", []string{serve(t, r)})
		require.NoError(t, err)
		all, err := leases.Take(t.Context(), first, first+2, 1)
		var got []int64
		for _, l := range all {
			got = append(got, l.Start.Unix()/60-first)
		}
		if !slices.Equal(got, tt.want) || !slices.Equal(r.asked, tt.asked) || (err == nil) != tt.ok {
			t.Errorf("answers for %v: leases for %v, error %v, asked for %v windows; want %v and %v",
				tt.granted, got, err, r.asked, tt.want, tt.asked)
		}
	}
}

// TestLimits: a service whose limits make no sense has no leases, and one without a check value is for any secret.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		limits *api.GetLimitsResponse
		ok     bool
	}{
		{&api.GetLimitsResponse{WindowSeconds: 1, NodeCount: 1}, true},
		{&api.GetLimitsResponse{WindowSeconds: 60}, false},
		{&api.GetLimitsResponse{NodeCount: 8}, false},
	} {
		leases, err := client.OpenLeases(t.Context(), "demo", []string{serve(t, &replica{limits: tt.limits})})
		require.Equal(t, err == nil, tt.ok, "%v: error %v", tt.limits, err)
		if tt.ok && leases.CheckSecret([8]byte{7}) != nil {
			t.Error("a space of any secret refuses one")
		}
	}
}

// TestWaiting: replicas that do not answer share the time that a call has, or have ten seconds each.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		var all []time.Duration // since then
		hangs := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			all = append(all, time.Since(began))
			mu.Unlock()
			<-r.Context().Done()
		})
		// asked returns when replicas were asked, since a time.
		asked := func(since time.Time) (at []time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			for _, d := range all {
				at = append(at, d-since.Sub(began))
			}
			all = nil
			return at
		}
		through := &http.Client{Transport: handled{"one": hangs, "two": hangs, "three": hangs}}
		replicas := []string{"http://one", "http://two", "http://three"}
		counters, err := client.NewCounters("demo", replicas, client.WithHTTPClient(through))
		require.NoError(t, err)
		for timeout, want := range map[time.Duration][]time.Duration{
			9 * time.Second: {0, 3 * time.Second, 6 * time.Second},
			time.Hour:       {0, 10 * time.Second, 20 * time.Second},
			0:               {0, 10 * time.Second, 20 * time.Second},
		} {
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if timeout > 0 {
				ctx, cancel = context.WithTimeout(ctx, timeout)
			}
			start := time.Now()
			err := counters.Source().SetCounter(ctx, "orders", 7)
			cancel()
			if at := asked(start); err == nil || !slices.Equal(at, want) {
				t.Errorf("a call of %v asked after %v, error %v; want %v", timeout, at, err, want)
			}
		}
		gone := errors.New("the caller has left")
		ctx, leave := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { leave(gone) })
		err = counters.Source().SetCounter(ctx, "orders", 7)
		if at := asked(time.Now()); !errors.Is(err, gone) || len(at) != 1 {
			t.Errorf("error %v, %d asked; want why the caller left, and no more replicas", err, len(at))
		}
	})
}

// TestToken: each call has the token of its time, and none is made without.
func TestToken(t *testing.T) {
	r := &replica{}
	address := serve(t, r)
	for _, tt := range []struct {
		option client.Option
		want   string
	}{
		{client.WithToken("pass-word"), "Bearer pass-word"},
		{client.WithPlaintext(), ""},
	} {
		_, err := client.OpenLeases(t.Context(), "demo", []string{address}, tt.option)
		got := r.header.Get("Authorization")
		require.That(t, err == nil && got == tt.want, "%q, error %v, want %q", got, err, tt.want)
	}
	r.header = nil
	missing := errors.New("no such file")
	ctx, cancel := context.WithCancelCause(t.Context())
	option := client.WithTokenFrom(func(ctx context.Context) (string, error) {
		cancel(missing)
		return "", context.Cause(ctx)
	})
	_, err := client.OpenLeases(ctx, "demo", []string{address}, option)
	require.That(t, errors.Is(err, missing) && r.header == nil,
		"without the token: error %v, header %v", err, r.header)
}

// A counting service notes what it is asked.
type counting struct {
	randflakev1connect.UnimplementedCounterServiceHandler
	asked proto.Message
	run   *api.TakeNumbersResponse // nil is a sound one
	err   error
}

func (c *counting) SetCounter(_ context.Context, r *api.SetCounterRequest) (*api.SetCounterResponse, error) {
	c.asked = r
	return &api.SetCounterResponse{}, c.err
}

func (c *counting) ListCounters(_ context.Context, r *api.ListCountersRequest) (*api.ListCountersResponse, error) {
	c.asked = r
	return &api.ListCountersResponse{Counters: []*api.Counter{{Name: "a", Next: proto.Int64(7)}, {Name: "b"}}}, c.err
}

func (c *counting) GetCounter(_ context.Context, r *api.GetCounterRequest) (*api.GetCounterResponse, error) {
	c.asked = r
	return &api.GetCounterResponse{Counter: &api.Counter{Name: "a", Start: 1, Step: 1, Last: 9, Next: proto.Int64(7)}}, c.err
}

func (c *counting) TakeNumbers(_ context.Context, r *api.TakeNumbersRequest) (*api.TakeNumbersResponse, error) {
	c.asked = r
	if c.run != nil {
		return c.run, nil
	}
	return &api.TakeNumbersResponse{First: 7, Count: 1, Step: 1}, c.err
}

// TestCounters: calls of counters arrive as they were made, and their answers and errors come back.
func TestCounters(t *testing.T) {
	service := &counting{}
	_, handler := randflakev1connect.NewCounterServiceHandler(service)
	listening := httptest.NewServer(handler)
	defer listening.Close()
	counters, err := client.NewCounters("demo", []string{listening.URL + "/"})
	require.NoError(t, err)
	strict, err := counters.OpenStrict(t.Context(), "a")
	require.NoError(t, err)
	set := func() (any, error) { return nil, counters.Source().SetCounter(t.Context(), "a", 8) }
	next := func() (any, error) { return strict.Next(t.Context()) }
	open := func() (any, error) {
		opened, err := counters.OpenStrict(t.Context(), "a")
		return opened != nil, err
	}
	list := func(limit int) func() (any, error) {
		return func() (any, error) {
			all, err := counters.Source().Counters(t.Context(), "x", limit)
			return len(all), err
		}
	}
	for _, tt := range []struct {
		what  string
		call  func() (any, error)
		asked proto.Message
		want  any
	}{
		{"set", set, &api.SetCounterRequest{Space: "demo", Counter: "a", Next: 8}, nil},
		{"next", next, &api.TakeNumbersRequest{Space: "demo", Counter: "a", Count: 1}, int64(7)},
		{"open", open, &api.GetCounterRequest{Space: "demo", Counter: "a"}, true},
		{"list", list(10), &api.ListCountersRequest{Space: "demo", After: "x", Limit: 10}, 2},
		{"list all", list(5000), &api.ListCountersRequest{Space: "demo", After: "x", Limit: 1000}, 2},
		{"list none", list(0), &api.ListCountersRequest{Space: "demo", After: "x", Limit: 1}, 2},
		{"list one", list(1), &api.ListCountersRequest{Space: "demo", After: "x", Limit: 1}, 2},
	} {
		service.err = nil
		got, err := tt.call()
		require.That(t, err == nil && got == tt.want && proto.Equal(service.asked, tt.asked),
			"%s: %v, error %v, asked %v; want %v, asked %v", tt.what, got, err, service.asked, tt.want, tt.asked)
		service.err = sent(lease.ErrInvalid)
		require.Refuses(t, lease.ErrInvalid, "%s", tt.what)(tt.call())
	}
	require.ErrorIs(t, counters.Create(t.Context(), "a", counter.Config{}), errors.ErrUnsupported, "create")
	service.err = nil
	service.run = &api.TakeNumbersResponse{First: 7, Count: 1, Step: 1, Period: "2027-01-15"}
	for key, want := range map[string]error{"2027-01-15": nil, "2027-01-16": lease.ErrClock} {
		period := lease.Period{Periods: "day@UTC", Key: key}
		if run, err := counters.Source().TakeNumbers(t.Context(), "a", period, 1); !errors.Is(err, want) {
			t.Errorf("in period %s: %+v, error %v, want %v", key, run, err, want)
		}
	}
	service.run = &api.TakeNumbersResponse{First: 0, Count: 1, Step: 1}
	require.Gives(t, int64(0), "of a counter from 0 on")(strict.Next(t.Context()))
	for _, run := range []*api.TakeNumbersResponse{
		{},
		{First: 7, Step: 1},
		{First: 7, Count: -1, Step: 1},
		{First: 7, Count: 2, Step: 1}, // one more than was asked for
		{First: 7, Count: 1},
		{First: -7, Count: 1, Step: 1},
	} {
		service.run = run
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if n, err := strict.Next(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("of %v: %d, error %v", run, n, err)
		}
		cancel()
	}
}

func TestInvalidOptions(t *testing.T) {
	for name, option := range map[string]client.Option{
		"zero":        {},
		"HTTP client": client.WithHTTPClient(nil),
		"token":       client.WithTokenFrom(nil),
	} {
		_, err := client.OpenLeases(t.Context(), "demo", []string{"https://ids"}, option)
		require.That(t, errors.Is(err, randflake.ErrInvalidOption),
			"%s: error %v, want one that wraps ErrInvalidOption", name, err)
	}
}

// TestNew: addresses that can't be are refused, and no password in one is shown.
func TestNew(t *testing.T) {
	for _, addresses := range [][]string{
		nil,
		{"ids:8080"},
		{"ftp://ids"},
		{"https://"},
		{"https://me:pass-word@ids"},
		{"https://ids?token=pass-word"},
		{"https://ids#pass-word"},
		{"http://ids", "::"},
	} {
		if _, err := client.NewCounters("demo", addresses); err == nil || strings.Contains(fmt.Sprint(err), "pass-word") {
			t.Errorf("%d addresses: error %v, want one that shows no password", len(addresses), err)
		}
	}
}

// TestPlaintext: no token is sent in the clear to another machine unless that is asked for, and a
// service with TLS that is called without says so.
func TestPlaintext(t *testing.T) {
	token := client.WithToken("pass-word")
	for _, tt := range []struct {
		address string
		options []client.Option
		refused bool
	}{
		{"http://ids:8080", []client.Option{token}, true},
		{"http://10.0.0.1:8080", []client.Option{token}, true},
		{"http://ids:8080", []client.Option{token, client.WithPlaintext()}, false},
		{"http://ids:8080", nil, false},
		{"http://localhost:8080", []client.Option{token}, false},
		{"http://[::1]:8080", []client.Option{token}, false},
		{"https://ids:8080", []client.Option{token}, false},
	} {
		_, err := client.NewCounters("demo", []string{tt.address}, tt.options...)
		text := fmt.Sprint(err)
		refused := strings.Contains(text, "want https, or WithPlaintext")
		require.That(t, (err != nil) == tt.refused && refused == tt.refused && !strings.Contains(text, "pass-word"),
			"%s: error %v, refused: want %v", tt.address, err, tt.refused)
	}
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	insecure := strings.Replace(secure.URL, "https", "http", 1)
	_, err := client.OpenLeases(t.Context(), "demo", []string{insecure}, token)
	require.That(t, err != nil && strings.Contains(err.Error(), "its address begins with https"),
		"http for a service with TLS: error %v", err)
}
