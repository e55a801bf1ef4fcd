package pgstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// A Store is a handle on a lease store in a PostgreSQL database. It implements [lease.Store] and is
// safe for concurrent use, as is the database by any number of handles.
type Store struct {
	pool       *pgxpool.Pool
	ownsPool   bool
	names      names
	statements map[string]string // by function
	trusted    bool
	clock      func() time.Time // nil for the server's
	closed     atomic.Bool

	healing chan struct{} // holds one token while a goroutine sets the floor

	mu   sync.Mutex
	seen sighting
}

var _ lease.Store = (*Store)(nil)

// Acquire implements [lease.Store].
func (s *Store) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	rules := s.sighting().rules
	if err := rules.CheckRequest(req); err != nil {
		return lease.Record{}, err
	}
	var token lease.Owner
	rand.Read(token[:]) // never fails, by its contract
	below := cmp.Or(req.Below, randflake.MaxNode+1)
	a, err := s.call(ctx, "acquire", req.Nodes, below, seconds(req.TTL), token.String())
	if err != nil {
		return lease.Record{}, err
	}
	rec, err := a.Record.record()
	switch {
	case err != nil:
		return lease.Record{}, err
	case a.Record == nil:
		return lease.Record{}, s.refusal(ctx, req, a)
	case rec.Owner != token || rec.Nodes() < req.Nodes || rec.LastNode >= below || rec.Start < max(a.Now, a.NotBefore) || rec.HighWater < rec.Start:
		return lease.Record{}, corrupt("granted was %+v", rec)
	}
	return rec, nil
}

// refusal explains why nothing was granted.
func (s *Store) refusal(ctx context.Context, req lease.Request, a answer) error {
	rules, err := a.rules()
	if err != nil {
		return err
	}
	records, err := s.List(ctx)
	if err != nil {
		return err
	}
	if _, err := rules.Grant(records, req, a.Now, a.NotBefore); err != nil {
		return err
	}
	return fmt.Errorf("%w: for %d nodes at the moment: try again", lease.ErrNoRange, req.Nodes)
}

// Renew implements [lease.Store].
func (s *Store) Renew(ctx context.Context, held lease.Record, ttl time.Duration) (lease.Record, error) {
	if err := s.sighting().rules.CheckTTL(ttl); err != nil {
		return lease.Record{}, err
	}
	a, current, err := s.change(ctx, "renew", held, seconds(ttl))
	if err != nil || a.Position > 0 {
		return current, err
	}
	rules, err := a.rules()
	if err != nil {
		return lease.Record{}, err
	}
	if _, err := rules.Renew(current, held, ttl, a.Now, a.NotBefore); err != nil {
		return lease.Record{}, err
	}
	return lease.Record{}, lost(held)
}

// Lookup implements [lease.Store]. It commits, so that what it read is durable.
func (s *Store) Lookup(ctx context.Context, held lease.Record) (lease.Record, error) {
	if err := s.usable(ctx); err != nil {
		return lease.Record{}, err
	}
	if !exists(held) {
		return lease.Record{}, lost(held)
	}
	a, err := s.call(ctx, "lookup", held.FirstNode, held.LastNode, fits(held.Version), held.Start)
	if err != nil {
		return lease.Record{}, err
	}
	rec, err := a.Record.record()
	if err != nil {
		return lease.Record{}, err
	}
	return lease.Rules{}.Lookup(rec, held, a.NotBefore)
}

// Release implements [lease.Store].
func (s *Store) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	a, current, err := s.change(ctx, "release", held, lastUsed.Unix())
	if err != nil || a.Position > 0 {
		return err
	}
	rules, err := a.rules()
	if err != nil {
		return err
	}
	if _, err := rules.Release(current, held, lastUsed); err != nil {
		return err
	}
	return lost(held)
}

// change renews or releases, and returns the record as it is then. The answer has a position if it
// was changed.
func (s *Store) change(ctx context.Context, function string, held lease.Record, second int64) (answer, lease.Record, error) {
	if err := s.usable(ctx); err != nil {
		return answer{}, lease.Record{}, err
	}
	if !exists(held) {
		return answer{}, lease.Record{}, lost(held)
	}
	a, err := s.call(ctx, function, held.FirstNode, held.LastNode, someone(held.Owner), fits(held.Version), held.Start, second)
	if err != nil {
		return answer{}, lease.Record{}, err
	}
	current, err := a.Record.record()
	return a, current, err
}

func lost(held lease.Record) error {
	return fmt.Errorf("%w: nodes %d to %d", lease.ErrLost, held.FirstNode, held.LastNode)
}

// List implements [lease.Store].
func (s *Store) List(ctx context.Context) ([]lease.Record, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, "SELECT first_node::bigint, last_node::bigint, owner::text, version, start, high_water FROM "+
		s.names.of("ranges")+" ORDER BY first_node", pgx.QueryExecModeExec)
	if err != nil {
		return nil, s.explain("list", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	if err != nil {
		return nil, s.explain("list", err)
	}
	return recordsOf(found)
}

// recordsOf returns the records of rows that are in order.
func recordsOf(rows []row) ([]lease.Record, error) {
	records := make([]lease.Record, 0, len(rows))
	next := uint32(0) // the first node that no record has yet
	for _, r := range rows {
		rec, err := r.record()
		if err != nil {
			return nil, err
		}
		if rec.FirstNode < next {
			return nil, corrupt("nodes %d to %d are also in another range", rec.FirstNode, rec.LastNode)
		}
		next = rec.LastNode + 1
		records = append(records, rec)
	}
	return records, nil
}

// Limits returns the rules of the store, and the first second that it may grant after its data was
// lost or went back in time, the zero Time if there is no such bound.
func (s *Store) Limits(ctx context.Context) (lease.Rules, time.Time, error) {
	if err := s.usable(ctx); err != nil {
		return lease.Rules{}, time.Time{}, err
	}
	a, err := s.meta(ctx, "limits")
	if err != nil {
		return lease.Rules{}, time.Time{}, err
	}
	rules, err := a.rules()
	if err != nil || a.NotBefore == 0 {
		return rules, time.Time{}, err
	}
	return rules, time.Unix(a.NotBefore, 0).UTC(), nil
}

// meta reads the store's one row of meta.
func (s *Store) meta(ctx context.Context, what string) (a answer, err error) {
	rows, err := s.pool.Query(ctx, "SELECT incarnation::text, max_ttl, max_skew, not_before FROM "+s.names.of("meta"), pgx.QueryExecModeExec)
	if err != nil {
		return a, s.explain(what, err)
	}
	n := 0
	_, err = pgx.ForEachRow(rows, []any{&a.Incarnation, &a.MaxTTL, &a.MaxSkew, &a.NotBefore}, func() error { n++; return nil })
	switch {
	case err != nil:
		return a, s.explain(what, err)
	case n == 0:
		return a, s.noStore(what)
	case n > 1 || a.NotBefore < 0 || a.NotBefore > randflake.MaxTimestamp:
		return a, corrupt("meta has %d rows, not before %d", n, a.NotBefore)
	}
	return a, nil
}

// Close makes later calls fail with an error that wraps fs.ErrClosed. It releases no lease. It
// waits for calls that are under way and closes the connections, unless they are of a pool that New
// was given.
func (s *Store) Close() error {
	if s.closed.CompareAndSwap(false, true) && s.ownsPool {
		s.pool.Close()
	}
	return nil
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return fmt.Errorf("pgstore: schema %s: store %w", s.names.quoted, fs.ErrClosed)
	}
	return ctx.Err()
}
