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

// A sendOnce sends each transaction once. etcd's client sends any request again, also one that
// writes, if a server says that the request was cancelled or took too long, although it may have
// taken effect. The client does not do that if the context is over by then. So sendOnce ends the
// context.
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
	var member peer.Peer // the member that the transaction was sent to
	resp, err := s.KVClient.Txn(once, in, append(slices.Clip(opts), end, grpc.Peer(&member))...)
	if member.Addr == nil || refused(err) {
		return resp, swap.Unmade(withReason(ctx, err))
	}
	return resp, withReason(ctx, err)
}

// refused reports whether an error says that etcd didn't carry out a transaction. The error that
// the space is used up does not say so: the transaction that fills the space is carried out, and
// gets it too.
func refused(err error) bool {
	refusals := []codes.Code{codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated}
	return slices.Contains(refusals, status.Code(err))
}

// interceptor adds the reason to the errors of all requests but transactions: sendOnce ends their
// contexts, and adds it itself.
func interceptor(
	ctx context.Context, method string, req, reply any,
	cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	if method == "/etcdserverpb.KV/Txn" {
		return err
	}
	return withReason(ctx, err)
}

// withReason adds to the error of a request, if ctx is over, the reason why the request was not
// answered before, such as a missing connection: the client itself does not say it. A server may
// notice that ctx is over before ctx does.
func withReason(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil && status.Code(err) != codes.DeadlineExceeded {
		return err
	}
	return fmt.Errorf("%w: %s", cmp.Or(ctx.Err(), context.DeadlineExceeded), status.Convert(err).Message())
}
