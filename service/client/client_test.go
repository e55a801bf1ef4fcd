package client_test

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"

	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/client"
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

// TestNew: addresses that can't be are refused, and no password in one is shown.
func TestNew(t *testing.T) {
	for _, addresses := range [][]string{nil, {"ids:8080"}, {"https://"}, {"https://me:pass-word@ids"}, {"http://ids", "::"}} {
		if _, err := client.New("demo", addresses); err == nil || strings.Contains(fmt.Sprint(err), "pass-word") {
			t.Errorf("%d addresses: error %v, want one that shows no password", len(addresses), err)
		}
	}
}
