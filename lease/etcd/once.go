package etcd

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/randflake/randflake/lease/internal/swap"
)

// A sendOnce sends each transaction once. etcd's client repeats any request, also one that writes,
// to which a server says by itself that it was cancelled or took too long, though it may have taken
// effect; but not when the context is over by then.
type sendOnce struct{ pb.KVClient }

// Txn implements [pb.KVClient].
func (s sendOnce) Txn(ctx context.Context, in *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	once, cancel := context.WithCancel(ctx)
	defer cancel()
	end := grpc.OnFinish(func(err error) {
		switch status.Code(err) {
		case codes.Canceled, codes.DeadlineExceeded:
			cancel()
		}
	})
	var member peer.Peer // that the transaction was sent to
	resp, err := s.KVClient.Txn(once, in, append(slices.Clip(opts), end, grpc.Peer(&member))...)
	if member.Addr == nil || refused(err) {
		return resp, swap.Unmade(explained(ctx, err))
	}
	return resp, explained(ctx, err)
}

// refused reports whether etcd says that it didn't carry out a transaction. When its space is used
// up that isn't certain: the one that fills it is carried out, and refused.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated:
		return true
	}
	return false
}

// explain is an interceptor for what a client asks beside transactions, whose contexts sendOnce
// cancels.
func explain(
	ctx context.Context, method string, req, reply any,
	cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	if method == "/etcdserverpb.KV/Txn" {
		return err
	}
	return explained(ctx, err)
}

// explained returns the error of a call that waited for a connection as long as ctx lasted, with
// the reason, of which the client would say nothing. A server may notice that ctx is over before
// ctx does.
func explained(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil && status.Code(err) != codes.DeadlineExceeded {
		return err
	}
	return fmt.Errorf("%w: %s", cmp.Or(ctx.Err(), context.DeadlineExceeded), status.Convert(err).Message())
}
