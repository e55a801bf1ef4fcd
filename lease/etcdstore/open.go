package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/randflake/randflake/lease/internal/setup"
)

// Open connects to etcd and opens the store that url names; see the package's documentation for
// its form. Without a store it fails with an error that wraps lease.ErrNoStore, unless told
// [OrCreate]. It takes ten seconds at most.
func Open(ctx context.Context, url string, opts ...Option) (*Store, error) {
	o, err := setup.ForOpen(opts)
	if err != nil {
		return nil, fmt.Errorf("etcdstore: %w", err)
	}
	return connect(ctx, url, o, (*Store).open)
}

// Create connects to etcd and makes a new store where url says. It fails with an error that wraps
// fs.ErrExist when there is one already.
//
// A new store can't know what an earlier one granted for the same secret, so it grants nothing
// that starts before [lease.Rules.NotBefore]: with the default rules, generators wait for eleven
// minutes. The rules must be at least as wide as those of any store that the secret had before,
// since they say how far the leases of that one may reach. Where there was no earlier store,
// [ForNewSecret] drops that wait.
func Create(ctx context.Context, url string, opts ...Option) (*Store, error) {
	o, err := setup.ForCreate(opts)
	if err != nil {
		return nil, fmt.Errorf("etcdstore: %w", err)
	}
	return connect(ctx, url, o, (*Store).create)
}

// A Config is what the URL says beside how to connect.
type Config struct {
	// Prefix is where the store's keys are; it ends with a slash. "/randflake/" if empty.
	Prefix string

	// TrustRecovery is the caller's word that etcd never comes back from a disaster without
	// something that it acknowledged: another cluster with the store's data is then taken
	// for the same.
	TrustRecovery bool
}

// New opens the store that config names through a client that the caller has. Close leaves the
// client open. It should have a logger of the caller's choice, and may repeat a write by itself if a
// server says that it was cancelled; a renewal that took effect the first time then fails with
// lease.ErrLost, and Lookup tells.
func New(ctx context.Context, client *clientv3.Client, config Config, opts ...Option) (*Store, error) {
	o, err := setup.ForOpen(opts)
	if err != nil {
		return nil, fmt.Errorf("etcdstore: %w", err)
	}
	if client == nil {
		return nil, errors.New("etcdstore: nil client")
	}
	if config.Prefix, err = checkPrefix(config.Prefix); err != nil {
		return nil, err
	}
	s := newStore(client, config, o)
	if err := begin(ctx, s, o, (*Store).open); err != nil {
		return nil, err
	}
	return s, nil
}

// patience bounds Open, Create and New.
const patience = 10 * time.Second

// connect makes a client and begins with it.
func connect(ctx context.Context, url string, o setup.Options, how func(*Store, context.Context, setup.Options) error) (*Store, error) {
	t, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The client lives on when ctx is done, but what it does before that must not.
	life, end := context.WithCancel(context.Background())
	unbind := context.AfterFunc(ctx, end)
	t.client.Context = life
	why := new(reason)
	t.client.DialOptions = append(t.client.DialOptions, grpc.WithChainUnaryInterceptor(why.note))
	client, err := clientv3.New(t.client)
	if !unbind() {
		err = ctx.Err()
	}
	if err != nil {
		if client != nil {
			client.Close()
		}
		end()
		return nil, fmt.Errorf("etcdstore: %s: connect: %w", strings.Join(t.client.Endpoints, ","), why.explain(err))
	}
	s := newStore(client, t.config, o)
	s.reason = why
	s.disconnect = func() error { defer end(); return client.Close() }
	if err := begin(ctx, s, o, how); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// clientConfig is what every client of Open has: silent, quick to notice a connection that is
// dead, and quick to try again.
func clientConfig(dialTimeout time.Duration) clientv3.Config {
	return clientv3.Config{
		DialTimeout:          dialTimeout,
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 5 * time.Second,
		Logger:               zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
			MinConnectTimeout: dialTimeout,
		})},
	}
}

func newStore(client *clientv3.Client, config Config, o setup.Options) *Store {
	s := &Store{
		client:        client,
		keys:          keys{config.Prefix},
		where:         strings.Join(client.Endpoints(), ",") + " prefix " + config.Prefix,
		clock:         o.Clock,
		trustRecovery: config.TrustRecovery,
		healing:       make(chan struct{}, 1),
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	return s
}

// begin checks etcd and opens or creates the store.
func begin(ctx context.Context, s *Store, o setup.Options, how func(*Store, context.Context, setup.Options) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.checkVersions(ctx); err != nil {
		return err
	}
	return how(s, ctx, o)
}

// open reads the meta, which is the first that the handle sees of the store.
func (s *Store) open(ctx context.Context, o setup.Options) error {
	found, err := s.sight(ctx)
	if err != nil || found {
		return err
	}
	if !o.OrCreate {
		return s.noStore()
	}
	if err = s.create(ctx, o); !errors.Is(err, fs.ErrExist) {
		return err
	}
	if found, err = s.sight(ctx); err == nil && !found {
		err = s.noStore()
	}
	return err
}

func (s *Store) sight(ctx context.Context) (found bool, err error) {
	resp, err := s.client.Get(ctx, s.keys.meta())
	if err != nil {
		return false, s.failed("read", err)
	}
	v, err := s.parse(sighting{}, resp.Header, resp.Kvs)
	if err != nil || v.meta == nil {
		return false, err
	}
	s.seen = sighting{meta: *v.meta, revision: v.revision, newest: v.newest}
	return true, nil
}

// create writes the meta if there is none. Records that an earlier store left behind stay, and
// stand in the way of the word that there was none.
func (s *Store) create(ctx context.Context, o setup.Options) error {
	first, err := o.New(s.clock().Unix())
	if err != nil {
		return fmt.Errorf("etcdstore: create %s: %w", s.where, err)
	}
	resp, err := s.client.Get(ctx, s.keys.meta())
	if err != nil {
		return s.failed("create", err)
	}
	m := meta{first, resp.Header.GetClusterId()}
	conditions := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(s.keys.meta()), "=", 0)}
	if o.NewSecret {
		ranges := clientv3.CreateRevision(s.keys.prefix + rangeName).WithRange(s.keys.prefix + rangeEnd)
		conditions = append(conditions, clientv3.Compare(ranges, "=", 0))
	}
	txn, err := s.client.Txn(ctx).If(conditions...).Then(clientv3.OpPut(s.keys.meta(), encodeMeta(m))).Commit()
	if err != nil {
		return s.failed("create: outcome unknown", err)
	}
	if !txn.Succeeded {
		return fmt.Errorf("etcdstore: create %s: %w, or what is left of one: a store is never replaced: use Open, or another prefix", s.where, fs.ErrExist)
	}
	s.seen = sighting{meta: m, revision: txn.Header.GetRevision(), newest: position{s.keys.meta(), txn.Header.GetRevision()}}
	return nil
}
