package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/pgstore"
)

// A Postgres is a server, which backups can be made of, and a pooler where one is asked for.
type Postgres struct {
	served[*servers.Postgres]
	timed
	dir    string
	backup *servers.Postgres  // nil if there is none
	pooler *servers.PgBouncer // nil if there is none
	query  string             // of the URL, in addition
}

// StartPostgres returns a Start of a server, with PgBouncer before it, in transaction mode, if pooled, and a URL with a
// query.
func StartPostgres(pooled bool, query string) Start {
	return func(ctx context.Context, s Setup) (Engine, error) { return startPostgres(ctx, s, pooled, query) }
}

func startPostgres(ctx context.Context, s Setup, pooled bool, query string) (_ Engine, err error) {
	p := &Postgres{dir: s.Dir, query: query}
	if p.clock, err = newClock(s.Clocked, s.Dir); err != nil {
		return p, err
	}
	environ, err := p.clock.environ()
	if err != nil {
		return p, err
	}
	if p.server, err = servers.StartPostgresIn(environ, filepath.Join(s.Dir, "server"), nil); err != nil {
		return p, err
	}
	addr := p.server.Addr()
	if pooled {
		if p.pooler, err = servers.StartPgBouncer(filepath.Join(s.Dir, "pooler"), p.server, 20); err != nil {
			return p, err
		}
		addr = p.pooler.Addr()
	}
	if p.link, err = newLink(addr); err != nil {
		return p, err
	}
	return p, Create(ctx, p.URL(), forNew(s)...)
}

func connectPostgres(ctx context.Context, url string) (store.Engine, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	return pgstore.New(ctx, pool, pgstore.Config{})
}

// URL implements Engine.
func (p *Postgres) URL() string {
	u := p.through(p.server.URL())
	u.RawQuery += "&" + p.query
	return u.String()
}

// Stop implements Engine.
func (p *Postgres) Stop() {
	if p.link != nil {
		p.link.close()
	}
	if p.pooler != nil {
		p.pooler.Kill()
	}
	for _, server := range []*servers.Postgres{p.server, p.backup} {
		if server != nil {
			server.Kill()
		}
	}
}

// Backup copies the running server.
func (p *Postgres) Backup(asStandby bool) (err error) {
	p.backup, err = p.server.BaseBackup(filepath.Join(p.dir, "backup"), asStandby)
	return err
}

// FollowSynchronously starts a standby, which has all that the server acknowledges from then on.
func (p *Postgres) FollowSynchronously() error {
	if err := p.Backup(true); err != nil {
		return err
	}
	if err := p.backup.Start(); err != nil {
		return err
	}
	return p.do(func(ctx context.Context, conn *pgx.Conn) error {
		for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return err
			}
		}
		for state := ""; state != "sync"; time.Sleep(10 * time.Millisecond) {
			err := conn.QueryRow(ctx, "SELECT coalesce(max(sync_state), '') FROM pg_stat_replication").Scan(&state)
			if err != nil {
				return fmt.Errorf("engine: postgres: no synchronous standby: %w", err)
			}
		}
		return nil
	})
}

// do runs f with a connection of the superuser.
func (p *Postgres) do(f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.server.URL())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return f(ctx, conn)
}

// SaveRows implements Rows.
func (p *Postgres) SaveRows(name string) error {
	return p.do(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE TABLE "+name+" AS TABLE randflake.entries")
		return err
	})
}

// PutRows implements Rows, in one transaction.
func (p *Postgres) PutRows(name string) error {
	return p.do(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "LOCK TABLE randflake.entries; DELETE FROM randflake.entries; INSERT INTO randflake.entries TABLE "+name)
		return err
	})
}

// Copy implements Copied, and Restore promotes the copy.
func (p *Postgres) Copy() error { return p.Backup(true) }

// Restore implements Copied.
func (p *Postgres) Restore() error { return p.RestoreBackup(true) }

// RestoreBackup kills the server and starts its backup in its place. A standby becomes a primary, on a new
// timeline, with what it had when it was copied.
func (p *Postgres) RestoreBackup(asStandby bool) error {
	if err := p.server.Kill(); err != nil {
		return err
	}
	if err := p.backup.Start(); err != nil {
		return err
	}
	if asStandby {
		if err := p.backup.Promote(); err != nil {
			return err
		}
	}
	p.server, p.backup = p.backup, p.server
	return p.link.Lead(p.server.Addr())
}

// RestartPooler kills the pooler, and starts it again.
func (p *Postgres) RestartPooler() error {
	if err := p.pooler.Kill(); err != nil {
		return err
	}
	return p.pooler.Start()
}
