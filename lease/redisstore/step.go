package redisstore

import (
	"context"
	"crypto/rand"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/setup"
)

//go:embed step.lua
var script string

// Redis knows a script by this name once it has run it.
var scriptName = func() string {
	sum := sha1.Sum([]byte(script))
	return hex.EncodeToString(sum[:])
}()

// A call is what step.lua takes; see there.
type call struct {
	Op       string `json:"op"`
	Clock    *int64 `json:"clock,omitempty"`
	Trusted  bool   `json:"trusted"`
	Replicas int    `json:"replicas"`
	Fresh    string `json:"fresh"`

	MaxTTL      int64  `json:"max_ttl"`
	MaxSkew     int64  `json:"max_skew"`
	Incarnation string `json:"incarnation"`
	Changes     int64  `json:"changes"`

	Held *held `json:"held,omitempty"`

	Nodes    int         `json:"nodes"`
	Below    uint32      `json:"below"`
	TTL      int64       `json:"ttl"`
	Owner    lease.Owner `json:"owner"`
	LastUsed int64       `json:"last_used"`
	Floor    bool        `json:"floor"`
}

type held struct {
	First   uint32      `json:"first"`
	Last    uint32      `json:"last"`
	Owner   lease.Owner `json:"owner"`
	Version uint64      `json:"version"`
	Start   int64       `json:"start"`
}

// A reply is what step.lua returns.
type reply struct {
	status    string
	now       int64
	notBefore int64
	sighting
	record lease.Record // the zero Record for none
}

// A sighting is what a Store remembers of the newest state that it saw.
type sighting struct {
	incarnation string
	changes     int64
	rules       lease.Rules
}

// step runs one operation on the store, about the lease that is held if rec isn't nil.
func (s *Store) step(ctx context.Context, c call, rec *lease.Record) (reply, error) {
	if err := s.usable(ctx); err != nil {
		return reply{}, err
	}
	before := s.prepare(&c, rec)
	r, err := await(ctx, func() (reply, error) { return s.send(ctx, c) })
	if err != nil {
		return reply{}, s.explain(c.Op, withContext(ctx, err))
	}
	s.learn(before, r)
	if r.status == "clock" {
		rules := lease.Rules{MaxTTL: max(r.rules.MaxTTL, before.rules.MaxTTL), MaxSkew: max(r.rules.MaxSkew, before.rules.MaxSkew)}
		_, err := setup.Floor(rules, r.now)
		return r, fmt.Errorf("redisstore: %s: data was lost, or may have been: %w", c.Op, err)
	}
	return r, nil
}

// prepare fills in what all calls have in common, and returns the sighting that the call goes by.
func (s *Store) prepare(c *call, rec *lease.Record) sighting {
	c.Trusted, c.Replicas, c.Fresh = s.config.TrustRecovery, s.replicas, newOwner().String()
	if s.clock != nil {
		now := s.clock().Unix()
		c.Clock = &now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Op != opCreate {
		c.Incarnation, c.Changes = s.seen.incarnation, s.seen.changes
		c.MaxTTL, c.MaxSkew = seconds(s.seen.rules.MaxTTL), seconds(s.seen.rules.MaxSkew)
	}
	if rec != nil {
		c.Held = &held{rec.FirstNode, rec.LastNode, rec.Owner, rec.Version, rec.Start}
	}
	return s.seen
}

// learn notes what the reply to a call says of the store, which was made when before was the newest
// sighting.
func (s *Store) learn(before sighting, r reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.status != "clock" { // else the loss is yet to be dealt with
		s.seen = s.seen.after(before, r.sighting)
	}
}

// after returns what is the newest sighting once a call that was made at before has returned now. Calls
// may overtake each other, so only one that knew the present incarnation can bring another.
func (v sighting) after(before, now sighting) sighting {
	switch {
	case v.incarnation == now.incarnation:
		v.changes = max(v.changes, now.changes)
		return v
	case v.incarnation == before.incarnation:
		return now
	}
	return v
}

// once is a command that the client never sends twice: a lease must not be renewed again because
// the reply got lost.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

// send runs the script, and makes sure that what it did is durable, in one round trip.
func (s *Store) send(ctx context.Context, c call) (reply, error) {
	if s.unsafe.Load() {
		if _, err := s.inspect(ctx); err != nil {
			return reply{}, err
		}
		s.unsafe.Store(false)
	}
	arg, err := json.Marshal(c)
	if err != nil {
		return reply{}, err
	}
	r, err := s.exchange(ctx, string(arg), "evalsha", scriptName)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		r, err = s.exchange(ctx, string(arg), "eval", script)
	}
	return r, err
}

