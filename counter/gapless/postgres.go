package gapless

import (
	"context"
	"database/sql"
	"encoding/json"
)

// PostgresDDL creates the table of counters, if it does not exist, in the first schema of the
// search_path. In your own table make the column of the numbers UNIQUE: see the package comment.
//
// A role that takes numbers needs SELECT and UPDATE; a role that creates counters also needs
// INSERT.
const PostgresDDL = `CREATE TABLE IF NOT EXISTS randflake_gapless (
	name  text COLLATE "C" PRIMARY KEY,
	taken bigint NOT NULL, -- the newest number that was given, or the one before the first
	last  bigint NOT NULL,
	CHECK (taken >= -1 AND taken <= last)
);`

// A PgxTx is a transaction of pgx: the pgx.Tx of any version implements it, with pgx.Row for R.
// Pools and connections don't implement it, as they would commit each number at once.
type PgxTx[R interface{ Scan(dest ...any) error }] interface {
	QueryRow(ctx context.Context, sql string, args ...any) R
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// Postgres returns a Tx that takes numbers within tx in PostgreSQL, with any driver.
func Postgres(tx *sql.Tx) Tx { return Tx{queryRow[*sql.Row](tx.QueryRowContext)} }

// Pgx is Postgres for a pgx.Tx.
func Pgx[R interface{ Scan(dest ...any) error }](tx PgxTx[R]) Tx { return Tx{queryRow[R](tx.QueryRow)} }

// A queryRow is a transaction of PostgreSQL, by the method that runs its statements.
type queryRow[R interface{ Scan(dest ...any) error }] func(ctx context.Context, query string, args ...any) R

func (query queryRow[R]) create(ctx context.Context, name string, taken, last int64) (made bool, err error) {
	err = query(ctx, `WITH made AS (
			INSERT INTO randflake_gapless (name, taken, last) VALUES ($1::text, $2::bigint, $3::bigint)
			ON CONFLICT DO NOTHING RETURNING name)
		SELECT EXISTS (SELECT * FROM made)`, name, taken, last).Scan(&made)
	return made, err
}

// take has a query that always returns a row, as drivers report a missing row in different ways.
func (query queryRow[R]) take(ctx context.Context, name string, n int64) (taken, last sql.NullInt64, err error) {
	err = query(ctx, `WITH new AS (
			UPDATE randflake_gapless SET taken = taken + $2::bigint
			WHERE name = $1::text AND taken <= last - $2::bigint RETURNING taken)
		SELECT (SELECT taken FROM new), (SELECT last FROM randflake_gapless WHERE name = $1::text)`,
		name, n).Scan(&taken, &last)
	return taken, last, err
}

func (query queryRow[R]) takeOrCreate(
	ctx context.Context, name string, start, last int64,
) (taken, end sql.NullInt64, err error) {
	err = query(ctx, `WITH new AS (
			INSERT INTO randflake_gapless AS old (name, taken, last)
			VALUES ($1::text, $2::bigint, $3::bigint)
			ON CONFLICT (name) DO UPDATE SET taken = old.taken + 1
			WHERE old.taken < old.last RETURNING taken)
		SELECT (SELECT taken FROM new), (SELECT last FROM randflake_gapless WHERE name = $1::text)`,
		name, start, last).Scan(&taken, &end)
	return taken, end, err
}

// list gets all rows as one JSON text, by QueryRow, as the types of rows differ between drivers.
func (query queryRow[R]) list(ctx context.Context, prefix, after string, limit int) (page []row, err error) {
	var text string
	err = query(ctx, `SELECT coalesce(json_agg(r ORDER BY name), '[]')::text FROM (
			SELECT name, taken, last FROM randflake_gapless
			WHERE name >= $1::text AND name < $1::text || '~' AND name > $2::text
			ORDER BY name LIMIT $3::int) r`,
		prefix, after, limit).Scan(&text)
	if err != nil {
		return nil, err
	}
	return page, json.Unmarshal([]byte(text), &page)
}
