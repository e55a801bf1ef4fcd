package etcdstore

import (
	"context"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake/lease"
)

// A Store is a handle on leases that etcd holds. It implements [lease.Store] and is safe for
// concurrent use, by goroutines and by other handles and processes on the same prefix.
type Store struct {
	client        *clientv3.Client
	keys          keys
	where         string // endpoints and prefix, for messages
	clock         func() time.Time
	trustRecovery bool
	disconnect    func() error // nil if the client is the caller's
	reason        *reason      // nil if the client is the caller's
	closed        atomic.Bool
	healing       chan struct{} // holds one token while a goroutine raises the floor

	mu   sync.Mutex
	seen sighting
}

var _ lease.Store = (*Store)(nil)

// List implements [lease.Store].
func (s *Store) List(ctx context.Context) ([]lease.Record, error) {
	v, err := s.look(ctx)
	return v.records, err
}

// Limits returns the rules of the store, and the first second that it may grant after its data was
// lost or went back in time, the zero Time if there is no such bound.
func (s *Store) Limits(ctx context.Context) (lease.Rules, time.Time, error) {
	v, err := s.look(ctx)
	if err != nil {
		return lease.Rules{}, time.Time{}, err
	}
	if v.meta.NotBefore == 0 {
		return v.meta.Rules, time.Time{}, nil
	}
	return v.meta.Rules, time.Unix(v.meta.NotBefore, 0).UTC(), nil
}

// look reads everything as it is. A loss of data that shows is made good by the next call that
// changes something.
func (s *Store) look(ctx context.Context) (view, error) {
	if err := s.usable(ctx); err != nil {
		return view{}, err
	}
	s.mu.Lock()
	before := s.seen
	s.mu.Unlock()
	v, err := s.readEverything(ctx, before)
	if err != nil {
		return view{}, err
	}
	s.accept(&v, lease.Record{})
	if v.meta == nil {
		return view{}, s.noStore()
	}
	return v, nil
}

// Distrust is the operator's word that the data may be an older copy, because a backup was
// restored. The store then does what it does after a loss that it noticed by itself: it grants
// nothing before [lease.Rules.NotBefore] and renews nothing that starts before that.
func (s *Store) Distrust(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	s.suspect()
	_, err := s.ready(ctx)
	return err
}

// Close makes later calls fail with an error that wraps fs.ErrClosed, and disconnects if Open or
// Create connected. It releases no lease.
func (s *Store) Close() error {
	if s.closed.Swap(true) || s.disconnect == nil {
		return nil
	}
	return s.disconnect()
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return fmt.Errorf("etcdstore: %s: store %w", s.where, fs.ErrClosed)
	}
	return ctx.Err()
}

func (s *Store) noStore() error {
	return fmt.Errorf("etcdstore: %s: %w: make one with: randflake lease init -store URL", s.where, lease.ErrNoStore)
}

// failed says what etcd did not do. Whether a write took effect is then unknown.
func (s *Store) failed(what string, err error) error {
	return fmt.Errorf("etcdstore: %s: %s: %w", s.where, what, s.reason.explain(err))
}
