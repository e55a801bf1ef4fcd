// Package redis keeps entries in Redis 7.0 or newer, or in Valkey. [Open] takes redis://user:password@host:port/db,
// unix://user:password@/path or, for TLS, rediss://, with the parameters of go-redis, of package store (space,
// recovery; ca, cert and key, which turn TLS on) and of [Config].
//
// Redis must be a primary with appendonly yes, appendfsync always, no-appendfsync-on-rewrite no and
// maxmemory-policy noeviction, from its start: switched on later, appendonly isn't durable at once. Each call
// asks for these settings, in the same round trip. A user needs CONFIG GET, EVAL, EVALSHA, INFO, TIME, PERSIST,
// HLEN, HMGET, HSET, HINCRBY, ZCARD, ZRANGE, ZADD and WAIT on {randflake}:*, and CLUSTER in one.
//
// The lineage is run_id and master_replid, in a cluster also the server's epoch. It changes with each restart,
// promotion and failback, when a slot moves, with the first replica, and an hour after the last one left unless
// repl-backlog-ttl is 0. The position counts swaps. It shows older keys put into a running server, or older files
// with recovery=trusted, to a handle that saw newer ones; one that is opened later can't know. recovery=trusted
// is true of one server whose disk keeps what is synced, not with failovers.
// A Swap waits until replicas=N have it in memory, and fails when they don't say so in time. A primary that was
// replaced and doesn't know goes on by itself, unless N and min-replicas-to-write are all replicas.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease/internal/tlsfiles"
	"github.com/randflake/randflake/store"
)

// A Config says where in Redis the entries are and how far Redis is trusted; the zero Config, as little as can be.
type Config struct {
	Prefix        string // begins the names of the keys, put in braces; randflake if empty. URL: prefix=
	Replicas      int    // how many must acknowledge a Swap; 0: one, if any is connected at first; below 0: none. URL: replicas=, 0 for none
	TrustSettings bool   // do without CONFIG GET. URL: settings=trusted
	EverySecond   bool   // a crash may undo the last second; never with store.TrustRecovery. URL: durability=everysec
}

// Open opens the store at url, as [store.Open] does, once it has checked the server.
func Open(ctx context.Context, url string, options ...store.Option) (*store.Space, error) {
	return store.Begin(ctx, url, dial, store.Open, options)
}

// Create makes a new store where Open finds it, as [store.Create] does.
func Create(ctx context.Context, url string, options ...store.Option) (*store.Space, error) {
	return store.Begin(ctx, url, dial, store.Create, options)
}

// Check finds what is wrong with a URL, as Open does. It connects to nothing.
func Check(url string) error {
	_, _, _, err := parseURL(url)
	return err
}

func dial(ctx context.Context, url string) (*Engine, []store.Option, error) {
	config, dialing, options, err := parseURL(url)
	if err != nil {
		return nil, nil, err
	}
	client := redis.NewClient(dialing)
	e, err := New(ctx, client, config)
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	e.own = true
	return e, options, nil
}

// parseURL returns what the engine, the client and the store are to know. No error shows the password.
func parseURL(raw string) (c Config, client *redis.Options, options []store.Option, err error) {
	u, query, err := store.ParseURL(raw)
	if err != nil {
		return c, nil, nil, err
	}
	var wrong [6]error
	if query.Has("durability") && query.Has("recovery") {
		wrong[0] = errors.New("durability=everysec with recovery=trusted: a crash loses up to a second, so it can't be trusted: drop one of the two")
	}
	c.Prefix = store.Take(query, "prefix")
	if replicas := store.Take(query, "replicas"); replicas != "" {
		n, err := strconv.ParseUint(replicas, 10, 16)
		if err != nil {
			wrong[1] = fmt.Errorf("replicas=%s: want a number", replicas)
		}
		c.Replicas = cmp.Or(int(n), -1)
	}
	c.TrustSettings, wrong[2] = store.TakeWord(query, "settings", "trusted")
	c.EverySecond, wrong[3] = store.TakeWord(query, "durability", "everysec")
	options, wrong[4] = store.TakeOptions(query)
	files, err := tlsfiles.Take(query)
	u.RawQuery = query.Encode()
	client, wrong[5] = redis.ParseURL(u.String())
	if err := cmp.Or(append(wrong[:], err)...); err != nil {
		return c, nil, nil, fmt.Errorf("redisstore: want redis://, rediss:// or unix://: %w", err)
	}
	client.TLSConfig = cmp.Or(files, client.TLSConfig) // so they turn TLS on, also in redis://
	client.ContextTimeoutEnabled = true
	return c, client, options, nil
}

// New returns an engine on a client that stays the caller's: a *redis.Client, be it for one server or by
// way of sentinels, or a *redis.ClusterClient.
func New(ctx context.Context, client redis.UniversalClient, c Config) (*Engine, error) {
	c.Prefix = "{" + cmp.Or(c.Prefix, "randflake") + "}" // a hash tag: the keys share a slot of a cluster
	e := &Engine{config: c, client: client, keys: []string{c.Prefix + ":entries", c.Prefix + ":names"}}
	switch client := client.(type) {
	case *redis.Client:
		e.place, e.primary = client.Options().Addr, func(context.Context) (*redis.Client, error) { return client, nil }
	case *redis.ClusterClient:
		e.place = strings.Join(client.Options().Addrs, ",")
		e.primary = func(ctx context.Context) (*redis.Client, error) { return client.MasterForKey(ctx, e.keys[0]) }
	default:
		return nil, fmt.Errorf("redisstore: client is a %T: want a *redis.Client or a *redis.ClusterClient", client)
	}
	found, err := e.call(ctx, "look")
	if err != nil {
		return nil, err
	}
	if e.replicas = max(c.Replicas, 0); c.Replicas == 0 {
		e.replicas = int(min(found.Position, 1)) // where look says how many are connected
	}
	return e, nil
}
