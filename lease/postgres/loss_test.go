//go:build linux

package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
)

// TestRestoredDump: a dump that is restored in place of the original, in the original's database, has another
// lineage, also for sessions that knew that.
func TestRestoredDump(t *testing.T) {
	server := shared
	e := prepared(t, newURL(server))
	put(t, e, "a", "1")
	lineages := leasetest.Lineages{}
	lineages.WantNew(t, "original", e)
	file := filepath.Join(t.TempDir(), "dump")
	tool(t, "pg_dump", "-d", server.URL(), "-n", e.schema, "-f", file)
	run(t, server, "DROP SCHEMA "+e.schema+" CASCADE")
	tool(t, "psql", "-d", server.URL(), "-v", "ON_ERROR_STOP=1", "-f", file)
	lineages.WantNew(t, "restored", e)

	run(t, server, "CREATE TABLE copy AS TABLE "+e.of("entries"), "DROP TABLE "+e.of("entries"))
	if _, err := e.Read(t.Context(), nil, store.Page{}); !errors.Is(err, store.ErrNoStore) {
		t.Errorf("Read without the table: %v, want ErrNoStore", err)
	}
	ddl, err := DDL(e.schema)
	must(t, err)
	run(t, server, ddl, "INSERT INTO "+e.of("entries")+" TABLE copy", "DROP TABLE copy")
	lineages.WantNew(t, "table made anew", e)
}

// tool runs one of PostgreSQL's programs.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	paths, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no program %s: make servers installs it", name)
	}
	if out, err := exec.Command(paths[len(paths)-1], args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}

// TestFailover promotes a standby, which may lack what the primary acknowledged, and then goes back to the first
// server, made anew as a standby of the second: each has another lineage, and a plain restart changes none.
func TestFailover(t *testing.T) {
	t.Parallel()
	first := ownServer(t, nil)
	where := newURL(first)
	e := prepared(t, where)
	put(t, e, "a", "1")
	lineages := leasetest.Lineages{}
	lineages.WantNew(t, "first", e)
	_, before := read(t, e, "a")
	must(t, first.Stop())
	must(t, first.Start())
	if _, after := read(t, open(t, where), "a"); after.Lineage != before.Lineage || after.Position < before.Position {
		t.Errorf("after a restart: %+v, before: %+v", after, before)
	}

	promoted := func(primary *servers.Postgres) *servers.Postgres {
		standby, err := primary.BaseBackup(filepath.Join(t.TempDir(), "standby"), true)
		must(t, err)
		t.Cleanup(func() { standby.Kill() })
		must(t, standby.Start())
		onStandby := open(t, at(t, standby, where))
		wantRefused(t, "standby", at(t, standby, where), onStandby)
		other := open(t, withSchema(standby, "other"))
		if err := other.Prepare(t.Context()); !errors.Is(err, store.ErrUnsafe) {
			t.Errorf("Prepare on a standby: %v, want ErrUnsafe", err)
		}
		must(t, standby.Promote())
		lineages.WantNew(t, fmt.Sprintf("promoted after %d", len(lineages)), onStandby)
		return standby
	}
	second := promoted(first)
	must(t, first.Kill())
	promoted(second)
}

// TestOlderCopy puts the files of some time ago back, on the same timeline: the position is lower.
func TestOlderCopy(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	e := prepared(t, newURL(server))
	put(t, e, "a", "older")
	older, err := server.BaseBackup(filepath.Join(t.TempDir(), "older"), false)
	must(t, err)
	run(t, server, "SELECT pg_switch_wal()") // so that the log does not get as far again
	newer := put(t, e, "a", "newer")
	must(t, server.Kill())
	data := filepath.Join(server.Dir(), "data")
	must(t, os.RemoveAll(data))
	must(t, os.Rename(filepath.Join(older.Dir(), "data"), data))
	must(t, server.Start())
	got, seen := read(t, e, "a")
	if got != "older" || seen.Lineage != newer.Lineage || seen.Position >= newer.Position {
		t.Errorf("older copy: %q, %+v; want a lower position than %+v", got, seen, newer.Evidence)
	}
}
