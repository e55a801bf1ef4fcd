package engine

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"

	"github.com/randflake/randflake/internal/engines"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/pgstore"
)

// A Postgres is a server, which backups can be made of, and a pooler where one is asked for.
type Postgres struct {
	dir    string
	server *engines.Postgres
	backup *engines.Postgres // nil if there is none
	pooler *pooler           // nil if there is none
	link   *Link
}

// StartPostgres starts a server.
func StartPostgres(ctx context.Context, dir string, rules lease.Rules) (Engine, error) {
	return startPostgres(ctx, dir, rules, false)
}

// StartPooledPostgres starts a server with PgBouncer before it, in transaction mode.
func StartPooledPostgres(ctx context.Context, dir string, rules lease.Rules) (Engine, error) {
	return startPostgres(ctx, dir, rules, true)
}

func startPostgres(ctx context.Context, dir string, rules lease.Rules, pooled bool) (_ Engine, err error) {
	p := &Postgres{dir: dir}
	if p.server, err = engines.StartPostgres(filepath.Join(dir, "server"), nil); err != nil {
		return p, err
	}
	port := p.server.Port()
	if pooled {
		if p.pooler, err = startPooler(filepath.Join(dir, "pooler"), p.server); err != nil {
			return p, err
		}
		port = p.pooler.port
	}
	if p.link, err = newLink(local(port)); err != nil {
		return p, err
	}
	store, err := pgstore.Create(ctx, p.URL(), pgstore.WithRules(rules), pgstore.ForNewSecret())
	if err != nil {
		return p, err
	}
	return p, store.Close()
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", fmt.Sprint(port)) }

func openPostgres(ctx context.Context, url string, clocks Clocks) (lease.Store, error) {
	if clocks.Server == nil {
		return notNil(pgstore.Open(ctx, url))
	}
	return notNil(pgstore.Open(ctx, url, pgstore.WithClock(clocks.Server)))
}

// URL implements Engine.
func (p *Postgres) URL() string {
	u, err := url.Parse(p.server.URL())
	if err != nil {
		panic("engine: URL of the server: " + err.Error())
	}
	u.Host = p.link.Address()
	return u.String()
}

// Link implements Linked.
func (p *Postgres) Link() *Link { return p.link }

// Stop implements Engine.
func (p *Postgres) Stop() {
	if p.link != nil {
		p.link.close()
	}
	if p.pooler != nil {
		p.pooler.child.Kill()
	}
	for _, server := range []*engines.Postgres{p.server, p.backup} {
		if server != nil {
			server.Kill()
		}
	}
}

// Crash implements Server.
func (p *Postgres) Crash() error { return p.server.Kill() }

// Restart implements Server.
func (p *Postgres) Restart() error { return p.server.Start() }

// Backup copies the running server.
func (p *Postgres) Backup(asStandby bool) (err error) {
	p.backup, err = p.server.BaseBackup(filepath.Join(p.dir, "backup"), asStandby)
	return err
}

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
	return p.link.Lead(local(p.server.Port()))
}

// RestartPooler kills the pooler, and starts it again.
func (p *Postgres) RestartPooler() error {
	p.pooler.child.Kill()
	return p.pooler.start()
}
