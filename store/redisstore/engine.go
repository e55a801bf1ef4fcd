// Package redisstore keeps entries in Redis 7.0 or newer, or in Valkey.
//
// [Open] takes redis://user:password@host:port/db, rediss:// for TLS or unix://user:password@/path, with the
// parameters of go-redis (as read_timeout=1s), those of package store (space=, recovery=trusted), of
// [Config], and ca=, cert= and key=, paths of PEM files for TLS. [New] takes a client, as for a cluster.
//
// Redis must be a primary with the settings appendonly yes, appendfsync always, no-appendfsync-on-rewrite no
// and maxmemory-policy noeviction. Each call asks for them, in the same round trip. Where CONFIG is
// forbidden, settings=trusted takes the user's word. The other commands that a user needs are EVAL, EVALSHA,
// INFO, TIME, PERSIST, HLEN, HMGET, HSET, HINCRBY, ZCARD, ZRANGE, ZADD and WAIT on {randflake}:*, and CLUSTER
// in one. When appendonly was switched on in a running server, Redis isn't durable until it has rewritten
// its file, and doesn't tell: put it into the configuration file.
//
// # Lineage and position
//
// The lineage is run_id and master_replid, in a cluster also the server's epoch. It changes with each
// restart, promotion and failback and when a slot moves, and never comes back. It changes too when the first
// replica is attached, and when there was none for repl-backlog-ttl, an hour: Redis then forgets whether it
// ever followed another. Each costs a pause; repl-backlog-ttl 0 spares the last.
//
// recovery=trusted is the user's word that Redis never comes back without something that it acknowledged. So
// it is with one server, on a disk that keeps what is synced, unless older files are put back; it is not so
// with failovers. durability=everysec accepts that a crash undoes the last second, and excludes that word.
//
// The position counts swaps. It shows older keys that were put into a running server (as by RESTORE), or older
// files with recovery=trusted, to a handle that saw newer ones; one that is opened later can't know.
//
// # Replicas
//
// A Swap waits until replicas=N of them have it in memory, and fails with its outcome unknown when they
// don't say so in time. With fewer connected nothing is tried. A primary that was replaced and doesn't know
// yet goes on by itself: let N be all replicas, and min-replicas-to-write the same, so that it stops.
//
// An expiry of the keys is taken back by the next Swap. Keys that make no sense are never overwritten.
package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/store"
)

// An Engine keeps entries in Redis. It implements [store.Engine].
type Engine struct {
	config         Config
	keys           []string
	client         redis.UniversalClient
	place          string
	own            bool          // the client is closed with the engine
	replicas       int           // how many must acknowledge a Swap
	patience       time.Duration // how long they may take
	closed, unsafe atomic.Bool   // unsafe: the last call found that the settings are
}

// Open opens the store at url, as [store.Open] does, once it has checked the server.
func Open(ctx context.Context, url string, options ...store.Option) (*store.Store, error) {
	return dial(ctx, url, options, store.Open)
}

// Create makes a new store where Open finds it, as [store.Create] does.
func Create(ctx context.Context, url string, options ...store.Option) (*store.Store, error) {
	return dial(ctx, url, options, store.Create)
}

func dial(ctx context.Context, url string, options []store.Option, open func(context.Context, store.Engine, ...store.Option) (*store.Store, error)) (*store.Store, error) {
	config, dialing, more, err := parseURL(url)
	if err != nil {
		return nil, fmt.Errorf("redisstore: URL: %w", err)
	}
	client := redis.NewClient(dialing)
	e, err := New(ctx, client, config)
	if err != nil {
		client.Close()
		return nil, err
	}
	e.own = true
	s, err := open(ctx, e, append(more, options...)...)
	if err != nil {
		e.Close()
	}
	return s, err
}

var hashTag = regexp.MustCompile(`^[^{]*\{[^}]`)

