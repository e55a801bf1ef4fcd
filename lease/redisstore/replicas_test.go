package redisstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/internal/engines"
	"github.com/randflake/randflake/lease"
)

// pair starts a primary and a replica of it.
func pair(t *testing.T) (primary, replica *engines.Redis) {
	t.Helper()
	primary, replica = startServer(t), startServer(t)
	mustDo(t, replica.ReplicaOf(primary))
	return primary, replica
}

// TestReplicasAcknowledge: what a call returned is on the replica, and a call of which that is not known
// fails with its outcome unknown.
func TestReplicasAcknowledge(t *testing.T) {
	t.Parallel()
	primary, replica := pair(t)
	s, clock := create(t, primary.URL())
	held := acquire(t, s, oneMinute)
	copied := redis.NewClient(&redis.Options{Addr: replica.Addr()})
	defer copied.Close()
	if n := copied.HLen(t.Context(), s.keys[1]).Val(); n != 1 {
		t.Errorf("%d records on the replica, want 1", n)
	}

	mustDo(t, replica.Pause())
	clock.Advance(time.Second)
	calls := map[string]func(ctx context.Context) error{
		"Renew":   func(ctx context.Context) error { _, err := s.Renew(ctx, held, time.Minute); return err },
		"Lookup":  func(ctx context.Context) error { _, err := s.Lookup(ctx, held); return err },
		"Acquire": func(ctx context.Context) error { _, err := s.Acquire(ctx, oneMinute); return err },
	}
	for name, call := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := call(ctx)
		cancel()
		if err == nil || errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "0 of 1 replicas") || !strings.Contains(err.Error(), "outcome unknown") {
			t.Errorf("%s: error %v, want one of unknown outcome that counts replicas", name, err)
		}
	}
	mustDo(t, replica.Resume())
	got, err := s.Lookup(t.Context(), held)
	if err != nil || got.Version != held.Version+1 {
		t.Errorf("Lookup when the replica is back: %+v, %v, want the renewal of %+v", got, err, held)
	}

	// Without any replica nothing is tried.
	mustDo(t, replica.Kill())
	mustDo(t, waitFor(func() bool {
		info, _ := primary.Do("INFO", "replication")
		return strings.Contains(info, "connected_slaves:0")
	}))
	before, err := s.List(t.Context())
	mustDo(t, err)
	if _, err := s.Acquire(t.Context(), oneMinute); err == nil || !strings.Contains(err.Error(), "0 of 1 replicas") {
		t.Errorf("Acquire without a replica: error %v, want one that counts replicas", err)
	}
	if after, err := s.List(t.Context()); err != nil || len(after) != len(before) {
		t.Errorf("%d records, %v; before %d", len(after), err, len(before))
	}
}

// waitFor waits until what the servers do by themselves is done.
func waitFor(done func() bool) error {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if done() {
			return nil
		}
	}
	return errors.New("not within 30 seconds")
}

// TestReplicaCount: one is waited for if there is one, none if there is none, and what the URL says in any case.
func TestReplicaCount(t *testing.T) {
	t.Parallel()
	primary, _ := pair(t)
	alone := shared
	for _, tt := range []struct {
		server *engines.Redis
		params string
		want   int
	}{{primary, "", 1}, {primary, "&replicas=0", 0}, {primary, "&replicas=1", 1}, {alone, "", 0}, {alone, "&replicas=0", 0}} {
		url := tt.server.URL() + strings.TrimPrefix(newPlace(), shared.URL()) + tt.params
		s, _ := create(t, url)
		acquire(t, s, oneMinute)
		if s.replicas != tt.want {
			t.Errorf("%s: waits for %d replicas, want %d", url, s.replicas, tt.want)
		}
	}
	if _, err := Create(t.Context(), newPlace()+"&replicas=1"); err == nil || !strings.Contains(err.Error(), "0 of 1 replicas") {
		t.Errorf("no replica where one is wanted: error %v", err)
	}
}

// TestFailover: a replica that takes over is another server, which may lack what was granted.
func TestFailover(t *testing.T) {
	t.Parallel()
	for _, trusted := range []string{"", "?recovery=trusted"} {
		primary, replica := pair(t)
		s, clock := create(t, primary.URL()+trusted)
		held := acquire(t, s, oneMinute)
		mustDo(t, primary.Kill())
		mustDo(t, replica.ReplicaOf(nil))
		after := open(t, replica.URL()+trusted, clock)
		_, err := after.Renew(t.Context(), held, time.Minute)
		if trusted != "" && err != nil {
			t.Errorf("Renew after a failover that is trusted: %v", err)
		}
		if trusted == "" {
			if !errors.Is(err, lease.ErrLost) {
				t.Errorf("Renew after a failover: error %v, want ErrLost", err)
			}
			wantFloor(t, after, noon.Unix()+floorAhead)
		}
	}
}

// TestThereAndBack: a server that followed another for a while, and took its older data, is noticed though it
// never went down and nobody called the other one.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	for _, trusted := range []string{"", "&recovery=trusted"} {
		primary, replica := pair(t)
		url := primary.URL() + "?replicas=0" + trusted
		s, clock := create(t, url)
		mustDo(t, waitFor(func() bool {
			n, _ := replica.Do("HGET", "{randflake}:meta", "changes")
			return n == "1"
		}))
		mustDo(t, replica.ReplicaOf(nil))
		acquire(t, s, oneMinute)
		mustDo(t, primary.ReplicaOf(replica))
		mustDo(t, primary.ReplicaOf(nil))

		fresh := open(t, url, clock)
		if records, err := fresh.List(t.Context()); err != nil || len(records) != 0 {
			t.Fatalf("records %+v, %v, want the older data", records, err)
		}
		if trusted != "" {
			acquire(t, fresh, oneMinute)
			continue
		}
		if rec, err := fresh.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoRange) {
			t.Errorf("Acquire: %+v, %v, want ErrNoRange", rec, err)
		}
		wantFloor(t, fresh, noon.Unix()+floorAhead)

		// That is dealt with, also when Redis forgets that there was another.
		clock.Advance(20 * time.Second)
		acquire(t, fresh, oneMinute)
		mustDo(t, replica.Kill())
		mustDo(t, fresh.client.ConfigSet(t.Context(), "repl-backlog-ttl", "1").Err())
		mustDo(t, waitFor(func() bool {
			info, _ := primary.Do("INFO", "replication")
			return strings.Contains(info, "second_repl_offset:-1\r")
		}))
		acquire(t, fresh, oneMinute)
		wantFloor(t, fresh, noon.Unix()+floorAhead)
	}
}
