// Package redis is an engine for stores in Redis 7.0 or newer, or in Valkey.
//
//	e, err := redis.Connect(ctx, "rediss://user:password@host:6379/0")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// [Connect] takes redis://user:password@host:port/db, unix://user:password@/path or, for TLS,
// rediss://, with the parameters of go-redis, those of [Config], and ca, cert and key, files that
// turn TLS on.
//
// Redis must be a primary with appendonly yes, appendfsync always, no-appendfsync-on-rewrite no and
// maxmemory-policy noeviction, from its start: switched on later, appendonly isn't durable before a
// rewrite has ended. Each call asks for these settings, in the same round trip. A user needs CONFIG
// GET, EVAL, EVALSHA, INFO, TIME, PERSIST, HGET, HMGET, HSET, HSETNX, HINCRBY, ZRANGE, ZADD and
// WAIT on {randflake}:*, and CLUSTER in one.
//
// The lineage is run_id and master_replid, in a cluster also the server's epoch. It changes with
// each restart, promotion and failback, when a slot moves, with the first replica, and an hour
// after the last one left unless repl-backlog-ttl is 0. The position counts swaps. It shows older
// keys put into a running server, or older files with recovery=trusted, to a handle that saw newer
// ones; one that is opened later can't know. recovery=trusted is true of one server whose disk
// keeps what is synced, not with failovers. As Redis does not tell the first rewrite from others,
// it is refused while any runs. A Swap waits until replicas=N have it in memory, and fails when
// they don't say so in time. A primary that was replaced and doesn't know goes on by itself, unless
// N and min-replicas-to-write are all replicas.
package redis

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease"
)

// An Engine keeps entries in Redis. It implements [lease.Engine].
type Engine struct {
	config  Config
	keys    []string
	client  redis.UniversalClient
	where   string
	primary func(context.Context) (*redis.Client, error) // of one server: a pipeline has one connection
	own     bool                                         // the client is closed with the engine
	closed  atomic.Bool
}

var _ lease.Engine = (*Engine)(nil)

// A Config says where in Redis the entries are and how far Redis is trusted; the zero Config, as
// little as can be.
type Config struct {
	Prefix        string // begins the names of the keys, put in braces; randflake if empty. URL: prefix=
	Replicas      int    // how many must acknowledge a Swap. URL: replicas=
	TrustSettings bool   // do without CONFIG GET. URL: settings=trusted
	TrustRecovery bool   // what was acknowledged outlives a restart, so the lineage does too. URL: recovery=trusted
}

// New returns an engine on a client that stays the caller's: a *redis.Client, be it for one server
// or by way of sentinels, or a *redis.ClusterClient.
func New(client redis.UniversalClient, c Config) (*Engine, error) {
	c.Prefix = "{" + cmp.Or(c.Prefix, "randflake") + "}" // a hash tag: the keys share a slot of a cluster
	e := &Engine{
		config: c,
		client: client,
		keys:   []string{c.Prefix + ":entries", c.Prefix + ":names"},
	}
	switch client := client.(type) {
	case *redis.Client:
		e.where = client.Options().Addr
		e.primary = func(context.Context) (*redis.Client, error) { return client, nil }
	case *redis.ClusterClient:
		e.where = strings.Join(client.Options().Addrs, ",")
		e.primary = func(ctx context.Context) (*redis.Client, error) { return client.MasterForKey(ctx, e.keys[0]) }
	default:
		return nil, fmt.Errorf("redis: client is a %T: want a *redis.Client or a *redis.ClusterClient", client)
	}
	return e, nil
}

// Read implements [lease.Engine].
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	args := []any{}
	for _, name := range names {
		args = append(args, name)
	}
	return e.call(ctx, "read", args...)
}

// Swap implements [lease.Engine].
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	args := []any{len(expect)}
	for _, entry := range expect {
		args = append(args, entry.Name, entry.Value != nil, string(entry.Value))
	}
	for _, entry := range put {
		args = append(args, entry.Name, string(entry.Value))
	}
	return e.call(ctx, "swap", args...)
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	first := "[" + prefix
	if after >= prefix {
		first = "(" + after
	}
	a, err := e.call(ctx, "list", first, "("+prefix+"~", limit) // all names are below ~
	return a.Entries, err
}

// Prepare implements [lease.Engine].
func (e *Engine) Prepare(ctx context.Context) error {
	_, err := e.call(ctx, "prepare")
	return err
}

// Close implements [lease.Engine]. A client that New was given stays open.
func (e *Engine) Close() error {
	if e.closed.Swap(true) || !e.own {
		return nil
	}
	return e.client.Close()
}

// String says where the keys are.
func (e *Engine) String() string { return fmt.Sprintf("redis %s %s:*", e.where, e.config.Prefix) }
