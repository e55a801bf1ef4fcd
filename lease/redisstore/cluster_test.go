package redisstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease"
)

// TestCluster: all keys share a slot, and the store follows it from server to server.
func TestCluster(t *testing.T) {
	t.Parallel()
	first, second := startServer(t, "--cluster-enabled", "yes"), startServer(t, "--cluster-enabled", "yes")
	_, port, _ := strings.Cut(second.Addr(), ":")
	_, err := first.Do("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	mustDo(t, err)
	_, err = first.Do("CLUSTER", "MEET", "127.0.0.1", port)
	mustDo(t, err)
	mustDo(t, waitFor(func() bool {
		for _, node := range []interface {
			Do(...string) (string, error)
		}{first, second} {
			info, _ := node.Do("CLUSTER", "INFO")
			if !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:2") {
				return false
			}
		}
		return true
	}))
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{first.Addr()}})
	defer client.Close()
	s, err := CreateOn(t.Context(), client, Config{}, ForNewSecret(), WithRules(testRules))
	mustDo(t, err)
	held := acquire(t, s, oneMinute)
	held, err = s.Renew(t.Context(), held, time.Minute)
	mustDo(t, err)
	if records, err := s.List(t.Context()); err != nil || len(records) != 1 || records[0] != held {
		t.Errorf("List: %+v, %v, want %+v", records, err, held)
	}
	if _, err := Open(t.Context(), second.URL()); err == nil || !strings.Contains(err.Error(), "ClusterClient") {
		t.Errorf("Open on one server of a cluster: error %v, want one that names ClusterClient", err)
	}

	// The slot moves, and its keys with it. The server there is another one.
	slot, err := first.Do("CLUSTER", "KEYSLOT", s.keys[0])
	mustDo(t, err)
	id := func(node interface {
		Do(...string) (string, error)
	}) string {
		id, err := node.Do("CLUSTER", "MYID")
		mustDo(t, err)
		return id
	}
	do := func(node interface {
		Do(...string) (string, error)
	}, words ...string) {
		t.Helper()
		if _, err := node.Do(words...); err != nil {
			t.Fatalf("%v: %v", words, err)
		}
	}
	do(second, "CLUSTER", "SETSLOT", slot, "IMPORTING", id(first))
	do(first, "CLUSTER", "SETSLOT", slot, "MIGRATING", id(second))
	do(first, append([]string{"MIGRATE", "127.0.0.1", port, `""`, "0", "5000", "KEYS"}, s.keys[:3]...)...)
	do(second, "CLUSTER", "SETSLOT", slot, "NODE", id(second))
	do(first, "CLUSTER", "SETSLOT", slot, "NODE", id(second))
	err = waitFor(func() bool {
		_, err = s.Renew(t.Context(), held, time.Minute)
		return errors.Is(err, lease.ErrLost)
	})
	if err != nil {
		t.Error("Renew after the slot moved does not get to where it is")
	}
	if _, floor, err := s.Limits(t.Context()); err != nil || floor.IsZero() {
		t.Errorf("floor %v, %v, want one as after a restart", floor, err)
	}
}
