package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

// A Store is a handle on leases that are kept in Redis. It implements [lease.Store] and is safe for
// concurrent use, as are many handles and processes on the same keys.
type Store struct {
	config   Config
	keys     []string
	client   redis.UniversalClient
	own      bool             // the client is closed with the store
	clock    func() time.Time // nil for the server's
	replicas int              // how many must acknowledge a change
	patience time.Duration    // how long they may take

	closed atomic.Bool
	unsafe atomic.Bool // a call found unsafe settings

	mu   sync.Mutex
	seen sighting
}

var _ lease.Store = (*Store)(nil)

// The operations of step.lua.
const (
	opCreate   = "create"
	opAcquire  = "acquire"
	opRenew    = "renew"
	opLookup   = "lookup"
	opRelease  = "release"
	opDistrust = "distrust"
)

// Open connects to the server at rawURL, checks its version and settings, and opens the store there. It
// fails with lease.ErrNoStore where there is none, unless told [OrCreate].
//
// The URL is redis://user:password@host:port/db, rediss:// for TLS, or unix://user:password@/path, with the
// parameters of go-redis (as read_timeout=1s), of [Config], and ca=, cert= and key=, paths of
// PEM files for TLS.
func Open(ctx context.Context, rawURL string, opts ...Option) (*Store, error) {
	return dial(ctx, rawURL, opts, New)
}

// Create makes a new store where Open finds it. It fails with fs.ErrExist where there is one.
//
// A new store can't know what an earlier one granted for the same secret, so it grants nothing that
// starts before [lease.Rules.NotBefore]: with the default rules, generators wait for eleven minutes.
// The rules must be at least as wide as those of any store that the secret had before, since they say
// how far the leases of that one may reach. Where there was no earlier store, [ForNewSecret] drops that wait.
func Create(ctx context.Context, rawURL string, opts ...Option) (*Store, error) {
	return dial(ctx, rawURL, opts, CreateOn)
}

type opener func(context.Context, redis.UniversalClient, Config, ...Option) (*Store, error)

func dial(ctx context.Context, rawURL string, opts []Option, open opener) (*Store, error) {
	config, options, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(options)
	s, err := open(ctx, client, config, opts...)
	if err != nil {
		client.Close()
		return nil, err
	}
	s.own = true
	return s, nil
}

