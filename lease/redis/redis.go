// Package redis is an engine for stores in Redis 7.0 or newer, or in Valkey.
//
//	e, err := redis.Connect(ctx, "rediss://user:password@host:6379/0")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// # URL
//
// [Connect] takes redis://user:password@host:port/db, for TLS rediss://, or unix://user:password@/path, which package
// url and the commands don't take. The parameters are those of go-redis, those of [Config], and ca, certificate and key: files
// that turn TLS on.
//
// # Settings
//
// Redis must be a primary, and from its start have
//
//   - appendonly yes: switched on later, it isn't durable before a rewrite of the file has ended,
//   - appendfsync always,
//   - no-appendfsync-on-rewrite no,
//   - maxmemory-policy noeviction.
//
// Each call asks for these settings, in the same round trip. A user needs CONFIG GET, EVAL, EVALSHA, INFO, TIME,
// PERSIST, HGET, HSET, HSETNX, HINCRBY, ZRANGE, ZADD and WAIT on {randflake}:*, and CLUSTER in a cluster.
//
// # Replicas
//
// With replicas=N a Swap waits until N replicas have it in memory, and fails if they don't say so
// in time. A primary that was replaced and doesn't know goes on by itself, unless N and
// min-replicas-to-write are the number of all replicas.
//
// # Lineage, incarnation and position
//
// The lineage is a random word that [Engine.Prepare] puts among the entries. The incarnation is run_id
// and master_replid, and in a cluster also the server's epoch. It changes
//
//   - with each restart, promotion and failback,
//   - when a slot of a cluster moves,
//   - with the first replica, and an hour after the last one left, unless repl-backlog-ttl is 0.
//
// To a space that trusts incarnations (lease.Config.Trust, [lease.Space.SetTrust], or "randflake store trust URL
// restart") that is no loss. Trust one server whose disk keeps what is synced, not failovers. As Redis does not tell
// the first rewrite of its file from others, such a space grants nothing while any rewrite runs.
//
// The position counts swaps. It shows older keys put into a running server, and where incarnations
// are trusted older files, to a handle that saw newer ones. A handle that is opened later can't know.
package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease"
)

// An Engine keeps entries in Redis. It implements [lease.Engine].
type Engine struct {
	config Config
	keys   []string // ENTRIES and NAMES of engine.lua
	client redis.UniversalClient
	where  string // which server or cluster, for messages

	// primary returns the client of the one server that has the keys. Only a pipeline of such a
	// client uses one connection.
	primary func(context.Context) (*redis.Client, error)

	own    bool // Close closes the client
	closed atomic.Bool
}

var _ lease.Engine = (*Engine)(nil)

// A Config says where in Redis the entries are, and what is promised of it: nothing by the zero Config.
type Config struct {
	// Prefix, in braces, is what the names of the keys begin with; "randflake" if empty.
	// URL: prefix=
	Prefix string

	// Replicas is how many replicas must acknowledge a Swap. URL: replicas=
	Replicas int

	// DurableSettings promises the settings of the package comment, and does without CONFIG GET.
	// URL: settings=durable
	DurableSettings bool
}

// New returns an engine on a client: a *redis.Client, be it for one server or by way of sentinels,
// or a *redis.ClusterClient. The engine's Close leaves the client open.
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
		e.primary = func(ctx context.Context) (*redis.Client, error) {
			return client.MasterForKey(ctx, e.keys[0])
		}
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
	last := "(" + prefix + "~" // which is above all characters of names
	a, err := e.call(ctx, "list", first, last, limit)
	return a.Entries, err
}

// Prepare implements [lease.Engine].
func (e *Engine) Prepare(ctx context.Context) error {
	lineage := rand.Text() // unless there is one
	_, err := e.call(ctx, "prepare", lineage)
	return err
}

// Close implements [lease.Engine]. A client that was given to New stays open.
func (e *Engine) Close() error {
	if e.closed.Swap(true) || !e.own {
		return nil
	}
	return e.client.Close()
}

// String says where the keys are.
func (e *Engine) String() string { return fmt.Sprintf("redis %s %s:*", e.where, e.config.Prefix) }
