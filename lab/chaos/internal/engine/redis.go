package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/redisstore"
)

// A Redis is a primary, which can get a replica.
type Redis struct {
	served[*servers.Redis]
	timed
	dir     string
	made    []store.Option
	replica *servers.Redis // nil if there is none
	query   string         // of the URL
	args    []string
}

// StartRedis starts a primary. It makes a change durable before it says so.
func StartRedis(ctx context.Context, s Setup) (Engine, error) {
	return startRedis(ctx, s, "?replicas=0")
}

// StartRedisWith starts a primary, and a replica if replicas=1, with arguments as on redis-server's command line,
// and a URL with a query.
func StartRedisWith(query string, args ...string) Start {
	return func(ctx context.Context, s Setup) (Engine, error) { return startRedis(ctx, s, query, args...) }
}

func startRedis(ctx context.Context, s Setup, query string, args ...string) (_ Engine, err error) {
	r := &Redis{dir: s.Dir, made: made(s), query: query, args: args}
	if r.clock, err = newClock(s.Clocked, s.Dir); err != nil {
		return r, err
	}
	if r.server, err = r.start("primary"); err != nil {
		return r, err
	}
	if strings.Contains(query, "replicas=1") {
		if err := r.Attach(); err != nil {
			return r, err
		}
	}
	if r.link, err = newLink(r.server.Addr()); err != nil {
		return r, err
	}
	return r, Create(ctx, r.URL(), forNew(s)...)
}

func (r *Redis) start(name string) (*servers.Redis, error) {
	dir := filepath.Join(r.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	environ, err := r.clock.environ()
	if err != nil {
		return nil, err
	}
	return servers.StartRedisIn(environ, dir, r.args...)
}

func connectRedis(ctx context.Context, url string) (store.Engine, error) {
	base, query, _ := strings.Cut(url, "?")
	options, err := redis.ParseURL(base)
	if err != nil {
		return nil, err
	}
	options.ContextTimeoutEnabled = true
	replicas := 1
	if strings.Contains(query, "replicas=0") {
		replicas = -1
	}
	return redisstore.New(ctx, redis.NewClient(options), redisstore.Config{Replicas: replicas})
}

// URL implements Engine.
func (r *Redis) URL() string { return "redis://" + r.link.Address() + r.query }

// Stop implements Engine.
func (r *Redis) Stop() {
	if r.link != nil {
		r.link.close()
	}
	for _, server := range []*servers.Redis{r.server, r.replica} {
		if server != nil {
			server.Kill()
		}
	}
}

// PauseReplica stops the replica's process, and ResumeReplica lets it go on.
func (r *Redis) PauseReplica() error { return r.replica.Pause() }

// ResumeReplica undoes PauseReplica.
func (r *Redis) ResumeReplica() error { return r.replica.Resume() }

// Attach starts a replica and waits until it has all data.
func (r *Redis) Attach() (err error) {
	if r.replica, err = r.start("replica"); err != nil {
		return err
	}
	return r.replica.ReplicaOf(r.server)
}

// Replicate starts a replica and waits until it has all data; then the replica hears no more of the primary.
func (r *Redis) Replicate() error {
	if err := r.Attach(); err != nil {
		return err
	}
	return r.PauseReplica()
}

// Promote kills the primary and makes the replica, with what it has, the one that workers reach.
func (r *Redis) Promote() error {
	if err := r.server.Kill(); err != nil {
		return err
	}
	if err := r.replica.Resume(); err != nil {
		return err
	}
	return r.FailOver()
}

// FailOver makes the replica the primary, and the one that workers reach. The old primary, if it runs, knows
// nothing of it.
func (r *Redis) FailOver() error {
	if err := r.replica.ReplicaOf(nil); err != nil {
		return err
	}
	r.server, r.replica = r.replica, r.server
	return r.link.Lead(r.server.Addr())
}

// Follow makes the server that is not the primary its replica, and starts it if it does not run.
func (r *Redis) Follow() error {
	if err := r.replica.Start(); err != nil {
		return err
	}
	return r.replica.ReplicaOf(r.server)
}

// Detach ends the server that is not the primary.
func (r *Redis) Detach() error { return r.replica.Kill() }

// Replication returns what the primary says of replication.
func (r *Redis) Replication() (string, error) { return r.server.Do("INFO", "replication") }

// CreateAnew does what the store's errors advise when all keys are gone.
func (r *Redis) CreateAnew() error {
	return Create(context.Background(), r.URL(), r.made...)
}

// FlushAll removes all keys.
func (r *Redis) FlushAll() error {
	_, err := r.server.Do("FLUSHALL")
	return err
}

// Copy implements Copied. The data are the append-only file.
func (r *Redis) Copy() error {
	if err := r.server.Pause(); err != nil {
		return err
	}
	defer r.server.Resume()
	return os.CopyFS(r.copy(), os.DirFS(r.appendOnly()))
}

// Restore implements Copied.
func (r *Redis) Restore() error {
	if err := r.server.Kill(); err != nil {
		return err
	}
	if err := os.RemoveAll(r.appendOnly()); err != nil {
		return err
	}
	if err := os.Rename(r.copy(), r.appendOnly()); err != nil {
		return err
	}
	return r.server.Start()
}

func (r *Redis) appendOnly() string { return filepath.Join(r.server.Dir(), "appendonlydir") }
func (r *Redis) copy() string       { return filepath.Join(r.dir, "copy") }

// SaveRows implements Rows.
func (r *Redis) SaveRows(name string) error { return r.copyKeys("", "-"+name) }

// PutRows implements Rows.
func (r *Redis) PutRows(name string) error { return r.copyKeys("-"+name, "") }

// copyKeys copies the keys with one end to those with another one, in one step.
func (r *Redis) copyKeys(from, to string) error {
	const entries, names = "{randflake}:entries", "{randflake}:names"
	_, err := r.server.Do("EVAL", "for i = 1, 4, 2 do redis.call('COPY', KEYS[i], KEYS[i + 1], 'REPLACE') end", "4",
		entries+from, entries+to, names+from, names+to)
	return err
}
