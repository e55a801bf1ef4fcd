package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/randflake/randflake/store"
)

// Open connects to etcd and opens a space, as [store.Open] does. It takes ten seconds at most.
func Open(ctx context.Context, url string, options ...store.Option) (*store.Space, error) {
	return begin(ctx, url, options, store.Open)
}

// Create connects to etcd and makes a new space, as [store.Create] does. It takes ten seconds at most.
func Create(ctx context.Context, url string, options ...store.Option) (*store.Space, error) {
	return begin(ctx, url, options, store.Create)
}

// Check finds what is wrong with a URL, as Open does. It connects to nothing.
func Check(url string) error {
	if _, err := parseURL(url); err != nil {
		return fmt.Errorf("etcdstore: %w", err)
	}
	return nil
}

func begin(ctx context.Context, url string, options []store.Option, how func(context.Context, store.Engine, ...store.Option) (*store.Space, error)) (s *store.Space, err error) {
	t, err := parseURL(url)
	if err != nil {
		return nil, fmt.Errorf("etcdstore: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// The client lives on when ctx is done, but what it does before that must not.
	life, end := context.WithCancel(context.Background())
	unbind := context.AfterFunc(ctx, end)
	t.client.Context = life
	client, err := clientv3.New(t.client)
	unbind()
	if err != nil {
		return nil, fmt.Errorf("etcdstore: connect to %s: %w", strings.Join(t.client.Endpoints, ","), errors.Join(ctx.Err(), err))
	}
	e, err := New(ctx, client, Config{t.prefix})
	if err == nil {
		e.disconnect = client.Close
		s, err = how(ctx, e, append(t.options, options...)...)
	}
	if err != nil {
		client.Close()
	}
	return s, err
}

// checkVersions refuses a cluster with a member that is too old. A member that does not answer soon after
// another one did is passed over.
func checkVersions(ctx context.Context, client *clientv3.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	verdicts := make([]error, len(client.Endpoints()))
	var wg sync.WaitGroup
	for i, endpoint := range client.Endpoints() {
		wg.Go(func() {
			status, err := client.Status(ctx, endpoint)
			if err == nil {
				time.AfterFunc(500*time.Millisecond, cancel)
				err = checkVersion(endpoint, status.Version)
			}
			verdicts[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(verdicts...); !slices.Contains(verdicts, nil) || errors.Is(err, store.ErrUnsafe) {
		return err
	}
	return nil
}

// checkVersion refuses releases that may forget in a crash what the only member acknowledged (etcd issue 14370).
func checkVersion(endpoint, version string) error {
	var v [3]int
	_, err := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2])
	if err != nil || slices.Compare(v[:], []int{3, 5, 5}) < 0 {
		return fmt.Errorf("%s: %w: its version is %q, want 3.5.5 or newer: older ones may lose what they acknowledged in a crash: upgrade it", endpoint, store.ErrUnsafe, version)
	}
	return nil
}

// explain is an interceptor for what a client asks beside transactions.
func explain(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	if method == "/etcdserverpb.KV/Txn" { // sendOnce, which cancels the contexts of those, explains them
		return err
	}
	return explained(ctx, err)
}

// explained returns the error of a call that waited for a connection as long as ctx lasted, with the reason, of
// which the client would say nothing. A server may notice that ctx is over before ctx does.
func explained(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil && status.Code(err) != codes.DeadlineExceeded {
		return err
	}
	return fmt.Errorf("%w: %s", cmp.Or(ctx.Err(), context.DeadlineExceeded), status.Convert(err).Message())
}

// A sendOnce sends each transaction once. etcd's client repeats any request, also one that writes, to which a
// server says by itself that it was cancelled or took too long, though it may have taken effect; but not
// when the context is over by then.
type sendOnce struct{ pb.KVClient }

func (s sendOnce) Txn(ctx context.Context, in *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	once, cancel := context.WithCancel(ctx)
	defer cancel()
	end := grpc.OnFinish(func(err error) {
		if code := status.Code(err); code == codes.Canceled || code == codes.DeadlineExceeded {
			cancel()
		}
	})
	resp, err := s.KVClient.Txn(once, in, append(slices.Clip(opts), end)...)
	return resp, explained(ctx, err)
}
