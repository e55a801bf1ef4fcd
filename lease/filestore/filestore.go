package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

// A Store is a handle on a directory that holds leases. It implements [lease.Store] and is safe
// for concurrent use, by goroutines and by other handles and processes on the same directory.
// It keeps no file open between calls.
type Store struct {
	dir    string
	clock  func() time.Time
	files  files
	turn   chan struct{} // holds one token while a goroutine waits for or has the lock file
	closed atomic.Bool

	mu         sync.Mutex
	seen       sighting // the newest state seen in the directory
	rolledBack bool     // a state was found that can't follow the newest one seen
}

var _ lease.Store = (*Store)(nil)

// The files of a store's directory.
const (
	stateName       = "state"       // all records; see format.go
	incarnationName = "incarnation" // the token that the state must carry
	lockName        = "lock"        // empty; locked, and never renamed or removed while there is a store
	tempSuffix      = ".tmp"
)

// patience is how long Open and Create wait for another process to give up the lock.
const patience = 10 * time.Second

// Open opens the store in dir. It never creates or changes one: without a store it fails with an
// error that wraps lease.ErrNoStore, and with one that wraps lease.ErrCorrupt when a file is
// damaged or missing.
func Open(dir string, opts ...Option) (*Store, error) {
	return openOn(osFiles{}, dir, opts)
}

func openOn(fsys files, dir string, opts []Option) (*Store, error) {
	o, err := settle(setup.ForOpen(opts))
	if err != nil {
		return nil, err
	}
	s, err := newStore(fsys, dir, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := s.peek(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func newStore(fsys files, dir string, o setup.Options) (*Store, error) {
	if dir == "" {
		return nil, errors.New("filestore: no directory given")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("filestore: directory %q: %w", dir, err)
	}
	return &Store{dir: abs, clock: o.Clock, files: fsys, turn: make(chan struct{}, 1)}, nil
}

// Acquire implements [lease.Store].
func (s *Store) Acquire(ctx context.Context, req lease.Request) (rec lease.Record, err error) {
	err = s.update(ctx, func(st *state, now int64) error {
		rec, err = st.rules.Grant(st.records, req, now, st.notBefore)
		if err != nil {
			return err
		}
		st.put(rec)
		return nil
	})
	return orNothing(rec, err)
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, held lease.Record, ttl time.Duration) (rec lease.Record, err error) {
	err = s.update(ctx, func(st *state, now int64) error {
		rec, err = st.rules.Renew(st.find(held), held, ttl, now, st.notBefore)
		if err != nil {
			return err
		}
		st.put(rec)
		return nil
	})
	return orNothing(rec, err)
}

// Lookup implements [lease.Store]. It writes the state anew before it returns: what it read may
// be the outcome of a write whose sync failed, and after such a failure a system may count data
// as synced that never reached the disk.
func (s *Store) Lookup(ctx context.Context, held lease.Record) (rec lease.Record, err error) {
	err = s.update(ctx, func(st *state, _ int64) error {
		rec, err = st.rules.Lookup(st.find(held), held, st.notBefore)
		return err
	})
	return orNothing(rec, err)
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	return s.update(ctx, func(st *state, _ int64) error {
		rec, err := st.rules.Release(st.find(held), held, lastUsed)
		if err != nil {
			return err
		}
		st.put(rec)
		return nil
	})
}

// List implements [lease.Store]. It neither waits for writers nor holds them up.
func (s *Store) List(ctx context.Context) ([]lease.Record, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	st, err := s.peek(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Clone(st.records), nil
}

// Limits returns the rules of the store, and the first second that it may grant after its data was
// lost or went back in time, the zero Time if there is no such bound.
func (s *Store) Limits(ctx context.Context) (lease.Rules, time.Time, error) {
	if err := s.usable(ctx); err != nil {
		return lease.Rules{}, time.Time{}, err
	}
	st, err := s.peek(ctx)
	if err != nil || st.notBefore == 0 {
		return st.rules, time.Time{}, err
	}
	return st.rules, time.Unix(st.notBefore, 0).UTC(), nil
}

// Distrust is the operator's word that the data may be an older copy, as when the machine was restored
// from a backup. What it forgot may be in use, so nothing is granted any more that starts before
// [lease.Rules.NotBefore], and no lease that does is renewed: on disk, for all processes, from when
// Distrust returns. Such a bound that is there already never becomes an earlier one.
func (s *Store) Distrust(ctx context.Context) error {
	return s.update(ctx, func(st *state, now int64) error {
		if err := st.distrust(now); err != nil {
			return fmt.Errorf("filestore: distrust %s: %w", s.dir, err)
		}
		return nil
	})
}

// Close makes later calls fail with an error that wraps fs.ErrClosed. It releases no lease.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}

// update runs change on the state under the exclusive lock, and stores what it made of it durably
// unless it returned an error.
func (s *Store) update(ctx context.Context, change func(st *state, now int64) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	st, err := s.read()
	if err != nil {
		return err
	}
	now := s.clock().Unix()
	if err := s.heal(&st, now); err != nil {
		return err
	}
	if err := change(&st, now); err != nil {
		return err
	}
	st.revision++
	return s.write(st)
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return fmt.Errorf("filestore: %s: store %w", s.dir, fs.ErrClosed)
	}
	return ctx.Err()
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// orNothing returns rec without an error, and nothing but the error with one.
func orNothing(rec lease.Record, err error) (lease.Record, error) {
	if err != nil {
		return lease.Record{}, err
	}
	return rec, nil
}
