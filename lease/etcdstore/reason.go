package etcdstore

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A reason watches the requests of a client, and remembers why they get nowhere. The client waits
// for a connection as long as the context lasts, and then says only that it is over.
type reason struct {
	mu   sync.Mutex
	text string
}

// note is an interceptor that sees how each request ends. The client repeats any request, also one
// that writes, to which a server says by itself that it was cancelled or took too long, though
// it may have taken effect; so these two answers are turned into another.
func (r *reason) note(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	if code := status.Code(err); ctx.Err() == nil && (code == codes.Canceled || code == codes.DeadlineExceeded) {
		err = status.Errorf(codes.Unknown, "server says: %v", err)
	}
	text := ""
	if message := status.Convert(err).Message(); strings.Contains(message, "connection error") {
		text = message
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = text
	return err
}

// explain adds the reason to err, if there is one and err does not say it. A nil reason knows none.
func (r *reason) explain(err error) error {
	if r == nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.text == "" || strings.Contains(err.Error(), r.text) {
		return err
	}
	return fmt.Errorf("%w: %s", err, r.text)
}
