package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/client"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
)

// A replica answers with a lease, or an error, or one of another window.
type replica struct {
	randflakev1connect.UnimplementedLeaseServiceHandler
	err   error
	add   int64 // to the window
	calls int
}

func (*replica) GetLimits(context.Context, *connect.Request[api.GetLimitsRequest]) (*connect.Response[api.GetLimitsResponse], error) {
	return connect.NewResponse(&api.GetLimitsResponse{WindowSeconds: 60, Nodes: 8, Ahead: 5, Check: "0123456789abcdef"}), nil
}

func (r *replica) Take(_ context.Context, q *connect.Request[api.TakeRequest]) (*connect.Response[api.TakeResponse], error) {
	r.calls++
	start := (q.Msg.Window + r.add) * 60
	return connect.NewResponse(&api.TakeResponse{FirstNode: 3, LastNode: 2 + q.Msg.Nodes, Start: start, End: start + 60}), r.err
}

func serve(t *testing.T, r *replica) string {
	_, handler := randflakev1connect.NewLeaseServiceHandler(r)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// resetting returns the address of a replica that resets connections.
func resetting(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
		"denied":      {[]string{serve(t, &replica{err: connect.NewError(connect.CodePermissionDenied, nil)}), sound}, nil, false},
		"another":     {[]string{serve(t, &replica{add: 1}), sound}, nil, false},
		"none":        {[]string{serve(t, &replica{err: connect.NewError(connect.CodeUnavailable, nil)}), away}, nil, false},
	} {
		leases, err := client.New(t.Context(), "demo", tt.replicas)
		if err != nil {
			t.Fatal(err)
		}
		got, err := leases.Take(t.Context(), 30_000_000, 30_000_000, 2)
		if (err == nil) != tt.ok || tt.ok && (got[0].FirstNode != 3 || got[0].LastNode != 4) || tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	leases, err := client.New(t.Context(), "demo", []string{away, sound})
	if err != nil || leases.Limits().Nodes != 8 || leases.CheckSecret([8]byte{1, 35, 69, 103, 137, 171, 205, 239}) != nil || !errors.Is(leases.CheckSecret([8]byte{}), lease.ErrSecret) {
		t.Errorf("%+v, %v", leases, err)
	}
}

func TestInvalidOptions(t *testing.T) {
	for name, option := range map[string]client.Option{
		"zero": {}, "HTTP client": client.WithHTTPClient(nil), "token": client.WithTokenFrom(nil),
	} {
		if _, err := client.New(t.Context(), "demo", []string{"https://ids"}, option); !errors.Is(err, randflake.ErrInvalidOption) {
			t.Errorf("%s: error %v, want one that wraps ErrInvalidOption", name, err)
		}
	}
}

// TestNew: addresses that can't be are refused, and no password in one is shown.
func TestNew(t *testing.T) {
	for _, addresses := range [][]string{nil, {"ids:8080"}, {"https://"}, {"https://me:pass-word@ids"}, {"https://ids?token=pass-word"}, {"https://ids#pass-word"}, {"http://ids", "::"}} {
		if _, err := client.New(t.Context(), "demo", addresses); err == nil || strings.Contains(fmt.Sprint(err), "pass-word") {
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
		_, err := client.NewCounters("demo", []string{tt.address}, tt.options...)
		if (err != nil) != tt.refused || err != nil && (!strings.Contains(err.Error(), "want https, or WithPlaintext") || strings.Contains(err.Error(), "pass-word")) {
			t.Errorf("%s: error %v, refused: want %v", tt.address, err, tt.refused)
		}
	}
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	if _, err := client.New(t.Context(), "demo", []string{strings.Replace(secure.URL, "https", "http", 1)}, token); err == nil || !strings.Contains(err.Error(), "its address begins with https") {
		t.Errorf("http for a service with TLS: error %v", err)
	}
}
