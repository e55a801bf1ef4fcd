package etcd

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/randflake/randflake/internal/test/enginetest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
)

// A quitter is a server that gives up on every transaction, by its own account, or answers none while code
// is zero. What needs a real one is tested where there is one.
type quitter struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
	version string
	code    atomic.Uint32
	asked   atomic.Int32
}

func (q *quitter) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Version: q.version}, nil
}

func (q *quitter) Txn(ctx context.Context, _ *pb.TxnRequest) (*pb.TxnResponse, error) {
	q.asked.Add(1)
	if q.code.Load() == 0 {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return nil, status.Error(codes.Code(q.code.Load()), "gave up")
}

// serve returns the address of the quitter.
func (q *quitter) serve(t *testing.T) string {
	t.Helper()
	server := grpc.NewServer()
	pb.RegisterKVServer(server, q)
	pb.RegisterMaintenanceServer(server, q)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	return l.Addr().String()
}

// engines returns one as Connect makes it, and one on a client as callers have it.
func engines(t *testing.T, address string) (list []*Engine) {
	t.Helper()
	own, _, err := parse("etcd://" + address)
	require.NoError(t, err)
	for _, config := range []clientv3.Config{own, {Endpoints: []string{address}, Logger: zap.NewNop()}} {
		config.MaxUnaryRetries = 3
		client, err := clientv3.New(config)
		require.NoError(t, err)
		t.Cleanup(func() { client.Close() })
		e, err := New(client, Config{})
		require.NoError(t, err)
		list = append(list, e)
	}
	return list
}

var put = []lease.Entry{{Name: "x", Value: []byte("y")}}

// TestNotRepeated: whatever a server says, a transaction is sent once. Only by some codes it says
// that nothing was changed.
func TestNotRepeated(t *testing.T) {
	q := &quitter{version: "3.6.0"}
	for _, e := range engines(t, q.serve(t)) {
		for code, refused := range map[codes.Code]bool{
			codes.Canceled:          false,
			codes.DeadlineExceeded:  false,
			codes.Unavailable:       false,
			codes.Unknown:           false,
			codes.Aborted:           false,
			codes.ResourceExhausted: false,
			codes.InvalidArgument:   true,
			codes.PermissionDenied:  true,
			codes.Unauthenticated:   true,
		} {
			q.code.Store(uint32(code))
			q.asked.Store(0)
			_, err := e.Swap(t.Context(), nil, put)
			require.That(t, err != nil && strings.Contains(err.Error(), "gave up") && !errors.Is(err, context.Canceled),
				"%v: error %v, want one that says what the server says", code, err)
			require.That(t, errors.Is(err, lease.ErrStore) == refused,
				"%v: error %v: says that nothing was changed: want %t", code, err, refused)
			require.Equal(t, q.asked.Load(), 1, "%v: requests", code)
		}
		q.code.Store(uint32(codes.Canceled))
		q.asked.Store(0)
		if _, err := e.client.Txn(t.Context()).Then(clientv3.OpPut("x", "y")).Commit(); err == nil || q.asked.Load() == 1 {
			t.Errorf("etcd's client by itself: error %v, sent %d times: sendOnce is of no use any more", err, q.asked.Load())
		}
	}
}

// TestContextOver: a call ends with its context's error, be it the client or the server that notices first.
func TestContextOver(t *testing.T) {
	q := &quitter{version: "3.6.0"}
	for _, e := range engines(t, q.serve(t)) {
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			require.Refuses(t, context.DeadlineExceeded, "a swap by a server that hangs")(e.Swap(ctx, nil, put))
			cancel()
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		require.Refuses(t, context.Canceled, "a read by one who left")(e.Read(ctx, "x"))
	}
}

func TestVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"3.6.16": true, "3.5.5": true, "3.5.21": true, "3.7.0-rc.1": true, "4.0.0": true, "10.0.0": true,
		"3.5.4": false, "3.4.30": false, "2.9.9": false, "": false, "new": false,
	} {
		err := checkVersion("host", version)
		require.That(t, (err == nil) == ok, "%q: %v", version, err)
	}
	e := engines(t, (&quitter{version: "3.6.0"}).serve(t)+","+(&quitter{version: "3.5.4"}).serve(t))[0]
	if _, err := e.Read(t.Context()); !errors.Is(err, lease.ErrUnsafe) || !strings.Contains(err.Error(), "3.5.4") {
		t.Errorf("Read with an old member: error %v, want ErrUnsafe and the version", err)
	}
}

func TestURL(t *testing.T) {
	for _, tt := range []struct{ url, endpoints, user, password, prefix string }{
		{"etcd://localhost", "http://localhost:2379", "", "", "/randflake/"},
		{"etcd://a:1,b,c:3/?prefix=/x/", "http://a:1 http://b:2379 http://c:3", "", "", "/x/"},
		{"etcd://a?prefix=x%2Fy/", "http://a:2379", "", "", "x/y/"},
		{"etcd://[::1]:5,[fe80::2]/", "http://[::1]:5 http://[fe80::2]:2379", "", "", "/randflake/"},
		{"etcds://a,b:7", "https://a:2379 https://b:7", "", "", "/randflake/"},
		{"etcd://me:p%40ss%2Fw%3Ard@a,b", "http://a:2379 http://b:2379", "me", "p@ss/w:rd", "/randflake/"},
	} {
		c, prefix, err := parse(tt.url)
		there := slices.Equal(c.Endpoints, strings.Fields(tt.endpoints)) && prefix == tt.prefix
		encrypted := (c.TLS != nil) == strings.HasPrefix(tt.url, "etcds:")
		require.That(t, err == nil && there && encrypted && c.Username == tt.user && c.Password == tt.password,
			"%s: %q, user %q, password %q, prefix %q, %v", tt.url, c.Endpoints, c.Username, c.Password, prefix, err)
	}
}

// TestBadURL: what is wrong is named, and no part of a password is shown.
func TestBadURL(t *testing.T) {
	enginetest.TestURLs(t, Check, Connect, enginetest.URLs{
		Password: "zqxj",
		Wrong: map[string]string{
			"localhost:2379":                          "want etcd://",
			"etcd://":                                 "host",
			"etcd://a,,b":                             "host",
			"etcd://b,a:1:2":                          "host number 2",
			"etcd://a/path":                           "prefix",
			"etcd://a/?prefix=x":                      "slash",
			"etcd://a/?prefx=/x/":                     "prefx",
			"etcd://a/?dial-timeout=5":                "dial-timeout",
			"etcd://a/?ca=/x.pem":                     "etcds://",
			"etcds://a/?certificate=/x.pem":           "/x.pem",
			"etcds://a/?ca=/does/not/exist":           "/does/not/exist",
			"etcd://a/#x":                             "parameters",
			"etcd://zqxj@a":                           "password",
			"etcd://me:zqxj%zz@a":                     "percent",
			"etcd://me:1/zqxj@a":                      "%2F",
			"etcd://me:zq@x/zqxj@a":                   "%2F",
			"etcd://me:zqxj":                          "host number 1",
			"etcd://me:zqxj@a/?x=y":                   `"x"`,
			"etcd://127.0.0.1:1/?dial-timeout=10ms&x": `"x"`,
		},
		Failing: map[string]string{"etcd://me:zqxj@127.0.0.1:1": "refused"},
	})
}
