// Package etcd keeps a store in etcd v3.
//
//	e, err := etcd.Connect(ctx, "etcd://user:password@host1:2379,host2:2379/?prefix=/ids/")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// The URL lists members of one cluster; etcds:// is for TLS. The parameters:
//
//	prefix         what the keys begin with, up to a slash at its end; /randflake/ by default
//	ca             PEM file with the certificates that the servers' must be signed by, not the system's
//	cert, key      PEM files with the client's certificate and key
//	dial-timeout   how long to wait for a connection; 5s by default
//
// An entry is a key, prefix and name; no other keys may begin with the prefix. A user needs to read and
// write those alone. While etcd is out of reach a call waits until its context is done. The process has the clock.
//
// Members older than release 3.5.5 are refused. Never run etcd with --unsafe-no-fsync, which no client can
// find out. Let it compact (--auto-compaction-retention). When its space quota is used up it refuses all
// changes, and forgets nothing. What one call expects and puts must fit in its --max-request-bytes.
//
// Lineage is the cluster's id, by which a snapshot shows that was restored into a new cluster. Position is
// etcd's revision. By that an older data directory shows, a snapshot restored with the names, peer URLs and
// token that the cluster had, and a minority that went on by --force-new-cluster, but only until other
// changes, or --bump-revision, have made up for the revisions that were lost. So give a restored cluster
// another --initial-cluster-token, or report a loss before any process uses the space.
package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/storeurl"
	"github.com/randflake/randflake/lease/internal/turns"
)

// An Engine holds entries in etcd. It implements [lease.Engine].
type Engine struct {
	client          *clientv3.Client
	kv              clientv3.KV
	prefix          string
	own             bool // the client is closed with the engine
	checked, closed atomic.Bool
}

var _ lease.Engine = (*Engine)(nil)

// New returns an engine on a client, by its connections and not by its KV. Close leaves it open. prefix is what the keys begin with,
// up to a slash at its end; "/randflake/" if empty.
func New(client *clientv3.Client, prefix string) (*Engine, error) {
	prefix = cmp.Or(prefix, "/randflake/")
	if !strings.HasSuffix(prefix, "/") {
		return nil, fmt.Errorf("etcd: prefix %q: want a slash at the end", prefix)
	}
	return &Engine{client: client, kv: clientv3.NewKVFromKVClient(sendOnce{clientv3.RetryKVClient(client)}, client), prefix: prefix}, nil
}

// Connect returns an engine for a URL. ctx is for the password, which the cluster checks now.
func Connect(ctx context.Context, url string) (*Engine, error) {
	config, prefix, err := parse(url)
	if err != nil {
		return nil, err
	}
	// The client lives on when ctx is done, but what it does before that must not.
	life, end := context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, end)()
	config.Context = life
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("etcd: connect to %s: %w", strings.Join(config.Endpoints, ","), errors.Join(ctx.Err(), err))
	}
	e, err := New(client, prefix)
	if err != nil {
		client.Close()
		return nil, err
	}
	e.own = true
	return e, nil
}

// Check finds what is wrong with a URL, as Connect does. It connects to nothing.
func Check(url string) error {
	_, _, err := parse(url)
	return err
}

// Prepare has nothing to do.
func (e *Engine) Prepare(ctx context.Context) error { return e.usable(ctx) }

// Read implements [lease.Engine], with one linearizable transaction.
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	return e.commit(ctx, "read", names, nil, e.gets(names), nil)
}

// Swap implements [lease.Engine], with one transaction. etcd acknowledges it when a majority has it on disk.
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	var conditions []clientv3.Cmp
	var puts []clientv3.Op
	var names []string
	for _, want := range expect {
		key := e.prefix + want.Name
		condition := clientv3.Compare(clientv3.Value(key), "=", string(want.Value)) // false where there is no key
		if want.Value == nil {
			condition = clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
		}
		conditions, names = append(conditions, condition), append(names, want.Name)
	}
	for _, next := range put {
		puts = append(puts, clientv3.OpPut(e.prefix+next.Name, string(next.Value)))
	}
	return e.commit(ctx, "swap", names, conditions, puts, e.gets(names))
}

// gets begins with what finds nothing: a member that lags behind may answer a transaction without operations.
func (e *Engine) gets(names []string) []clientv3.Op {
	ops := []clientv3.Op{clientv3.OpGet(e.prefix, clientv3.WithCountOnly())}
	for _, name := range names {
		ops = append(ops, clientv3.OpGet(e.prefix+name))
	}
	return ops
}

