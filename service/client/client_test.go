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
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/client"
	"github.com/randflake/randflake/store"
)

type limits struct {
	randflakev1connect.UnimplementedLeaseServiceHandler
}

func (limits) GetLimits(context.Context, *connect.Request[api.GetLimitsRequest]) (*connect.Response[api.GetLimitsResponse], error) {
	return connect.NewResponse(&api.GetLimitsResponse{MaxTtlSeconds: 7}), nil
}

// TestReset: a replica that resets connections is not asked any more than one that can't be reached.
func TestReset(t *testing.T) {
	resetting, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer resetting.Close()
	go func() {
		for conn, err := resetting.Accept(); err == nil; conn, err = resetting.Accept() {
			conn.Read(make([]byte, 1))
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}()
	_, handler := randflakev1connect.NewLeaseServiceHandler(limits{})
	sound := httptest.NewServer(handler)
	defer sound.Close()
	leases, err := client.New("demo", []string{"http://" + resetting.Addr().String(), sound.URL})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := leases.Limits(t.Context()); err != nil || got.TTL() != 7 {
		t.Errorf("limits %+v, error %v, want those of the second replica", got, err)
	}
}

// leasePages has five leases, two on a page.
type leasePages struct {
	randflakev1connect.UnimplementedLeaseServiceHandler
}

func (leasePages) List(_ context.Context, r *connect.Request[api.ListRequest]) (*connect.Response[api.ListResponse], error) {
	answer, begin := &api.ListResponse{}, len(r.Msg.PageToken)
	for node := begin; node < min(begin+2, 5); node++ {
		answer.Leases = append(answer.Leases, &api.Lease{FirstNode: uint32(node)})
		answer.NextPageToken = strings.Repeat("x", node+1)
	}
	if begin == 4 {
		answer.NextPageToken = ""
	}
	return connect.NewResponse(answer), nil
}

type counterPages struct {
	randflakev1connect.UnimplementedCounterServiceHandler
}

func (counterPages) List(_ context.Context, r *connect.Request[api.CounterServiceListRequest]) (*connect.Response[api.CounterServiceListResponse], error) {
	if r.Msg.PageToken == "" {
		return connect.NewResponse(&api.CounterServiceListResponse{Counters: []*api.Counter{{Name: "a"}, {Name: "b"}}, NextPageToken: "b"}), nil
	}
	return connect.NewResponse(&api.CounterServiceListResponse{Counters: []*api.Counter{{Name: "c"}}}), nil
}

// TestPages: a list has what is on all pages.
func TestPages(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle(randflakev1connect.NewLeaseServiceHandler(leasePages{}))
	mux.Handle(randflakev1connect.NewCounterServiceHandler(counterPages{}))
	server := httptest.NewServer(mux)
	defer server.Close()
	leases, err := client.New("demo", []string{server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := leases.List(t.Context()); err != nil || len(all) != 5 || all[4].FirstNode != 4 {
		t.Errorf("leases %v, error %v, want five", all, err)
	}
	counters, err := client.NewCounters([]string{server.URL})
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for info, err := range counters.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		names += info.Name
	}
	if names != "abc" {
		t.Errorf("counters %q, want abc", names)
	}
}

type refusing struct {
	randflakev1connect.UnimplementedLeaseServiceHandler
	err error
}

func (r refusing) Renew(context.Context, *connect.Request[api.RenewRequest]) (*connect.Response[api.RenewResponse], error) {
	return nil, r.err
}

// TestUnknownStays: what one replica may have done stays unknown, though the next one refuses it. Where none can have done
// it, it is refused.
func TestUnknownStays(t *testing.T) {
	replica := func(err error) string {
		_, handler := randflakev1connect.NewLeaseServiceHandler(refusing{err: err})
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.URL
	}
	notOpen := sent(store.ErrNoStore)
	refuses, failed := replica(sent(store.ErrClock)), replica(connect.NewError(connect.CodeUnavailable, errors.New("the outcome is unknown")))
	gone := "http://127.0.0.1:1"
	for _, tt := range []struct {
		replicas []string
		refused  bool
	}{
		{[]string{failed, refuses}, false},
		{[]string{failed, gone, refuses}, false},
		{[]string{refuses, failed}, false},
		{[]string{gone, refuses}, true},
		{[]string{refuses, gone}, true},
		{[]string{replica(notOpen), refuses}, true},
	} {
		leases, err := client.New("demo", tt.replicas)
		if err != nil {
			t.Fatal(err)
		}
		_, err = leases.Renew(t.Context(), lease.Record{}, lease.Renewal{TTL: time.Minute, Token: lease.NewToken(time.Now())})
		if err == nil || errors.Is(err, store.ErrClock) != tt.refused {
			t.Errorf("%v: error %v, refused: want %v", tt.replicas, err, tt.refused)
		}
	}
}

type returning struct {
	randflakev1connect.UnimplementedCounterServiceHandler
	returned uint64
	err      error
}

func (r returning) Return(context.Context, *connect.Request[api.ReturnRequest]) (*connect.Response[api.ReturnResponse], error) {
	return connect.NewResponse(&api.ReturnResponse{Returned: r.returned}), r.err
}

// TestUnknownReturn: one replica may have taken numbers back and its answer was lost. As the next one then has nothing to
// take back, they count neither as returned nor as lost.
func TestUnknownReturn(t *testing.T) {
	replica := func(r returning) string {
		_, handler := randflakev1connect.NewCounterServiceHandler(r)
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.URL
	}
	failed := replica(returning{err: connect.NewError(connect.CodeUnavailable, errors.New("the answer was lost"))})
	refuses := replica(returning{err: sent(store.ErrClock)})
	none, all, gone := replica(returning{}), replica(returning{returned: 3}), "http://127.0.0.1:1"
	for _, tt := range []struct {
		replicas      []string
		done, unknown bool
	}{
		{[]string{all}, true, false},
		{[]string{none}, false, false},
		{[]string{failed, all}, true, false},
		{[]string{failed, none}, false, true},
		{[]string{failed, gone, none}, false, true},
		{[]string{refuses, none}, false, false},
		{[]string{gone, none}, false, false},
	} {
		counters, err := client.NewCounters(tt.replicas)
		if err != nil {
			t.Fatal(err)
		}
		done, err := counters.ReturnRun(t.Context(), "orders", counter.Run{First: 1, Stride: 1, Count: 5}, 3)
		if done != tt.done || (err != nil) != tt.unknown {
			t.Errorf("%v: done %v, error %v, want %v, unknown %v", tt.replicas, done, err, tt.done, tt.unknown)
		}
	}
}

func TestInvalidOptions(t *testing.T) {
	for name, option := range map[string]client.Option{
		"zero": {}, "HTTP client": client.WithHTTPClient(nil), "token": client.WithTokenFrom(nil), "clock": client.WithClock(nil),
	} {
		if _, err := client.New("demo", []string{"https://ids"}, option); !errors.Is(err, randflake.ErrInvalidOption) {
			t.Errorf("%s: error %v, want one that wraps ErrInvalidOption", name, err)
		}
	}
}

// TestNew: addresses that can't be are refused, and no password in one is shown.
func TestNew(t *testing.T) {
	for _, addresses := range [][]string{nil, {"ids:8080"}, {"https://"}, {"https://me:pass-word@ids"}, {"https://ids?token=pass-word"}, {"https://ids#pass-word"}, {"http://ids", "::"}} {
		if _, err := client.New("demo", addresses); err == nil || strings.Contains(fmt.Sprint(err), "pass-word") {
			t.Errorf("%d addresses: error %v, want one that shows no password", len(addresses), err)
		}
	}
}

// TestPlaintext: no token is sent in the clear to another machine unless that is asked for, and a service with TLS that is
// called without says so.
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
		_, err := client.New("demo", []string{tt.address}, tt.options...)
		if (err != nil) != tt.refused || err != nil && (!strings.Contains(err.Error(), "want https, or WithPlaintext") || strings.Contains(err.Error(), "pass-word")) {
			t.Errorf("%s: error %v, refused: want %v", tt.address, err, tt.refused)
		}
	}
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	leases, err := client.New("demo", []string{strings.Replace(secure.URL, "https", "http", 1)}, token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leases.Limits(t.Context()); err == nil || !strings.Contains(err.Error(), "its address begins with https") {
		t.Errorf("http for a service with TLS: error %v", err)
	}
}