// New opens a store as Open does, on a client that stays the caller's: a *redis.Client, be it for one
// server or by way of sentinels, or a *redis.ClusterClient.
func New(ctx context.Context, client redis.UniversalClient, config Config, opts ...Option) (*Store, error) {
	o, err := setup.ForOpen(opts)
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	s, now, err := connect(ctx, client, config, o)
	if err != nil {
		return nil, err
	}
	m, err := s.readMeta(ctx)
	if errors.Is(err, lease.ErrNoStore) && o.OrCreate {
		if err = s.create(ctx, o, now); err == nil {
			return s, nil
		}
		if errors.Is(err, fs.ErrExist) {
			m, err = s.readMeta(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	s.seen = m.sighting
	return s, nil
}

// CreateOn makes a new store as Create does, on a client that stays the caller's.
func CreateOn(ctx context.Context, client redis.UniversalClient, config Config, opts ...Option) (*Store, error) {
	o, err := setup.ForCreate(opts)
	if err != nil {
		return nil, fmt.Errorf("redisstore: %w", err)
	}
	s, now, err := connect(ctx, client, config, o)
	if err != nil {
		return nil, err
	}
	if err := s.create(ctx, o, now); err != nil {
		return nil, err
	}
	return s, nil
}

// connect returns a Store that has checked the server and has yet to see its data, and the present.
func connect(ctx context.Context, client redis.UniversalClient, config Config, o setup.Options) (*Store, int64, error) {
	config, err := config.complete()
	if err != nil {
		return nil, 0, err
	}
	s := &Store{config: config, keys: config.keys(), client: client, clock: o.Clock}
	switch c := client.(type) {
	case *redis.Client:
		s.patience = patience(c.Options().ReadTimeout)
	case *redis.ClusterClient:
		s.patience = patience(c.Options().ReadTimeout)
	default:
		return nil, 0, fmt.Errorf("redisstore: client is a %T: want a *redis.Client or a *redis.ClusterClient", client)
	}
	if err := s.usable(ctx); err != nil {
		return nil, 0, err
	}
	found, err := await(ctx, func() (server, error) { return s.inspect(ctx) })
	if err != nil {
		return nil, 0, fmt.Errorf("redisstore: open: %w", withContext(ctx, err))
	}
	s.replicas = max(config.Replicas, 0)
	if config.Replicas == 0 && found.replicas {
		s.replicas = 1
	}
	if s.clock != nil {
		return s, s.clock().Unix(), nil
	}
	return s, found.now.Unix(), nil
}

// patience returns how long replicas may take when the client waits so long for a reply.
func patience(readTimeout time.Duration) time.Duration {
	if readTimeout <= 0 {
		return 2 * time.Second
	}
	return readTimeout * 2 / 3
}

// create makes the store. The script reckons the floor anew, by the second in which it makes it.
func (s *Store) create(ctx context.Context, o setup.Options, now int64) error {
	m, err := o.New(now)
	if err != nil {
		return fmt.Errorf("redisstore: create: %w", err)
	}
	r, err := s.step(ctx, call{Op: opCreate, MaxTTL: seconds(m.Rules.MaxTTL), MaxSkew: seconds(m.Rules.MaxSkew), Floor: m.NotBefore != 0}, nil)
	if err != nil {
		return err
	}
	if r.status == "exists" {
		return fmt.Errorf("redisstore: create: %s: %w: a store is never replaced: use Open, or another prefix", s.config.Prefix, fs.ErrExist)
	}
	return nil
}

// Acquire implements [lease.Store].
func (s *Store) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	if err := s.rules().CheckRequest(req); err != nil {
		return lease.Record{}, err
	}
	below := cmp.Or(req.Below, randflake.MaxNode+1)
	r, err := s.step(ctx, call{Op: opAcquire, Nodes: req.Nodes, Below: below, TTL: seconds(req.TTL), Owner: newOwner()}, nil)
	if err != nil {
		return lease.Record{}, err
	}
	if r.status == "ok" {
		return r.record, nil
	}
	return lease.Record{}, s.whyNotGranted(ctx, r, req)
}

// whyNotGranted lets the rules explain why the script granted nothing.
func (s *Store) whyNotGranted(ctx context.Context, r reply, req lease.Request) error {
	var err error
	if r.record != (lease.Record{}) {
		_, err = r.rules.GrantOn(r.record, req, r.now, r.notBefore)
	} else {
		records, listErr := s.List(ctx)
		if listErr != nil {
			return listErr
		}
		_, err = r.rules.Grant(records, req, r.now, r.notBefore)
	}
	if err == nil {
		return fmt.Errorf("%w: there was none, and there may be one by now: try again", lease.ErrNoRange)
	}
	return err
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, held lease.Record, ttl time.Duration) (lease.Record, error) {
	if err := s.rules().CheckTTL(ttl); err != nil {
		return lease.Record{}, err
	}
	r, err := s.step(ctx, call{Op: opRenew, TTL: seconds(ttl)}, &held)
	if err != nil || r.status == "ok" {
		return r.record, err
	}
	if _, err := r.rules.Renew(r.record, held, ttl, r.now, r.notBefore); err != nil {
		return lease.Record{}, err
	}
	return lease.Record{}, lost(held)
}

// Lookup implements [lease.Store]. It counts as a change, so that what it returns is on disk, and on as
// many replicas, as a renewal is.
func (s *Store) Lookup(ctx context.Context, held lease.Record) (lease.Record, error) {
	r, err := s.step(ctx, call{Op: opLookup}, &held)
	if err != nil {
		return lease.Record{}, err
	}
	if r.status != "ok" {
		return lease.Record{}, lost(held)
	}
	return r.rules.Lookup(r.record, held, r.notBefore)
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	r, err := s.step(ctx, call{Op: opRelease, LastUsed: lastUsed.Unix()}, &held)
	if err != nil || r.status == "ok" {
		return err
	}
	return lost(held)
}

func lost(held lease.Record) error {
	return fmt.Errorf("%w: nodes %d to %d", lease.ErrLost, held.FirstNode, held.LastNode)
}

// List implements [lease.Store].
func (s *Store) List(ctx context.Context) ([]lease.Record, error) {
	_, records, err := s.read(ctx)
	return records, err
}

// Limits returns the rules of the store, and the first second that it may grant after its data was lost
// or may have been, the zero Time if there is no such bound.
func (s *Store) Limits(ctx context.Context) (lease.Rules, time.Time, error) {
	m, err := s.readMeta(ctx)
	if err != nil || m.notBefore == 0 {
		return m.rules, time.Time{}, err
	}
	return m.rules, time.Unix(m.notBefore, 0).UTC(), nil
}

// Distrust is the operator's word that the data may be an older copy, as when a backup was restored: no
// lease is renewed that was granted before, and none is granted that starts before [lease.Rules.NotBefore].
func (s *Store) Distrust(ctx context.Context) error {
	_, err := s.step(ctx, call{Op: opDistrust}, nil)
	return err
}

// Close makes later calls fail with an error that wraps fs.ErrClosed, and closes the client if Open or
// Create made it. It releases no lease.
func (s *Store) Close() error {
	if s.closed.Swap(true) || !s.own {
		return nil
	}
	return s.client.Close()
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return fmt.Errorf("redisstore: %s: store %w", s.config.Prefix, fs.ErrClosed)
	}
	return ctx.Err()
}

func (s *Store) rules() lease.Rules {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.rules
}

// node returns the client of the server that has the keys. Only there do the commands of a pipeline share
// a connection: in a cluster, WAIT would go anywhere.
func (s *Store) node(ctx context.Context) (*redis.Client, error) {
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		return cluster.MasterForKey(ctx, s.keys[0])
	}
	return s.client.(*redis.Client), nil
}

// reload makes a cluster's client find out anew, soon, where the keys are.
func (s *Store) reload(ctx context.Context) {
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		cluster.ReloadState(ctx)
	}
}