func (e *Engine) commit(ctx context.Context, what string, names []string, conditions []clientv3.Cmp, then, otherwise []clientv3.Op) (a lease.Answer, err error) {
	if err := e.usable(ctx); err != nil {
		return a, turns.Unmade(err)
	}
	resp, err := e.kv.Txn(ctx).If(conditions...).Then(then...).Else(otherwise...).Commit()
	if end, ok := ctx.Deadline(); err != nil && ok && !time.Now().Before(end) {
		<-ctx.Done() // the server may notice the deadline first
	}
	if err != nil {
		return a, e.failed(ctx, what, err)
	}
	a.Lineage, a.Position = fmt.Sprintf("%x", resp.Header.GetClusterId()), uint64(resp.Header.GetRevision())
	if a.Swapped = resp.Succeeded && otherwise != nil; !a.Swapped {
		for i, name := range names {
			a.Entries = append(a.Entries, lease.Entry{Name: name})
			copy(a.Entries[i:], e.entries(resp.Responses[i+1].GetResponseRange()))
		}
	}
	return a, nil
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	if err := e.usable(ctx); err != nil {
		return nil, err
	}
	resp, err := e.kv.Get(ctx, e.prefix+max(prefix, after+"\x00"), clientv3.WithRange(e.prefix+prefix+"~"), clientv3.WithLimit(int64(limit))) // all names are below ~
	if err != nil {
		return nil, e.failed(ctx, "list", err)
	}
	return e.entries((*pb.RangeResponse)(resp)), nil
}

// entries returns what a request found, with values that are not nil.
func (e *Engine) entries(r *pb.RangeResponse) (entries []lease.Entry) {
	for _, kv := range r.GetKvs() {
		entries = append(entries, lease.Entry{Name: string(kv.Key[len(e.prefix):]), Value: append([]byte{}, kv.Value...)})
	}
	return entries
}

// Close implements [lease.Engine]. A client that New was given stays open.
func (e *Engine) Close() error {
	if !e.closed.Swap(true) && e.own {
		return e.client.Close()
	}
	return nil
}

// String says which keys of which members.
func (e *Engine) String() string {
	return "etcd " + strings.Join(e.client.Endpoints(), ",") + " prefix " + e.prefix
}

func (e *Engine) failed(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return fmt.Errorf("etcd: %s: %s: %w", what, e, err)
}

