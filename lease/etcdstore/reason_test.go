package etcdstore

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A quitter is a server that gives up on every transaction, by its own account.
type quitter struct {
	pb.UnimplementedKVServer
	code  codes.Code
	asked atomic.Int32
}

func (q *quitter) Txn(context.Context, *pb.TxnRequest) (*pb.TxnResponse, error) {
	q.asked.Add(1)
	return nil, status.Error(q.code, "gave up")
}

// TestNotRepeated: whatever a server says, a transaction is sent once.
func TestNotRepeated(t *testing.T) {
	for _, code := range []codes.Code{codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.Unknown, codes.Aborted} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		q := &quitter{code: code}
		server := grpc.NewServer()
		pb.RegisterKVServer(server, q)
		go server.Serve(l)
		defer server.Stop()
		for _, guarded := range []bool{true, false} {
			config := clientv3.Config{Logger: zap.NewNop()}
			if guarded {
				config.DialOptions = []grpc.DialOption{grpc.WithChainUnaryInterceptor(new(reason).note)}
			}
			config.Endpoints, config.MaxUnaryRetries = []string{l.Addr().String()}, 3
			client, err := clientv3.New(config)
			if err != nil {
				t.Fatal(err)
			}
			q.asked.Store(0)
			if _, err := client.Txn(t.Context()).Then(clientv3.OpPut("x", "y")).Commit(); err == nil {
				t.Errorf("%v: no error", code)
			}
			asked := q.asked.Load()
			if guarded && asked != 1 {
				t.Errorf("%v: sent %d times, want once", code, asked)
			}
			if !guarded && code == codes.Canceled && asked == 1 {
				t.Error("etcd's client by itself does not repeat it either: the guard is of no use any more")
			}
			client.Close()
		}
	}
}
