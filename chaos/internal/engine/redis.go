package engine

import (
	"context"
	"os"
	"path/filepath"

	"github.com/randflake/randflake/internal/engines"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/redisstore"
)

// A Redis is a primary, which can get a replica.
type Redis struct {
	dir     string
	primary *engines.Redis
	replica *engines.Redis // nil if there is none
	link    *Link
}

// StartRedis starts a primary.
func StartRedis(ctx context.Context, dir string, rules lease.Rules) (Engine, error) {
	r := &Redis{dir: dir}
	var err error
	if r.primary, err = r.start("primary"); err != nil {
		return r, err
	}
	if r.link, err = newLink(r.primary.Addr()); err != nil {
		return r, err
	}
	store, err := redisstore.Create(ctx, r.URL(), redisstore.WithRules(rules), redisstore.ForNewSecret())
	if err != nil {
		return r, err
	}
	return r, store.Close()
}

func (r *Redis) start(name string) (*engines.Redis, error) {
	dir := filepath.Join(r.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	return engines.StartRedis(dir)
}

func openRedis(ctx context.Context, url string, clocks Clocks) (lease.Store, error) {
	if clocks.Server == nil {
		return notNil(redisstore.Open(ctx, url))
	}
	return notNil(redisstore.Open(ctx, url, redisstore.WithClock(clocks.Server)))
}

// URL implements Engine. The store is not to wait for a replica, so that one can fall behind.
func (r *Redis) URL() string { return "redis://" + r.link.Address() + "?replicas=0" }

// Link implements Linked.
func (r *Redis) Link() *Link { return r.link }

// Stop implements Engine.
func (r *Redis) Stop() {
	if r.link != nil {
		r.link.close()
	}
	for _, server := range []*engines.Redis{r.primary, r.replica} {
		if server != nil {
			server.Kill()
		}
	}
}

// Crash implements Server.
func (r *Redis) Crash() error { return r.primary.Kill() }

// Restart implements Server.
func (r *Redis) Restart() error { return r.primary.Start() }

// Replicate starts a replica and waits until it has all data; then the replica hears no more of the primary.
func (r *Redis) Replicate() (err error) {
	if r.replica, err = r.start("replica"); err != nil {
		return err
	}
	if err := r.replica.ReplicaOf(r.primary); err != nil {
		return err
	}
	return r.replica.Pause()
}

// Promote kills the primary and makes the replica, with what it has, the one that workers reach.
func (r *Redis) Promote() error {
	if err := r.primary.Kill(); err != nil {
		return err
	}
	if err := r.replica.Resume(); err != nil {
		return err
	}
	if err := r.replica.ReplicaOf(nil); err != nil {
		return err
	}
	r.primary, r.replica = r.replica, r.primary
	return r.link.Lead(r.primary.Addr())
}

// FlushAll removes all keys.
func (r *Redis) FlushAll() error {
	_, err := r.primary.Do("FLUSHALL")
	return err
}

// Copy implements Copied. The data are the append-only file.
func (r *Redis) Copy() error {
	if err := r.primary.Pause(); err != nil {
		return err
	}
	defer r.primary.Resume()
	return os.CopyFS(r.copy(), os.DirFS(r.appendOnly()))
}

// Restore implements Copied.
func (r *Redis) Restore() error {
	if err := r.primary.Kill(); err != nil {
		return err
	}
	if err := os.RemoveAll(r.appendOnly()); err != nil {
		return err
	}
	if err := os.Rename(r.copy(), r.appendOnly()); err != nil {
		return err
	}
	return r.primary.Start()
}

func (r *Redis) appendOnly() string { return filepath.Join(r.primary.Dir(), "appendonlydir") }
func (r *Redis) copy() string       { return filepath.Join(r.dir, "copy") }
