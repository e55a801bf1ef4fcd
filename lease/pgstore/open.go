package pgstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

// minVersion is the oldest server that will do, as server_version_num has it.
const minVersion = 150000

// Open opens the store at url; see the package for what that may say. Without a store it fails with
// an error that wraps lease.ErrNoStore, unless told [OrCreate]. It fails when the server's settings
// are not safe, naming the setting, and when the store's functions are of another version of this
// package.
func Open(ctx context.Context, url string, opts ...Option) (*Store, error) {
	o, err := setup.ForOpen(opts)
	if err != nil {
		return nil, fmt.Errorf("pgstore: %w", err)
	}
	return connect(ctx, url, o, (*Store).openOr)
}

// New opens the store in the database of pool, as Open does. Close does not close the pool.
func New(ctx context.Context, pool *pgxpool.Pool, config Config, opts ...Option) (*Store, error) {
	o, err := setup.ForOpen(opts)
	if err != nil {
		return nil, fmt.Errorf("pgstore: %w", err)
	}
	if pool == nil {
		return nil, errors.New("pgstore: open: nil pool")
	}
	s, err := newStore(pool, config, o)
	if err != nil {
		return nil, err
	}
	if err := s.openOr(ctx, o); err != nil {
		return nil, err
	}
	return s, nil
}

// connect makes a Store of its own pool, and begins with it.
func connect(ctx context.Context, url string, o setup.Options, begin func(*Store, context.Context, setup.Options) error) (*Store, error) {
	poolConfig, config, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), poolConfig)
	if err != nil {
		return nil, fmt.Errorf("pgstore: connect: %s", reason(err))
	}
	s, err := newStore(pool, config, o)
	if err == nil {
		s.ownsPool = true
		err = begin(s, ctx, o)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

func newStore(pool *pgxpool.Pool, config Config, o setup.Options) (*Store, error) {
	n, err := newNames(config.Schema)
	if err != nil {
		return nil, err
	}
	return &Store{
		pool:       pool,
		names:      n,
		statements: n.statements(),
		trusted:    config.TrustRecovery,
		clock:      o.Clock,
		healing:    make(chan struct{}, 1),
	}, nil
}

// openOr opens the store, or creates it if there is none and o says so. Another process may be
// faster.
func (s *Store) openOr(ctx context.Context, o setup.Options) error {
	err := s.open(ctx)
	if !errors.Is(err, lease.ErrNoStore) || !o.OrCreate {
		return err
	}
	if err := s.create(ctx, o); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.open(ctx)
}

// open checks the server and the store, and remembers what it sees.
func (s *Store) open(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	found, err := s.examine(ctx, s.pool)
	if err != nil {
		return err
	}
	if !found {
		return s.noStore("open")
	}
	a, err := s.meta(ctx, "open")
	if err != nil {
		return err
	}
	rules, err := a.rules()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = sighting{incarnation: a.Incarnation, rules: rules}
	return nil
}

// A querier is a pool, a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// examine checks the server, and the functions if they are there.
func (s *Store) examine(ctx context.Context, db querier) (found bool, err error) {
	var version int
	var standby bool
	err = db.QueryRow(ctx, "SELECT current_setting('server_version_num')::integer, pg_is_in_recovery(), to_regprocedure($1::text) IS NOT NULL",
		pgx.QueryExecModeExec, s.names.of("revision()")).Scan(&version, &standby, &found)
	switch {
	case err != nil:
		return false, s.explain("open", err)
	case version < minVersion:
		return false, fmt.Errorf("pgstore: open: server version %d.%d: want %d or later", version/10000, version%10000, minVersion/10000)
	case standby:
		return false, errors.New("pgstore: open: refused: server is a standby: connect to the primary, or add target_session_attrs=read-write to a URL of several hosts")
	case !found:
		return false, nil
	}
	var there int
	var objection *string
	err = db.QueryRow(ctx, "SELECT "+s.names.of("revision()")+", "+s.names.of("unsafe()"), pgx.QueryExecModeExec).Scan(&there, &objection)
	switch {
	case err != nil:
		return false, s.explain("open", err)
	case there < revision:
		return false, fmt.Errorf("pgstore: open: functions of schema %s have revision %d, want %d: run what pgstore.DDL returns", s.names.quoted, there, revision)
	case there > revision:
		return false, fmt.Errorf("pgstore: open: functions of schema %s have revision %d, want %d: use a newer version of this package", s.names.quoted, there, revision)
	case objection != nil:
		return false, fmt.Errorf("pgstore: open: refused: %s", *objection)
	}
	return true, nil
}
