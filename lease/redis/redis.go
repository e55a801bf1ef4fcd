// Package redis keeps a store in Redis 7.0 or newer, or in Valkey.
//
//	e, err := redis.Connect(ctx, "rediss://user:password@host:6379/0")
//	space, err := lease.Open(ctx, e, lease.Config{})
//
// [Connect] takes redis://user:password@host:port/db, unix://user:password@/path or, for TLS, rediss://, with the parameters of
// go-redis, those of [Config], and ca, cert and key, files that turn TLS on.
//
// Redis must be a primary with appendonly yes, appendfsync always, no-appendfsync-on-rewrite no and maxmemory-policy
// noeviction, from its start: switched on later, appendonly isn't durable before a rewrite has ended. Each call asks for these
// settings, in the same round trip. A user needs CONFIG GET, EVAL, EVALSHA, INFO, TIME, PERSIST, HGET, HMGET, HSET, HSETNX,
// HINCRBY, ZRANGE, ZADD and WAIT on {randflake}:*, and CLUSTER in one.
//
// The lineage is run_id and master_replid, in a cluster also the server's epoch. It changes with each restart, promotion and
// failback, when a slot moves, with the first replica, and an hour after the last one left unless repl-backlog-ttl is 0. The
// position counts swaps. It shows older keys put into a running server, or older files with recovery=trusted, to a handle
// that saw newer ones; one that is opened later can't know. recovery=trusted is true of one server whose disk keeps what is
// synced, not with failovers. As Redis does not tell the first rewrite from others, it is refused while any runs.
// A Swap waits until replicas=N have it in memory, and fails when they don't say so in time. A primary that was replaced and
// doesn't know goes on by itself, unless N and min-replicas-to-write are all replicas.
package redis

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/storeurl"
	"github.com/randflake/randflake/lease/internal/swap"
	"github.com/randflake/randflake/lease/internal/tlsfiles"
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

// A Config says where in Redis the entries are and how far Redis is trusted; the zero Config, as little as can be.
type Config struct {
	Prefix        string // begins the names of the keys, put in braces; randflake if empty. URL: prefix=
	Replicas      int    // how many must acknowledge a Swap. URL: replicas=
	TrustSettings bool   // do without CONFIG GET. URL: settings=trusted
	TrustRecovery bool   // what was acknowledged outlives a restart, so the lineage does too. URL: recovery=trusted
}

// Connect returns an engine for a URL. It connects when it is first used.
func Connect(_ context.Context, url string) (*Engine, error) {
	config, options, err := parse(url)
	if err != nil {
		return nil, fmt.Errorf("redis: URL: %w", err)
	}
	e, err := New(redis.NewClient(options), config)
	if err != nil {
		return nil, err
	}
	e.own = true
	return e, nil
}

// Check finds what is wrong with a URL, as Connect does. It connects to nothing.
func Check(url string) error {
	_, _, err := parse(url)
	return err
}

// New returns an engine on a client that stays the caller's: a *redis.Client, be it for one server or by way of sentinels, or a
// *redis.ClusterClient.
func New(client redis.UniversalClient, c Config) (*Engine, error) {
	c.Prefix = "{" + cmp.Or(c.Prefix, "randflake") + "}" // a hash tag: the keys share a slot of a cluster
	e := &Engine{config: c, client: client, keys: []string{c.Prefix + ":entries", c.Prefix + ":names"}}
	switch client := client.(type) {
	case *redis.Client:
		e.where, e.primary = client.Options().Addr, func(context.Context) (*redis.Client, error) { return client, nil }
	case *redis.ClusterClient:
		e.where = strings.Join(client.Options().Addrs, ",")
		e.primary = func(ctx context.Context) (*redis.Client, error) { return client.MasterForKey(ctx, e.keys[0]) }
	default:
		return nil, fmt.Errorf("redis: client is a %T: want a *redis.Client or a *redis.ClusterClient", client)
	}
	return e, nil
}

