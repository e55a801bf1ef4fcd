package keys

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake/internal/servers"
)

// settingsOfPostgres leave what is durable as it is. An index of ten million random keys does not fit into the buffers.
var settingsOfPostgres = map[string]string{"shared_buffers": "128MB", "max_wal_size": "4GB"}

type postgres struct{ *pgx.Conn }

func startPostgres(ctx context.Context, dir string) (database, func(), error) {
	server, err := servers.StartPostgres(dir, settingsOfPostgres)
	if err != nil {
		return nil, nil, err
	}
	conn, err := pgx.Connect(ctx, server.URL())
	if err != nil {
		return nil, nil, err
	}
	return postgres{conn}, func() { conn.Close(ctx); server.Kill() }, nil
}

func (postgres) name() string { return "PostgreSQL" }

func (p postgres) create(ctx context.Context, k kind) error {
	key := "bigint"
	if k.uuid {
		key = "uuid"
	}
	if k.keys == nil {
		key = "bigint GENERATED ALWAYS AS IDENTITY"
	}
	beside := ""
	if k.indexed {
		beside = "shown bigint NOT NULL UNIQUE,"
	}
	_, err := p.Exec(ctx, fmt.Sprintf(`CREATE TABLE %s (id %s PRIMARY KEY, %s customer bigint NOT NULL,
		created timestamptz NOT NULL, cents bigint NOT NULL, item text NOT NULL)`, k.table, key, beside))
	return err
}

// columns returns those that an INSERT names, and a row's values for them.
func columns(k kind) ([]string, func(row) []any) {
	names := []string{"customer", "created", "cents", "item"}
	values := func(r row) []any { return []any{r.customer, r.created, r.cents, r.item} }
	switch {
	case k.keys == nil:
		return names, values
	case k.indexed:
		return append([]string{"id", "shown"}, names...), func(r row) []any { return append([]any{r.key, r.beside}, values(r)...) }
	}
	return append([]string{"id"}, names...), func(r row) []any { return append([]any{r.key}, values(r)...) }
}

// insert is one COPY, which is one transaction.
func (p postgres) insert(ctx context.Context, k kind, rows []row) error {
	names, values := columns(k)
	_, err := p.CopyFrom(ctx, pgx.Identifier{k.table}, names,
		pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) { return values(rows[i]), nil }))
	return err
}

func (p postgres) insertOne(ctx context.Context, k kind, r row) error {
	names, values := columns(k)
	_, err := p.Exec(ctx, insertStatement(k.table, names, func(i int) string { return fmt.Sprintf("$%d", i+1) }), values(r)...)
	return err
}

func (p postgres) cents(ctx context.Context, k kind, key any) (cents int64, err error) {
	err = p.QueryRow(ctx, "SELECT cents FROM "+k.table+" WHERE id = $1", key).Scan(&cents)
	return cents, err
}

func (p postgres) total(ctx context.Context, k kind) (rows, cents int64, err error) {
	err = p.QueryRow(ctx, "SELECT count(*), sum(cents)::bigint FROM "+k.table).Scan(&rows, &cents)
	return rows, cents, err
}

func (p postgres) size(ctx context.Context, k kind) (s size, err error) {
	err = p.QueryRow(ctx, "SELECT pg_table_size($1::regclass), pg_indexes_size($1::regclass)", k.table).Scan(&s.table, &s.indexes)
	return s, err
}

// work counts bytes of the write-ahead log, and pages that were not in the server's buffers.
func (p postgres) work(ctx context.Context, k kind) (w work, err error) {
	if _, err := p.Exec(ctx, "SELECT pg_stat_force_next_flush()"); err != nil {
		return w, err
	}
	err = p.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint, heap_blks_read + idx_blks_read
		FROM pg_statio_user_tables WHERE relname = $1`, k.table).Scan(&w.logged, &w.read)
	return w, err
}
