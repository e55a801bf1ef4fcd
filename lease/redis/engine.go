package redis

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
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
	primary        func(context.Context) (*redis.Client, error) // of one server: a pipeline has one connection
	own            bool                                         // the client is closed with the engine
	replicas       int                                          // how many must acknowledge a Swap
	closed, unsafe atomic.Bool                                  // unsafe: the last call found that the settings are
}

func (e *Engine) Read(ctx context.Context, names []string, page store.Page) (store.Answer, error) {
	args := []any{page.From, page.To, page.Limit}
	for _, name := range names {
		args = append(args, name)
	}
	return e.call(ctx, "read", args...)
}

func (e *Engine) Swap(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
	args := []any{len(expect)}
	for _, entry := range expect {
		args = append(args, entry.Name, entry.Value != nil, string(entry.Value))
	}
	for _, entry := range put {
		if entry.Value == nil {
			entry.Name = "!" + entry.Name
		}
		args = append(args, entry.Name, string(entry.Value))
	}
	return e.call(ctx, "swap", args...)
}

func (e *Engine) Prepare(ctx context.Context) error {
	_, err := e.call(ctx, "prepare")
	return err
}

// Close closes the client if Open or Create made it.
func (e *Engine) Close() error {
	if e.closed.Swap(true) || !e.own {
		return nil
	}
	return e.client.Close()
}

func (e *Engine) String() string { return fmt.Sprintf("redis %s %s:*", e.place, e.config.Prefix) }

// call runs one operation of the script. It returns when ctx is done: go-redis heeds deadlines and no more.
func (e *Engine) call(ctx context.Context, op string, args ...any) (store.Answer, error) {
	err := ctx.Err()
	if err != nil || e.closed.Load() {
		return store.Answer{}, e.explain(op, cmp.Or(err, fs.ErrClosed))
	}
	var answer store.Answer
	done := make(chan error, 1)
	go func() {
		var err error
		answer, err = e.send(ctx, op, args)
		done <- err
	}()
	select {
	case err = <-done:
		if end, ok := ctx.Deadline(); err != nil && ok && !time.Now().Before(end) {
			<-ctx.Done() // a connection may notice the deadline first
		}
	case <-ctx.Done():
	}
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return store.Answer{}, e.explain(op, err)
	}
	return answer, nil
}

// meanings has what the errors of Redis and the script mean, by how they begin.
var meanings = map[string]error{
	"NOSTORE":         store.ErrNoStore,
	"CORRUPT":         fmt.Errorf("%w: nothing was changed: delete the keys and create a new store, not as one for a new secret", store.ErrCorrupt),
	"WRONGTYPE":       fmt.Errorf("%w: nothing was changed: see what is there", store.ErrCorrupt),
	"READONLY":        fmt.Errorf("%w: want the primary, role master", store.ErrUnsafe),
	"Error compiling": fmt.Errorf("%w: want Redis 7.0 or newer, or Valkey", store.ErrUnsafe),
	"MOVED":           errors.New("nothing was changed: try again; a cluster needs New with a ClusterClient"),
}

func (e *Engine) explain(op string, err error) error {
	for prefix, meaning := range meanings {
		if redis.HasErrorPrefix(err, prefix) {
			err = fmt.Errorf("%w: %w", meaning, err)
		}
	}
	return fmt.Errorf("redisstore: %s: %s: %w", op, e, err)
}

//go:embed engine.lua
var source string

const mayRead, mayWrite = "#!lua flags=no-writes\n", "#!lua\n" // first lines of the script

var hashes = map[string]string{mayRead: redis.NewScript(mayRead + source).Hash(), mayWrite: redis.NewScript(mayWrite + source).Hash()}

// required are the settings without which Redis may forget what it acknowledged.
var required = []struct{ name, value, otherwise string }{
	{"appendonly", "yes", "a restart loses everything"},
	{"appendfsync", "always", "a crash loses what was acknowledged; durability=everysec accepts everysec, and costs a pause after each restart"},
	{"no-appendfsync-on-rewrite", "no", "nothing is synced while the file is rewritten"},
	{"maxmemory-policy", "noeviction", "entries may be evicted"},
}

// once is a command that the client never sends twice: when the reply got lost, it may have been carried out.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// send has the script run, and makes sure that what it did is durable, in one round trip.
func (e *Engine) send(ctx context.Context, op string, args []any) (answer store.Answer, err error) {
	kind, replicas := mayWrite, e.replicas
	if op == "read" || op == "look" {
		kind, replicas = mayRead, 0
	} else if e.unsafe.Load() { // write nothing again and again that can't be acknowledged
		if _, err := e.send(ctx, "look", nil); err != nil {
			return answer, err
		}
	}
	args = append([]any{"evalsha", hashes[kind], len(e.keys), e.keys[0], e.keys[1], op, replicas}, args...)
	reply, err := e.exchange(ctx, args, replicas)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		args[0], args[1] = "eval", kind+source
		reply, err = e.exchange(ctx, args, replicas)
	}
	if e.unsafe.Store(errors.Is(err, store.ErrUnsafe)); err != nil {
		return answer, err
	} else if len(reply) != 4 {
		return answer, fmt.Errorf("the script returned %q", reply)
	}
	var seconds, micros int64
	_, err = fmt.Sscan(fmt.Sprint(reply[0]), &seconds, &micros, &answer.Position, &answer.Swapped)
	answer.Time, answer.Lineage, answer.Kept = time.Unix(seconds, 1000*micros), fmt.Sprint(reply[1]), true
	answer.Named, answer.Page = entries(reply[2]), entries(reply[3])
	return answer, err
}

// exchange sends the script, then the question for the settings, and that for replicas that have it.
func (e *Engine) exchange(ctx context.Context, args []any, replicas int) (reply []any, err error) {
	client, err := e.primary(ctx)
	if err != nil {
		return nil, err
	}
	limit := 2 * time.Second
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)*3/4)
	}
	done := redis.NewCmd(ctx, args...)
	settings := redis.NewMapStringStringCmd(ctx, "config", "get", "appendonly", "appendfsync", "no-appendfsync-on-rewrite", "maxmemory-policy")
	copies := redis.NewIntCmd(ctx, "wait", replicas, max(limit.Milliseconds(), 1))
	pipe := client.Pipeline()
	pipe.Process(ctx, once{done})
	if !e.config.TrustSettings {
		pipe.Process(ctx, settings)
	}
	if replicas > 0 {
		pipe.Process(ctx, copies)
	}
	_, err = pipe.Exec(ctx)
	if cluster, ok := e.client.(*redis.ClusterClient); ok && err != nil {
		cluster.ReloadState(ctx) // soon: the keys may be elsewhere
	}
	if refusal := redis.Error(nil); done.Err() == nil && errors.As(settings.Err(), &refusal) {
		return nil, fmt.Errorf("%w: CONFIG GET: %w: allow it, or give your word with settings=trusted that Redis is set up as documented", store.ErrUnsafe, refusal)
	}
	if err != nil { // the first command's that failed
		return nil, err
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
	return done.Slice()
}

// entries reads names and values by turns.
func entries(reply any) (list []store.Entry) {
	words, _ := reply.([]any)
	for i := 1; i < len(words); i += 2 {
		list = append(list, store.Entry{Name: fmt.Sprint(words[i-1])})
		if value, found := words[i].(string); found {
			list[len(list)-1].Value = []byte(value)
		}
	}
	return list
}