// exchange sends the script with what proves its durability: that the settings are safe after it, and
// that replicas have it.
func (s *Store) exchange(ctx context.Context, arg, how, what string) (reply, error) {
	client, err := s.node(ctx)
	if err != nil {
		return reply{}, err
	}
	pipe := client.Pipeline()
	args := []any{how, what, len(s.keys)}
	for _, key := range s.keys {
		args = append(args, key)
	}
	done := once{redis.NewCmd(ctx, append(args, arg)...)}
	pipe.Process(ctx, done)
	settings := s.askSettings(ctx, pipe)
	var copies *redis.IntCmd
	limit := s.waitLimit(ctx)
	if s.replicas > 0 {
		copies = redis.NewIntCmd(ctx, "wait", s.replicas, limit.Milliseconds())
		pipe.Process(ctx, copies)
	}
	pipe.Exec(ctx) // each command has its own error
	if err := done.Err(); err != nil {
		s.reload(ctx)
		return reply{}, err
	}
	if err := s.checkSettings(settings); err != nil {
		s.unsafe.Store(true)
		return reply{}, unknown(err)
	}
	if copies != nil {
		if err := copies.Err(); err != nil {
			return reply{}, unknown(fmt.Errorf("WAIT: %w", err))
		}
		if n := int(copies.Val()); n < s.replicas {
			return reply{}, unknown(fmt.Errorf("%d of %d replicas acknowledged within %v: see to the replicas", n, s.replicas, limit))
		}
	}
	return parseReply(done.Val())
}

func unknown(err error) error { return fmt.Errorf("outcome unknown: %w", err) }

// waitLimit returns how long replicas may take: less than the client waits for the reply, and than
// the caller does.
func (s *Store) waitLimit(ctx context.Context) time.Duration {
	limit := s.patience
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)*3/4)
	}
	return max(limit, time.Millisecond)
}

// explain turns what went wrong with a call into an error that says what to do, or at least which
// operation it was.
func (s *Store) explain(op string, err error) error {
	text, _, _ := strings.Cut(err.Error(), " script: ")
	switch {
	case redis.HasErrorPrefix(err, "CORRUPT"), redis.HasErrorPrefix(err, "WRONGTYPE"):
		return s.corrupt(strings.TrimPrefix(text, "CORRUPT "))
	case errors.Is(err, redis.ErrClosed):
		return fmt.Errorf("redisstore: %s: %w: %w", op, fs.ErrClosed, err)
	case redis.HasErrorPrefix(err, "MOVED"), redis.HasErrorPrefix(err, "ASK"):
		return fmt.Errorf("redisstore: %s: %w: nothing was changed: try again; a cluster needs New with a ClusterClient", op, err)
	}
	return fmt.Errorf("redisstore: %s: %w", op, err)
}

// corrupt returns an error that wraps lease.ErrCorrupt.
func (s *Store) corrupt(what string) error {
	return fmt.Errorf("redisstore: %s: %w: %s: nothing was changed: delete the keys %s and create a new store, not as one for a new secret",
		s.config.Prefix, lease.ErrCorrupt, what, strings.Join(s.keys, " "))
}

// await runs f, and leaves it alone when ctx is done first: go-redis heeds deadlines and no more.
func await[T any](ctx context.Context, f func() (T, error)) (result T, err error) {
	done := make(chan struct{})
	var late T
	var lateErr error
	go func() {
		late, lateErr = f()
		close(done)
	}()
	select {
	case <-done:
		return late, lateErr
	case <-ctx.Done():
		return result, unknown(ctx.Err())
	}
}

// withContext adds the context's error to one that it has brought about. A connection has the context's
// deadline, and may notice first that it has passed.
func withContext(ctx context.Context, err error) error {
	cause := ctx.Err()
	if deadline, ok := ctx.Deadline(); ok && cause == nil && !time.Now().Before(deadline) {
		cause = context.DeadlineExceeded
	}
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// newOwner returns a token that nobody else has.
func newOwner() (o lease.Owner) {
	rand.Read(o[:]) // never fails, by its contract
	return o
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
