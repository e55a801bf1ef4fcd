package gapless

import (
	"context"
	"database/sql"
	"encoding/json"
)

// PostgresSchema creates the table, if it does not exist, in the first schema of the search_path. Make the column of the
// numbers in your own table UNIQUE. A role that takes numbers needs SELECT, INSERT and UPDATE.
const PostgresSchema = `CREATE TABLE IF NOT EXISTS randflake_gapless (
	name  text COLLATE "C" PRIMARY KEY,
	taken bigint NOT NULL, -- the newest number that was given, or the one before the first
	last  bigint NOT NULL,
	CHECK (taken >= -1 AND taken <= last)
);`

// A row is what QueryRow of any driver returns.
type row interface{ Scan(dest ...any) error }

// A PgxTx is a transaction of pgx: the pgx.Tx of any version implements it, with pgx.Row for R. Pools and connections
// don't implement it, as they would commit each number at once.
type PgxTx[R row] interface {
	QueryRow(ctx context.Context, sql string, args ...any) R
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// Postgres returns a Tx that takes numbers within tx in PostgreSQL, with any driver.
func Postgres(tx *sql.Tx) Tx { return Tx{queryRow[*sql.Row](tx.QueryRowContext)} }

// Pgx is Postgres for a pgx.Tx.
func Pgx[R row](tx PgxTx[R]) Tx { return Tx{queryRow[R](tx.QueryRow)} }

type queryRow[R row] func(ctx context.Context, query string, args ...any) R

// next has a row as the answer in any case, as drivers report a missing row in different ways.
func (query queryRow[R]) next(ctx context.Context, name string, first, last int64) (int64, error) {
	const statement = `WITH new AS (
			INSERT INTO randflake_gapless AS old (name, taken, last) VALUES ($1::text, $2::bigint, $3::bigint)
			ON CONFLICT (name) DO UPDATE SET taken = old.taken + 1 WHERE old.taken < old.last RETURNING taken)
		SELECT (SELECT taken FROM new), (SELECT last FROM randflake_gapless WHERE name = $1::text)`
	var taken, end sql.NullInt64
	err := query(ctx, statement, name, first, last).Scan(&taken, &end)
	if err == nil && !taken.Valid {
		err = atEnd(end.Int64)
	}
	return taken.Int64, err
}

// list has all counters in one row, of JSON, as the rows of drivers differ.
func (query queryRow[R]) list(ctx context.Context, prefix, after string, limit int) (page []counter, err error) {
	const statement = `WITH page AS (
			SELECT name, taken, last FROM randflake_gapless
			WHERE name >= $1::text AND name < $1::text || '~' AND name > $2::text
			ORDER BY name LIMIT $3::int)
		SELECT coalesce(json_agg(page ORDER BY name), '[]')::text FROM page`
	var text string
	if err := query(ctx, statement, prefix, after, limit).Scan(&text); err != nil {
		return nil, err
	}
	return page, json.Unmarshal([]byte(text), &page)
}
