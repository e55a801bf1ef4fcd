package redis

import (
	"cmp"
	"context"
	_ "embed"
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
	a, err := e.untilDone(ctx, operation, args)
	if err != nil {
		return lease.Answer{}, fmt.Errorf("redis: %s: %s: %w", operation, e, err)
	}
	return a, nil
}

// untilDone is evaluate, but returns as soon as ctx is done: of a context go-redis heeds only the deadline.
func (e *Engine) untilDone(ctx context.Context, operation string, args []any) (lease.Answer, error) {
	if ctx.Err() != nil {
		return lease.Answer{}, swap.Unmade(ctx.Err())
	}
	if e.closed.Load() {
		return lease.Answer{}, swap.Unmade(fs.ErrClosed)
	}
	var a lease.Answer
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		a, err = e.evaluate(ctx, operation, args)
	}()
	select {
	case <-ctx.Done():
		return lease.Answer{}, ctx.Err()
	case <-done:
	}
	if err != nil { // if ctx has ended the outcome counts as unknown, whatever the error says
		err = cmp.Or(swap.Ended(ctx), err)
	}
	return a, err
}

// evaluate has the script run, and makes sure that what it did is durable, in one round trip.
func (e *Engine) evaluate(ctx context.Context, operation string, args []any) (lease.Answer, error) {
	keys := []any{len(e.keys), e.keys[0], e.keys[1]}
	args = slices.Concat(keys, []any{operation, e.config.Replicas}, args) // in the order of ARGV in engine.lua
	array, err := e.roundTrip(ctx, "evalsha", hash, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") { // nothing has run, so it may be sent again
		array, err = e.roundTrip(ctx, "eval", source, args)
	}
	if err != nil {
		return lease.Answer{}, err
	}
	return parseReply(array)
}

// roundTrip sends the script, as its text or as its hash, then the question for the settings, then the one for replicas that
// have what the script did. It returns the reply of the script. With wrong settings or too few replicas
// it returns an error although the script has run: then nothing is acknowledged that could be lost.
func (e *Engine) roundTrip(ctx context.Context, command, script string, args []any) ([]any, error) {
	client, err := e.primary(ctx)
	if err != nil {
		return nil, swap.Unmade(err)
	}
	limit := replicaTime(ctx)

	// Those that are not sent have no error, and the value 0.
	run := redis.NewCmd(ctx, append([]any{command, script}, args...)...)
	settings := redis.NewMapStringStringCmd(ctx, questionForSettings()...)
	copies := redis.NewIntCmd(ctx, "wait", e.config.Replicas, max(limit.Milliseconds(), 1))
	pipe := client.Pipeline()
	pipe.Process(ctx, once{run})
	if !e.config.DurableSettings {
		pipe.Process(ctx, settings)
	}
	if e.config.Replicas > 0 {
		pipe.Process(ctx, copies)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, e.failed(ctx, err, run, settings)
	}
	if err := e.checkDurable(settings.Val(), int(copies.Val()), limit); err != nil {
		return nil, err
	}
	return run.Slice()
}

// failed returns what an error of a round trip means. run and settings are two of the commands in it.
func (e *Engine) failed(ctx context.Context, err error, run, settings redis.Cmder) error {
	if cluster, ok := e.client.(*redis.ClusterClient); ok {
		cluster.ReloadState(ctx) // in the background: the keys may have moved to another server
	}
	switch {
	case run.Err() != nil: // also if there was no connection
		return explain(run.Err())
	case settings.Err() != nil:
		return notAllowed(settings.Err())
	}
	return err // the script has run
}

// A once is a command that the client must not send again: if only the reply was lost, the command
// took effect.
type once struct{ *redis.Cmd }

// NoRetry is asked by the client.
func (once) NoRetry() bool { return true }

// replicaTime returns how long to wait for replicas.
func replicaTime(ctx context.Context) time.Duration {
	limit := 2 * time.Second
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)*3/4) // the rest is for the way back
	}
	return limit
}

// checkDurable returns why what the script did may be lost, or nil. copies is how many replicas had it
// within limit.
func (e *Engine) checkDurable(settings map[string]string, copies int, limit time.Duration) error {
	if !e.config.DurableSettings {
		if err := checkSettings(settings); err != nil {
			return err
		}
	}
	if copies < e.config.Replicas {
		return fmt.Errorf("outcome unknown: %d of %d replicas acknowledged within %v: see to the replicas",
			copies, e.config.Replicas, limit)
	}
	return nil
}

// parseReply reads the array that the script returned, in the order of answer in engine.lua.
func parseReply(array []any) (lease.Answer, error) {
	r := &reply{rest: array}
	seconds := next[int64](r)
	micros := next[int64](r)
	a := lease.Answer{
		Time:        time.Unix(seconds, 1000*micros),
		Position:    uint64(next[int64](r)),
		Swapped:     next[int64](r) == 1,
		Lineage:     next[string](r),
		Incarnation: next[string](r),
		Doubt:       next[string](r),
	}
	found := next[[]any](r) // a name, then its value or nil, and so on
	if r.wrong || len(r.rest) > 0 {
		return lease.Answer{}, fmt.Errorf("the script returned %q", array)
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

// A reply is read field by field.
type reply struct {
	rest  []any
	wrong bool // a field was missing, or had another type
}

// next returns the next field of a reply, or the zero value if it is no T.
func next[T any](r *reply) T {
	if len(r.rest) == 0 {
		r.wrong = true
		return *new(T)
	}
	field, ok := r.rest[0].(T)
	r.rest = r.rest[1:]
	r.wrong = r.wrong || !ok
	return field
}