// usable refuses, once, a cluster with a member that is too old. A member that does not answer soon after another one did is
// passed over.
func (e *Engine) usable(ctx context.Context) error {
	if e.closed.Load() {
		return e.failed(ctx, "use", fs.ErrClosed)
	}
	if ctx.Err() != nil || e.checked.Load() {
		return ctx.Err()
	}
	soon, cancel := context.WithCancel(ctx)
	defer cancel()
	verdicts := make([]error, len(e.client.Endpoints()))
	var wg sync.WaitGroup
	for i, endpoint := range e.client.Endpoints() {
		wg.Go(func() {
			status, err := e.client.Status(soon, endpoint)
			if err == nil {
				time.AfterFunc(500*time.Millisecond, cancel)
				err = checkVersion(endpoint, status.Version)
			}
			verdicts[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(verdicts...); !slices.Contains(verdicts, nil) || errors.Is(err, lease.ErrUnsafe) {
		return e.failed(ctx, "check the release", err)
	}
	e.checked.Store(true)
	return nil
}

// checkVersion refuses releases that may forget in a crash what the only member acknowledged (etcd issue 14370).
func checkVersion(endpoint, version string) error {
	var v [3]int
	_, err := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2])
	if err != nil || slices.Compare(v[:], []int{3, 5, 5}) < 0 {
		return fmt.Errorf("%s: %w: its version is %q, want 3.5.5 or newer: older ones may lose what they acknowledged in a crash: upgrade it", endpoint, lease.ErrUnsafe, version)
	}
	return nil
}

// A sendOnce sends each transaction once. etcd's client repeats any request, also one that writes, to which a
// server says by itself that it was cancelled or took too long, though it may have taken effect; but not
// when the context is over by then.
type sendOnce struct{ pb.KVClient }

// Txn implements [pb.KVClient].
func (s sendOnce) Txn(ctx context.Context, in *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	once, cancel := context.WithCancel(ctx)
	defer cancel()
	end := grpc.OnFinish(func(err error) {
		if code := status.Code(err); code == codes.Canceled || code == codes.DeadlineExceeded {
			cancel()
		}
	})
	var member peer.Peer // that the transaction was sent to
	resp, err := s.KVClient.Txn(once, in, append(slices.Clip(opts), end, grpc.Peer(&member))...)
	err = explained(ctx, err)
	if member.Addr == nil {
		err = turns.Unmade(err)
	}
	return resp, err
}

// explain is an interceptor for what a client asks beside transactions, whose contexts sendOnce cancels.
func explain(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	if method == "/etcdserverpb.KV/Txn" {
		return err
	}
	return explained(ctx, err)
}

// explained returns the error of a call that waited for a connection as long as ctx lasted, with the reason, of which the client
// would say nothing. A server may notice that ctx is over before ctx does.
func explained(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil && status.Code(err) != codes.DeadlineExceeded {
		return err
	}
	return fmt.Errorf("%w: %s", cmp.Or(ctx.Err(), context.DeadlineExceeded), status.Convert(err).Message())
}

// parse takes etcd://user:password@host:port,host:port/?parameter=value apart. No error of it shows
// what may be a part of the password, also not of one that is not encoded as it should be.
func parse(raw string) (c clientv3.Config, prefix string, err error) {
	if err := storeurl.CheckURL(raw); err != nil {
		return c, "", err
	}
	scheme, rest, _ := strings.Cut(raw, "://")
	if scheme != "etcd" && scheme != "etcds" {
		return c, "", errors.New("etcd: URL: want etcd://host:2379 or, with TLS, etcds://host:2379")
	}
	// net/url knows no lists of hosts, so they are taken out first.
	end := strings.IndexAny(rest+"/", "/?#")
	at := strings.LastIndexByte(rest[:end], '@') + 1
	path, parameters, _ := strings.Cut(rest[end:], "?")
	query, err := url.ParseQuery(parameters)
	if err != nil || path != "" && path != "/" {
		return c, "", errors.New("etcd: URL: want nothing after the hosts but parameters, as in /?name=value&name=value: prefix says where the entries are")
	}
	u, err := url.Parse("etcd://" + rest[:at] + "hosts")
	if err != nil {
		return c, "", errors.New("etcd: URL: user and password: percent-encode what is special in them")
	}
	if c, prefix, err = configure(query, scheme == "etcds"); err != nil {
		return c, "", fmt.Errorf("etcd: URL: %w", err)
	}
	c.Username = u.User.Username()
	c.Password, _ = u.User.Password()
	if u.User != nil && (c.Username == "" || c.Password == "") {
		return c, "", errors.New("etcd: URL: want a user and a password, or neither")
	}
	for i, host := range strings.Split(rest[at:end], ",") {
		h, err := url.Parse("etcd://" + host)
		if err != nil || h.Hostname() == "" || strings.Contains(h.Hostname(), ":") && host[0] != '[' {
			return c, "", fmt.Errorf("etcd: URL: host number %d: want host or host:port, several separated by commas", i+1)
		}
		c.Endpoints = append(c.Endpoints, "http"+scheme[len("etcd"):]+"://"+net.JoinHostPort(h.Hostname(), cmp.Or(h.Port(), "2379")))
	}
	return c, prefix, nil
}

// configure goes by the parameters. The client is silent, and quick to notice a dead connection and to try again.
func configure(query url.Values, secure bool) (c clientv3.Config, prefix string, err error) {
	take := func(name, standard string) string { return cmp.Or(storeurl.Take(query, name), standard) }
	prefix = take("prefix", "")
	text := take("dial-timeout", "5s")
	timeout, err := time.ParseDuration(text)
	if err != nil || timeout <= 0 {
		return c, "", fmt.Errorf("dial-timeout=%s: want a duration such as 5s", text)
	}
	c = clientv3.Config{DialTimeout: timeout, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second, Logger: zap.NewNop()}
	c.DialOptions = []grpc.DialOption{grpc.WithChainUnaryInterceptor(explain), grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
		MinConnectTimeout: timeout,
	})}
	if secure {
		files := transport.TLSInfo{TrustedCAFile: take("ca", ""), CertFile: take("cert", ""), KeyFile: take("key", "")}
		if c.TLS, err = files.ClientConfig(); err != nil {
			return c, "", fmt.Errorf("ca, cert, key: %w", err)
		}
	}
	for name := range query {
		return c, "", storeurl.Unknown(name, "prefix, dial-timeout or, with etcds://, ca, cert, key")
	}
	return c, prefix, nil
}