// parse returns what the engine and the client are to know. No error shows the password.
func parse(raw string) (c Config, client *redis.Options, err error) {
	u, query, err := storeurl.ParseURL(raw)
	if err != nil {
		return c, nil, err
	}
	var wrong [5]error
	c.Prefix = storeurl.Take(query, "prefix")
	if replicas := storeurl.Take(query, "replicas"); replicas != "" {
		n, err := strconv.ParseUint(replicas, 10, 16)
		if c.Replicas = int(n); err != nil {
			wrong[0] = fmt.Errorf("replicas=%s: want a number", replicas)
		}
	}
	c.TrustSettings, wrong[1] = storeurl.TakeWord(query, "settings", "trusted")
	c.TrustRecovery, wrong[2] = storeurl.TakeWord(query, "recovery", "trusted")
	files, err := tlsfiles.Take(query)
	u.RawQuery, wrong[3] = query.Encode(), err
	client, wrong[4] = redis.ParseURL(u.String())
	if err := cmp.Or(wrong[:]...); err != nil {
		return c, nil, fmt.Errorf("want redis://, rediss:// or unix://: %w", err)
	}
	client.TLSConfig = cmp.Or(files, client.TLSConfig) // so they turn TLS on, also in redis://
	client.ContextTimeoutEnabled = true
	return c, client, nil
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

// call runs one operation of the script. It returns when ctx is done: go-redis heeds deadlines and no more.
func (e *Engine) call(ctx context.Context, op string, args ...any) (answer lease.Answer, err error) {
	if err = ctx.Err(); err == nil && e.closed.Load() {
		err = fs.ErrClosed
	}
	err = swap.Unmade(err)
	if err == nil {
		type result struct {
			lease.Answer
			error
		}
		done := make(chan result, 1)
		go func() { a, err := e.send(ctx, op, args); done <- result{a, err} }()
		select {
		case r := <-done:
			answer, err = r.Answer, r.error
			if end, ok := ctx.Deadline(); err != nil && ok && !time.Now().Before(end) {
				<-ctx.Done() // a connection may notice the deadline first
			}
		case <-ctx.Done():
		}
		err = cmp.Or(ctx.Err(), err)
	}
	if err == nil {
		return answer, nil
	}
	for prefix, meaning := range meanings {
		if redis.HasErrorPrefix(err, prefix) {
			err = fmt.Errorf("%w: %w", meaning, err)
		}
	}
	return lease.Answer{}, fmt.Errorf("redis: %s: %s: %w", op, e, err)
}

// meanings has what the errors of Redis and the script mean, by how they begin.
var meanings = map[string]error{
	"NOSTORE":         lease.ErrNoSpace,
	"WRONGTYPE":       fmt.Errorf("%w: nothing was changed: see what is there", lease.ErrCorrupt),
	"CORRUPT":         fmt.Errorf("%w: nothing was changed", lease.ErrCorrupt),
	"READONLY":        fmt.Errorf("%w: want the primary, role master", lease.ErrUnsafe),
	"REWRITE":         fmt.Errorf("%w: want none under recovery=trusted: wait until it has ended", lease.ErrUnsafe),
	"Error compiling": fmt.Errorf("%w: want Redis 7.0 or newer, or Valkey", lease.ErrUnsafe),
	"MOVED":           errors.New("nothing was changed: try again; a cluster needs New with a ClusterClient"),
}

//go:embed engine.lua
var source string

var hash = redis.NewScript(source).Hash()

// required are the settings without which Redis may forget what it acknowledged.
var required = []struct{ name, value, otherwise string }{
	{"appendonly", "yes", "a restart loses everything"},
	{"appendfsync", "always", "a crash loses what was acknowledged"},
	{"no-appendfsync-on-rewrite", "no", "nothing is synced while the file is rewritten"},
	{"maxmemory-policy", "noeviction", "entries may be evicted"},
}

// once is a command that the client never sends twice: when the reply got lost, it may have been carried out.
type once struct{ *redis.Cmd }

// NoRetry is for the client.
func (once) NoRetry() bool { return true }

// send has the script run, and makes sure that what it did is durable, in one round trip.
func (e *Engine) send(ctx context.Context, op string, args []any) (answer lease.Answer, err error) {
	args = append([]any{"evalsha", hash, len(e.keys), e.keys[0], e.keys[1], op, e.config.Replicas, e.config.TrustRecovery}, args...)
	reply, err := e.exchange(ctx, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		args[0], args[1] = "eval", source
		reply, err = e.exchange(ctx, args)
	}
	if err != nil {
		return answer, err
	} else if len(reply) != 3 {
		return answer, fmt.Errorf("the script returned %q", reply)
	}
	var seconds, micros int64
	_, err = fmt.Sscan(fmt.Sprint(reply[0]), &seconds, &micros, &answer.Position, &answer.Swapped)
	answer.Time, answer.Lineage = time.Unix(seconds, 1000*micros), fmt.Sprint(reply[1])
	words, _ := reply[2].([]any) // names and values by turns
	for i := 1; i < len(words); i += 2 {
		entry := lease.Entry{Name: fmt.Sprint(words[i-1])}
		if value, found := words[i].(string); found {
			entry.Value = []byte(value)
		}
		answer.Entries = append(answer.Entries, entry)
	}
	return answer, err
}

// exchange sends the script, then the question for the settings, and that for replicas that have it.
func (e *Engine) exchange(ctx context.Context, args []any) (reply []any, err error) {
	client, err := e.primary(ctx)
	if err != nil {
		return nil, swap.Unmade(err)
	}
	limit := 2 * time.Second
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)*3/4)
	}
	done := redis.NewCmd(ctx, args...)
	settings := redis.NewMapStringStringCmd(ctx, "config", "get", "appendonly", "appendfsync", "no-appendfsync-on-rewrite", "maxmemory-policy")
	copies := redis.NewIntCmd(ctx, "wait", e.config.Replicas, max(limit.Milliseconds(), 1))
	pipe := client.Pipeline()
	pipe.Process(ctx, once{done})
	if !e.config.TrustSettings {
		pipe.Process(ctx, settings)
	}
	if e.config.Replicas > 0 {
		pipe.Process(ctx, copies)
	}
	_, err = pipe.Exec(ctx)
	if cluster, ok := e.client.(*redis.ClusterClient); ok && err != nil {
		cluster.ReloadState(ctx) // soon: the keys may be elsewhere
	}
	if refusal := redis.Error(nil); done.Err() == nil && errors.As(settings.Err(), &refusal) {
		return nil, fmt.Errorf("%w: CONFIG GET: %w: allow it, or give your word with settings=trusted that Redis is set up as documented", lease.ErrUnsafe, refusal)
	}
	if err != nil { // the first command's that failed
		return nil, swap.Unsent(err)
	}
	for _, r := range required {
		if got := settings.Val()[r.name]; !e.config.TrustSettings && got != r.value {
			return nil, fmt.Errorf("%w: %s %q: want %s: else %s", lease.ErrUnsafe, r.name, got, r.value, r.otherwise)
		}
	}
	if n := int(copies.Val()); n < e.config.Replicas {
		return nil, fmt.Errorf("outcome unknown: %d of %d replicas acknowledged within %v: see to the replicas", n, e.config.Replicas, limit)
	}
	return done.Slice()
}