// New returns an engine on a client that stays the caller's: a *redis.Client, be it for one server or by
// way of sentinels, or a *redis.ClusterClient.
func New(ctx context.Context, client redis.UniversalClient, c Config) (*Engine, error) {
	c.Prefix = cmp.Or(c.Prefix, "{randflake}")
	if !hashTag.MatchString(c.Prefix) {
		return nil, fmt.Errorf("redisstore: prefix %q: want one with a hash tag, as {randflake}", c.Prefix)
	}
	e := &Engine{config: c, client: client, keys: []string{c.Prefix + ":entries", c.Prefix + ":names", c.Prefix + ":position"}}
	var timeout time.Duration
	switch client := client.(type) {
	case *redis.Client:
		e.place, timeout = client.Options().Addr, client.Options().ReadTimeout
	case *redis.ClusterClient:
		e.place, timeout = strings.Join(client.Options().Addrs, ","), client.Options().ReadTimeout
	default:
		return nil, fmt.Errorf("redisstore: client is a %T: want a *redis.Client or a *redis.ClusterClient", client)
	}
	e.patience = cmp.Or(max(timeout, 0), 3*time.Second) * 2 / 3
	found, err := e.call(ctx, "look", nil)
	if err != nil {
		return nil, err
	}
	if e.replicas = max(c.Replicas, 0); c.Replicas == 0 {
		e.replicas = int(min(found.Position, 1)) // where look says how many are connected
	}
	return e, nil
}

// Read implements [store.Engine].
func (e *Engine) Read(ctx context.Context, names []string, page store.Page) (store.Answer, error) {
	args := []any{page.From, page.To, page.Limit}
	for _, name := range names {
		args = append(args, name)
	}
	return e.call(ctx, "read", names, args...)
}

// Swap implements [store.Engine].
func (e *Engine) Swap(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
	args, names := []any{len(expect)}, make([]string, len(expect))
	for i, entry := range expect {
		names[i] = entry.Name
		args = append(args, entry.Name, "")
		if entry.Value != nil {
			args[len(args)-1] = "=" + string(entry.Value)
		}
	}
	for _, entry := range put {
		args = append(args, entry.Name, string(entry.Value))
	}
	return e.call(ctx, "swap", names, args...)
}

// Prepare implements [store.Engine].
func (e *Engine) Prepare(ctx context.Context) error {
	_, err := e.call(ctx, "prepare", nil)
	return err
}

// Close implements [store.Engine]. It closes the client if Open or Create made it.
func (e *Engine) Close() error {
	if e.closed.Swap(true) || !e.own {
		return nil
	}
	return e.client.Close()
}

// String implements [store.Engine].
func (e *Engine) String() string { return fmt.Sprintf("redis %s %s", e.place, e.config.Prefix) }

// call runs one operation of the script. It returns when ctx is done: go-redis heeds deadlines and no more.
func (e *Engine) call(ctx context.Context, op string, names []string, args ...any) (store.Answer, error) {
	if e.closed.Load() {
		return store.Answer{}, fmt.Errorf("redisstore: %s: %s: %w", op, e, fs.ErrClosed)
	}
	if ctx.Err() != nil {
		return store.Answer{}, e.explain(op, ctx.Err())
	}
	var answer store.Answer
	done := make(chan error, 1)
	go func() {
		late, err := e.send(ctx, op, names, args)
		answer = late
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			return answer, nil
		}
		if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
			<-ctx.Done() // a connection may notice the deadline first
		}
		return store.Answer{}, e.explain(op, cmp.Or(ctx.Err(), err))
	case <-ctx.Done():
		return store.Answer{}, e.explain(op, ctx.Err())
	}
}

// explain says what an error of one operation means, and what to do about it.
func (e *Engine) explain(op string, err error) error {
	all := e.config.Prefix + ":*"
	for _, known := range []struct {
		prefix string
		means  error
		advice string
	}{
		{"NOSTORE", store.ErrNoStore, "nothing is at " + e.String()},
		{"CORRUPT", store.ErrCorrupt, "nothing was changed: delete " + all + " and create a new store, not as one for a new secret"},
		{"WRONGTYPE", store.ErrCorrupt, "nothing was changed: see what is at " + all},
		{"READONLY", store.ErrUnsafe, "want the primary, role master"},
		{"Error compiling", store.ErrUnsafe, "want Redis 7.0 or newer, or Valkey"},
		{"MOVED", err, "nothing was changed: try again; a cluster needs New with a ClusterClient"},
		{"ASK", err, "nothing was changed: try again; a cluster needs New with a ClusterClient"},
	} {
		if redis.HasErrorPrefix(err, known.prefix) {
			text, _, _ := strings.Cut(err.Error(), " script: ")
			return fmt.Errorf("redisstore: %s: %w: %s: %s", op, known.means, strings.TrimPrefix(text, known.prefix+" "), known.advice)
		}
	}
	if errors.Is(err, redis.ErrClosed) {
		err = fmt.Errorf("%w: %w", fs.ErrClosed, err)
	}
	return fmt.Errorf("redisstore: %s: %w", op, err)
}
