package etcd

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/randflake/randflake/store"
)

// A quitter is a server that gives up on every transaction, by its own account, or answers none while code
// is zero.
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
	l := listen(t)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	return l.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// clients returns one as Open makes it, and one as callers do.
func clients(t *testing.T, address string) []*clientv3.Client {
	t.Helper()
	own, err := parseURL("etcd://" + address)
	if err != nil {
		t.Fatal(err)
	}
	var list []*clientv3.Client
	for _, config := range []clientv3.Config{own.client, {Endpoints: []string{address}, Logger: zap.NewNop()}} {
		config.MaxUnaryRetries = 3
		client, err := clientv3.New(config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		list = append(list, client)
	}
	return list
}

// TestNotRepeated: whatever a server says, a transaction is sent once.
func TestNotRepeated(t *testing.T) {
	q := &quitter{version: "3.6.0"}
	for _, client := range clients(t, q.serve(t)) {
		e, err := New(t.Context(), client, Config{})
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range []codes.Code{codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.Unknown, codes.Aborted} {
			q.code.Store(uint32(code))
			q.asked.Store(0)
			_, err := e.Swap(t.Context(), nil, []store.Entry{{Name: "x", Value: []byte("y")}})
			if err == nil || !strings.Contains(err.Error(), "outcome unknown") || !strings.Contains(err.Error(), "gave up") || errors.Is(err, context.Canceled) {
				t.Errorf("%v: error %v, want one that says that the outcome is unknown, and what the server says", code, err)
			}
			if asked := q.asked.Load(); asked != 1 {
				t.Errorf("%v: sent %d times, want once", code, asked)
			}
		}
		q.code.Store(uint32(codes.Canceled))
		q.asked.Store(0)
		if _, err := client.Txn(t.Context()).Then(clientv3.OpPut("x", "y")).Commit(); err == nil || q.asked.Load() == 1 {
			t.Errorf("etcd's client by itself: error %v, sent %d times: sendOnce is of no use any more", err, q.asked.Load())
		}
	}
}

// TestContextOver: a call ends with its context's error, be it the client or the server that notices first.
func TestContextOver(t *testing.T) {
	q := &quitter{version: "3.6.0"}
	for _, client := range clients(t, q.serve(t)) {
		e, err := New(t.Context(), client, Config{})
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := e.Swap(ctx, nil, []store.Entry{{Name: "x", Value: []byte("y")}}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want DeadlineExceeded", err)
			}
			cancel()
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if _, err := e.Read(ctx, []string{"x"}, store.Page{}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want Canceled", err)
		}
	}
}

func TestVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"3.6.16": true, "3.5.5": true, "3.5.21": true, "3.7.0-rc.1": true, "4.0.0": true, "10.0.0": true,
		"3.5.4": false, "3.4.30": false, "2.9.9": false, "": false, "new": false,
	} {
		if err := checkVersion("host", version); (err == nil) != ok {
			t.Errorf("%q: %v", version, err)
		}
	}
	old := &quitter{version: "3.5.4"}
	_, err := Open(t.Context(), "etcd://"+(&quitter{version: "3.6.0"}).serve(t)+","+old.serve(t))
	if !errors.Is(err, store.ErrUnsafe) || !strings.Contains(err.Error(), "3.5.4") {
		t.Errorf("Open with an old member: error %v, want ErrUnsafe and the version", err)
	}
}

// TestOutOfReach: Open ends with its context, and says why it got nowhere.
func TestOutOfReach(t *testing.T) {
	silent, gone := listen(t), listen(t)
	gone.Close()
	var wg sync.WaitGroup
	for host, reason := range map[string]string{silent.Addr().String(): "", gone.Addr().String(): "refused"} {
		for _, user := range []string{"", "user:zqxj@"} {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				_, err := Open(ctx, "etcd://"+user+host)
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "zq") {
					t.Errorf("Open of %s%s: error %v, want DeadlineExceeded and %q", user, host, err, reason)
				}
			})
		}
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, "etcd://127.0.0.1:1"); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: error %v, want Canceled", err)
	}
}

func TestNewRefuses(t *testing.T) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:1"}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := New(t.Context(), client, Config{Prefix: "x"}); err == nil || !strings.Contains(err.Error(), "slash") {
		t.Errorf("New with a prefix that does not end in a slash: error %v", err)
	}
}
