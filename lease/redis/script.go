package redis

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/swap"
)

//go:embed engine.lua
var source string

var hash = redis.NewScript(source).Hash()

// call runs one operation of the script, and adds to an error what was tried, and where.
func (e *Engine) call(ctx context.Context, operation string, args ...any) (lease.Answer, error) {
	a, err := e.await(ctx, operation, args)
	if err != nil {
		return lease.Answer{}, fmt.Errorf("redis: %s: %s: %w", operation, e, err)
	}
	return a, nil
}

// await is send, but returns as soon as ctx is done: of a context go-redis heeds only the deadline.
func (e *Engine) await(ctx context.Context, operation string, args []any) (lease.Answer, error) {
	if ctx.Err() != nil {
		return lease.Answer{}, swap.Unmade(ctx.Err())
	}
	if e.closed.Load() {
		return lease.Answer{}, swap.Unmade(fs.ErrClosed)
	}
	type result struct {
		lease.Answer
		error
	}
	done := make(chan result, 1)
	go func() {
		a, err := e.send(ctx, operation, args)
		done <- result{a, err}
	}()
	select {
	case <-ctx.Done():
		return lease.Answer{}, ctx.Err()
	case r := <-done:
		if r.error != nil {
			return lease.Answer{}, cmp.Or(swap.Ended(ctx), r.error)
		}
		return r.Answer, nil
	}
}

// send has the script run, and makes sure that what it did is durable, in one round trip.
func (e *Engine) send(ctx context.Context, operation string, args []any) (lease.Answer, error) {
	head := []any{"evalsha", hash, len(e.keys), e.keys[0], e.keys[1]}
	args = slices.Concat(head, []any{operation, e.config.Replicas}, args)
	array, err := e.exchange(ctx, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		args[0] = "eval"
		args[1] = source
		array, err = e.exchange(ctx, args)
	}
	if err != nil {
		return lease.Answer{}, err
	}
	return parseReply(array)
}

// parseReply reads the array that the script returned.
func parseReply(array []any) (lease.Answer, error) {
	var seconds, micros, position, swapped int64
	var lineage, incarnation, doubt string
	var found []any // a name, then its value or nil, and so on
	fields := []any{&seconds, &micros, &position, &swapped, &lineage, &incarnation, &doubt, &found}
	ok := len(array) == len(fields)
	for i := 0; ok && i < len(fields); i++ {
		switch field := fields[i].(type) {
		case *int64:
			*field, ok = array[i].(int64)
		case *string:
			*field, ok = array[i].(string)
		case *[]any:
			*field, ok = array[i].([]any)
		}
	}
	if !ok {
		return lease.Answer{}, fmt.Errorf("the script returned %q", array)
	}
	a := lease.Answer{
		Time:        time.Unix(seconds, 1000*micros),
		Position:    uint64(position),
		Swapped:     swapped == 1,
		Lineage:     lineage,
		Incarnation: incarnation,
		Doubt:       doubt,
	}
	for i := 0; i+1 < len(found); i += 2 {
		entry := lease.Entry{Name: fmt.Sprint(found[i])}
		value, isThere := found[i+1].(string)
		if isThere {
			entry.Value = []byte(value)
		}
		a.Entries = append(a.Entries, entry)
	}
	return a, nil
}

// A once is a command that the client must not send again: if only the reply was lost, the command
// took effect.
type once struct{ *redis.Cmd }

// NoRetry is asked by the client.
func (once) NoRetry() bool { return true }

// exchange sends the script, then the question for the settings, then the one for replicas that
// have what the script did. It returns the reply of the script.
func (e *Engine) exchange(ctx context.Context, args []any) ([]any, error) {
	client, err := e.primary(ctx)
	if err != nil {
		return nil, swap.Unmade(err)
	}
	limit := 2 * time.Second
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)*3/4)
	}
	question := []any{"config", "get"}
	for _, r := range required {
		question = append(question, r.name)
	}
	done := redis.NewCmd(ctx, args...)
	settings := redis.NewMapStringStringCmd(ctx, question...)
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
		cluster.ReloadState(ctx) // in the background: the keys may have moved to another server
	}
	if done.Err() == nil && settings.Err() != nil {
		return nil, notAllowed(settings.Err())
	}
	if err != nil { // that of the first command that failed, or there was no connection
		return nil, explained(err)
	}
	if !e.config.TrustSettings {
		err := checkSettings(settings.Val())
		if err != nil {
			return nil, err
		}
	}
	n := int(copies.Val())
	if n < e.config.Replicas {
		return nil, fmt.Errorf("outcome unknown: %d of %d replicas acknowledged within %v: "+
			"see to the replicas",
			n, e.config.Replicas, limit)
	}
	return done.Slice()
}

// required are the settings without which Redis may forget what it acknowledged.
var required = []struct{ name, value, otherwise string }{
	{"appendonly", "yes", "a restart loses everything"},
	{"appendfsync", "always", "a crash loses what was acknowledged"},
	{"no-appendfsync-on-rewrite", "no", "nothing is synced while the file is rewritten"},
	{"maxmemory-policy", "noeviction", "entries may be evicted"},
}

// notAllowed adds what to do to an error of the question for the settings, if Redis itself refused
// it.
func notAllowed(err error) error {
	_, ok := errors.AsType[redis.Error](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%w: CONFIG GET: %w: "+
		"allow it, or give your word with settings=trusted that Redis is set up as documented",
		lease.ErrUnsafe, err)
}

// checkSettings returns what is wrong with the settings that Redis has, or nil.
func checkSettings(got map[string]string) error {
	for _, r := range required {
		if got[r.name] != r.value {
			return fmt.Errorf("%w: %s %q: want %s: else %s",
				lease.ErrUnsafe, r.name, got[r.name], r.value, r.otherwise)
		}
	}
	return nil
}

// refusals has, for errors of Redis and the script by how they begin, what they mean. All of them
// say that nothing was changed.
var refusals = map[string]error{
	"NOSTORE":         lease.ErrNoSpace,
	"WRONGTYPE":       fmt.Errorf("%w: nothing was changed: see what is there", lease.ErrCorrupt),
	"CORRUPT":         fmt.Errorf("%w: nothing was changed", lease.ErrCorrupt),
	"READONLY":        fmt.Errorf("%w: want the primary, role master", lease.ErrUnsafe),
	"Error compiling": fmt.Errorf("%w: want Redis 7.0 or newer, or Valkey", lease.ErrUnsafe),
	"MOVED":           errors.New("nothing was changed: try again; a cluster needs New with a ClusterClient"),
	"NOREPLICAS":      errors.New("nothing was changed: see to the replicas"),
	"OOM":             errors.New("nothing was changed: make room in memory"),
	"WRONGPASS":       fs.ErrPermission,
	"NOAUTH":          fs.ErrPermission,
}

// explained adds to the error of a script what it means.
func explained(err error) error {
	for prefix, meaning := range refusals {
		if redis.HasErrorPrefix(err, prefix) {
			return swap.Unmade(fmt.Errorf("%w: %w", meaning, err))
		}
	}
	return swap.Unsent(err)
}
