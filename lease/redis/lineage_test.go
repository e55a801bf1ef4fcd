package redis

import (
	"os"
	"testing"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store"
)

// pair starts a primary and a replica of it.
func pair(t *testing.T, args ...string) (primary, replica *servers.Redis) {
	t.Helper()
	primary, replica = startServer(t, args...), startServer(t, args...)
	mustDo(t, replica.ReplicaOf(primary))
	return primary, replica
}

// TestRestart: another run of the server may lack what it acknowledged.
func TestRestart(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*servers.Redis) error{"kill": (*servers.Redis).Kill, "stop": (*servers.Redis).Stop} {
		server := startServer(t)
		e := prepare(t, server, Config{})
		before := put(t, e, "a", "1")
		mustDo(t, end(server))
		if _, err := e.Read(t.Context(), nil, store.Page{}); err == nil {
			t.Errorf("%s: Read while the server is down: no error", name)
		}
		mustDo(t, server.Start())
		value, after := read(t, connect(t, server, Config{}), "a")
		if value != "1" || after.Lineage == before.Lineage || after.Position != before.Position {
			t.Errorf("%s: %q, %+v, want 1, and another lineage than %+v with the same position", name, value, after, before.Evidence)
		}
		if value, same := read(t, e, "a"); value != "1" || same.Lineage != after.Lineage {
			t.Errorf("%s: a handle from before has %+v, a new one %+v", name, same, after)
		}
	}
}

// TestThereAndBack: the first primary follows the promoted replica for a while, without what it had
// acknowledged last, is promoted again, and both forget all that they knew of it.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	one, two := pair(t, "--repl-backlog-ttl", "1")
	e := prepare(t, one, Config{Replicas: -1})
	put(t, e, "a", "1")
	waitFor(t, func() bool { n, _ := two.Do("HGET", "{randflake}:entries", "a"); return n == "1" })
	_, first := read(t, e, "a")
	lineages := map[string]string{first.Lineage: "first"}
	differs := func(when string, server *servers.Redis) {
		t.Helper()
		value, now := read(t, connect(t, server, Config{Replicas: -1}), "a")
		if value != "1" || lineages[now.Lineage] != "" {
			t.Errorf("%s: %q, lineage %q, which was there %s", when, value, now.Lineage, lineages[now.Lineage])
		}
		lineages[now.Lineage] = when
	}
	mustDo(t, two.ReplicaOf(nil))
	differs("after the failover", two)
	put(t, e, "a", "forgotten")
	mustDo(t, one.ReplicaOf(two))
	mustDo(t, one.ReplicaOf(nil))
	differs("after the failback", one)
	for _, server := range []*servers.Redis{one, two} {
		waitFor(t, func() bool { return info(server, "repl_backlog_active:0") && info(server, "second_repl_offset:-1") })
		differs("when Redis has forgotten", server)
	}
}

// TestLineageStays where nothing is lost, without any replica and with one that comes and goes.
func TestLineageStays(t *testing.T) {
	t.Parallel()
	one, two := pair(t, "--repl-backlog-ttl", "0")
	e := prepare(t, one, Config{Replicas: -1})
	_, first := read(t, e, "a")
	mustDo(t, two.Kill())
	waitFor(t, func() bool { return info(one, "connected_slaves:0") })
	put(t, e, "a", "1")
	mustDo(t, two.Start())
	mustDo(t, two.ReplicaOf(one))
	if _, now := read(t, e, "a"); now.Lineage != first.Lineage || now.Position != first.Position+1 {
		t.Errorf("%+v, want the lineage of %+v and one swap more", now, first)
	}
}

// TestOlderFiles: the position is lower, and the lineage another, when an older copy of the files is put back.
func TestOlderFiles(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	e := prepare(t, server, Config{})
	put(t, e, "a", "1")
	copied := t.TempDir()
	files := server.Dir() + "/appendonlydir"
	mustDo(t, os.CopyFS(copied, os.DirFS(files)))
	before := put(t, e, "a", "2")
	mustDo(t, server.Kill())
	mustDo(t, os.RemoveAll(files))
	mustDo(t, os.CopyFS(files, os.DirFS(copied)))
	mustDo(t, server.Start())
	value, after := read(t, connect(t, server, Config{}), "a")
	if value != "1" || after.Lineage == before.Lineage || after.Position >= before.Position {
		t.Errorf("%q, %+v, want the older copy, another lineage and a lower position than %+v", value, after, before.Evidence)
	}
}

// TestFlushed: nothing is left, and nothing is made anew but by Prepare.
func TestFlushed(t *testing.T) {
	server := startServer(t)
	e := prepare(t, server, Config{})
	before := put(t, e, "a", "1")
	mustDo(t, e.client.FlushAll(t.Context()).Err())
	_, err := e.Swap(t.Context(), nil, entry("a", "2"))
	wantError(t, "Swap", err, store.ErrNoStore)
	_, err = e.Read(t.Context(), nil, store.Page{})
	wantError(t, "Read", err, store.ErrNoStore)
	if n := e.client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys, want none", n)
	}
	mustDo(t, e.Prepare(t.Context()))
	if value, after := read(t, e, "a"); value != "" || after.Position >= before.Position {
		t.Errorf("%q, %+v, want nothing at a lower position than %+v", value, after, before.Evidence)
	}
}
