package redisstore

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/store"
)

//go:embed engine.lua
var source string

const mayRead, mayWrite = "#!lua flags=no-writes\n", "#!lua\n"

// Redis knows a script by its hash once it has run it.
var hashes = map[string]string{mayRead: redis.NewScript(mayRead + source).Hash(), mayWrite: redis.NewScript(mayWrite + source).Hash()}

// required are the settings without which Redis may forget what it acknowledged.
var required = []struct{ name, value, otherwise string }{
	{"appendonly", "yes", "a restart loses everything"},
	{"appendfsync", "always", "a crash loses what was acknowledged; durability=everysec accepts everysec, and costs a pause after each restart"},
	{"no-appendfsync-on-rewrite", "no", "nothing is synced while the file is rewritten"},
	{"maxmemory-policy", "noeviction", "entries may be evicted"},
}

var configGet = []any{"config", "get", required[0].name, required[1].name, required[2].name, required[3].name}

// once is a command that the client never sends twice: when the reply got lost, it may have been carried out.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// send has the script run, and makes sure that what it did is durable, in one round trip.
func (e *Engine) send(ctx context.Context, op string, names []string, args []any) (answer store.Answer, err error) {
	kind, replicas := mayWrite, e.replicas
	if op == "read" || op == "look" {
		kind, replicas = mayRead, 0
	} else if e.unsafe.Load() { // write nothing again and again that can't be acknowledged
		if _, err := e.send(ctx, "look", nil, nil); err != nil {
			return answer, err
		}
	}
	args = append([]any{"evalsha", hashes[kind], len(e.keys), e.keys[0], e.keys[1], e.keys[2], op, replicas}, args...)
	words, err := e.exchange(ctx, args, replicas)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		args[0], args[1] = "eval", kind+source
		words, err = e.exchange(ctx, args, replicas)
	}
	if e.unsafe.Store(errors.Is(err, store.ErrUnsafe)); err != nil {
		return answer, err
	}
	return parse(words, names)
}

// exchange sends the script, then the question for the settings, and that for replicas that have it.
func (e *Engine) exchange(ctx context.Context, args []any, replicas int) (words []string, err error) {
	// Only on the client of one server do the commands of a pipeline share a connection.
	client, _ := e.client.(*redis.Client)
	cluster, isCluster := e.client.(*redis.ClusterClient)
	if isCluster {
		if client, err = cluster.MasterForKey(ctx, e.keys[0]); err != nil {
			return nil, err
		}
	}
	limit := e.patience
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)*3/4)
	}
	done, settings := redis.NewCmd(ctx, args...), redis.NewMapStringStringCmd(ctx, configGet...)
	copies := redis.NewIntCmd(ctx, "wait", replicas, max(limit.Milliseconds(), 1))
	pipe := client.Pipeline()
	pipe.Process(ctx, once{done})
	if !e.config.TrustSettings {
		pipe.Process(ctx, settings)
	}
	if replicas > 0 {
		pipe.Process(ctx, copies)
	}
	if _, err = pipe.Exec(ctx); err != nil && isCluster {
		cluster.ReloadState(ctx) // soon: the keys may be elsewhere
	}
	if refusal := redis.Error(nil); done.Err() == nil && errors.As(settings.Err(), &refusal) {
		return nil, fmt.Errorf("%w: CONFIG GET: %w: allow it, or give your word with settings=trusted that Redis is set up as documented", store.ErrUnsafe, refusal)
	}
	if err != nil { // one of the commands' or that of the connection
		return nil, cmp.Or(done.Err(), err)
	}
	for _, r := range required {
		got := settings.Val()[r.name]
		if !e.config.TrustSettings && got != r.value && (got != "everysec" || !e.config.EverySecond) {
			return nil, fmt.Errorf("%w: %s %q: want %s: else %s", store.ErrUnsafe, r.name, got, r.value, r.otherwise)
		}
	}
	if n := int(copies.Val()); n < replicas {
		return nil, fmt.Errorf("outcome unknown: %d of %d replicas acknowledged within %v: see to the replicas", n, replicas, limit)
	}
	return done.StringSlice()
}

// parse reads what the script returned: five words, a value for each name, and the page's names and values.
func parse(words, names []string) (a store.Answer, err error) {
	head, page := 5+len(names), (len(words)-5-len(names))/2
	if len(words) != head+2*page {
		return a, fmt.Errorf("the script returned %q", words)
	}
	var seconds, micros int64
	_, err = fmt.Sscan(strings.Join(words[:4], " "), &seconds, &micros, &a.Position, &a.Swapped)
	a.Time, a.Lineage = time.Unix(seconds, 1000*micros), words[4]
	a.Named, a.Page = entries(names, words[5:head]), entries(words[head:head+page], words[head+page:])
	for _, entry := range a.Page {
		if entry.Value == nil {
			err = fmt.Errorf("%w: there is a name without an entry, %s", store.ErrCorrupt, entry.Name)
		}
	}
	return a, err
}

// entries returns the entries with these names and values, which are '=' and the value, or nothing where there is none.
func entries(names, values []string) (list []store.Entry) {
	for i, name := range names {
		entry := store.Entry{Name: name}
		if value, found := strings.CutPrefix(values[i], "="); found {
			entry.Value = []byte(value)
		}
		list = append(list, entry)
	}
	return list
}
