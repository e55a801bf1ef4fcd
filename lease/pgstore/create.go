package pgstore

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake/lease/internal/setup"
)

// Create makes a new store at url, and opens it. It makes the schema, tables and functions that are
// missing, all in one transaction. It fails with an error that wraps fs.ErrExist when there is a
// store already, or what is left of one.
//
// A new store can't know what an earlier one granted for the same secret, so it grants nothing
// that starts before [lease.Rules.NotBefore]: with the default rules, generators wait for
// eleven minutes. The rules must be at least as wide as those of any store that the secret had
// before, since they say how far the leases of that one may reach. Where there was no earlier store,
// [ForNewSecret] drops that wait.
func Create(ctx context.Context, url string, opts ...Option) (*Store, error) {
	o, err := setup.ForCreate(opts)
	if err != nil {
		return nil, fmt.Errorf("pgstore: %w", err)
	}
	return connect(ctx, url, o, (*Store).create)
}

// create makes the store in one transaction, and remembers it.
func (s *Store) create(ctx context.Context, o setup.Options) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	if err != nil {
		return s.explain("create", err)
	}
	defer tx.Rollback(ctx)
	if err := s.prepare(ctx, tx); err != nil {
		return err
	}
	m, err := s.found(ctx, tx, o)
	if err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return s.explain("create: outcome unknown", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = sighting{incarnation: hex.EncodeToString(m.Incarnation[:]), rules: m.Rules}
	return nil
}

// prepare makes what is missing of schema, tables and functions. Others who create wait meanwhile.
func (s *Store) prepare(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(1918987876, hashtext($1::text)),
		CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN set_config('synchronous_commit', 'on', true) END`,
		pgx.QueryExecModeExec, s.names.schema)
	if err != nil {
		return s.explain("create", err)
	}
	found, err := s.examine(ctx, tx)
	if err != nil || found {
		return err
	}
	if _, err := tx.Exec(ctx, s.names.ddl(), pgx.QueryExecModeSimpleProtocol); err != nil {
		return s.explain("create", err)
	}
	_, err = s.examine(ctx, tx)
	return err
}

// found writes the row that makes a store of the tables.
func (s *Store) found(ctx context.Context, tx pgx.Tx, o setup.Options) (m setup.Meta, err error) {
	var now int64
	var used bool
	err = tx.QueryRow(ctx, "SELECT coalesce($1::bigint, floor(extract(epoch FROM clock_timestamp()))::bigint), EXISTS (SELECT FROM "+
		s.names.of("meta")+") OR EXISTS (SELECT FROM "+s.names.of("ranges")+")", pgx.QueryExecModeExec, s.second()).Scan(&now, &used)
	if err != nil {
		return m, s.explain("create", err)
	}
	if used {
		return m, s.thereIsOne()
	}
	if m, err = o.New(now); err != nil {
		return m, fmt.Errorf("pgstore: create: %w", err)
	}
	tag, err := tx.Exec(ctx, "INSERT INTO "+s.names.of("meta")+" (incarnation, max_ttl, max_skew, not_before, place, timeline, ranges) "+
		"SELECT $1::uuid, $2::bigint, $3::bigint, $4::bigint, l.here, l.history, 0 FROM "+s.names.of("lineage()")+" l ON CONFLICT DO NOTHING",
		pgx.QueryExecModeExec, hex.EncodeToString(m.Incarnation[:]), seconds(m.Rules.MaxTTL), seconds(m.Rules.MaxSkew), m.NotBefore)
	if err == nil && tag.RowsAffected() == 0 { // a handle that knew the store has made the row anew
		return m, s.thereIsOne()
	}
	if err != nil {
		return m, s.explain("create", err)
	}
	return m, nil
}
