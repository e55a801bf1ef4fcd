//go:build linux

package mariadb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
)

// at returns where the same table is on another server.
func at(server *servers.MySQL, where string) string {
	return server.URL() + "?table=" + tableOf(where)
}

// TestRestoredDump: what a dump made anew has another lineage, also for handles that knew the original, and
// a lower position.
func TestRestoredDump(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	e := prepared(t, newURL(server))
	first := put(t, e, "a", "1")
	if made := do(t, server, "SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_name = '"+e.config.Table+"'"); fmt.Sprint(first.Time.Unix()) <= made {
		t.Errorf("Swap at %v, in a table made in second %s: a dump restored in that second would not show", first.Time, made)
	}
	lineages := leasetest.Lineages{}
	lineages.WantNew(t, "original", e)
	dump, err := server.Dump()
	must(t, err)
	var last store.Answer
	for range 20 {
		last = put(t, e, "a", "2")
	}
	do(t, server, dump)
	lineages.WantNew(t, "restored", e)
	if swapped := put(t, e, "b", "1"); swapped.Position >= last.Position {
		t.Errorf("position %d after the dump was restored, %d before", swapped.Position, last.Position)
	}
	do(t, server, "DROP TABLE "+e.config.Table)
	if _, err := e.Read(t.Context(), nil, store.Page{}); !errors.Is(err, store.ErrNoStore) {
		t.Errorf("Read without the table: %v, want ErrNoStore", err)
	}
}

// TestFailover promotes a replica, and then the first server, which came back as a replica of the second: each has
// another lineage, and restarts change none. A replica is refused.
func TestFailover(t *testing.T) {
	t.Parallel()
	args := []string{"--log-bin", "--log-slave-updates", "--sync-binlog=1"}
	first, second := ownServer(t, args...), ownServer(t, args...)
	where := newURL(first)
	e := prepared(t, where)
	put(t, e, "a", "1")
	lineages := leasetest.Lineages{}
	lineages.WantNew(t, "first", e)
	before := put(t, e, "a", "1")
	for _, end := range []func() error{first.Stop, first.Kill} {
		must(t, end())
		must(t, first.Start())
		if after := put(t, e, "a", "1"); after.Lineage != before.Lineage || after.Position <= before.Position {
			t.Errorf("after a restart: %+v, before: %+v", after, before)
		}
	}
	for i, pair := range [][2]*servers.MySQL{{first, second}, {second, first}} {
		replica := pair[1]
		must(t, replica.ReplicaOf(pair[0]))
		if _, _, err := connect(t.Context(), at(replica, where)); !errors.Is(err, store.ErrUnsafe) || !strings.Contains(err.Error(), "Slaves_running") {
			t.Errorf("replica: error %v, want ErrUnsafe", err)
		}
		if replica == first {
			do(t, first, "SET GLOBAL read_only = OFF")
			if _, err := e.Read(t.Context(), nil, store.Page{}); !errors.Is(err, store.ErrUnsafe) || !strings.Contains(err.Error(), "Slaves_running") {
				t.Errorf("a primary that became a replica: error %v, want ErrUnsafe", err)
			}
		}
		must(t, replica.ReplicaOf(nil))
		lineages.WantNew(t, fmt.Sprint("promoted, ", i), open(t, at(replica, where)))
	}
	if _, seen := read(t, e, "a"); lineages[seen.Lineage] != "promoted, 1" {
		t.Errorf("a handle from before: lineage %s, want that of %v", seen.Lineage, lineages)
	}
}

// copyData copies a server's files.
func copyData(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
}

// TestOlderCopy puts the files of some time ago back: the position is lower, and MariaDB shows another lineage.
func TestOlderCopy(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	e := prepared(t, newURL(server))
	put(t, e, "a", "1")
	lineages := leasetest.Lineages{}
	lineages.WantNew(t, "original", e)
	must(t, server.Stop())
	older := filepath.Join(server.Dir(), "older")
	copyData(t, server.Data(), older)
	must(t, server.Start())
	var newer store.Answer
	for i := range 5 {
		newer = put(t, e, "a", fmt.Sprint(i))
	}
	must(t, server.Kill())
	must(t, os.RemoveAll(server.Data()))
	must(t, os.Rename(older, server.Data()))
	must(t, server.Start())
	lineages.WantNew(t, "copy", e)
	if seen := put(t, e, "a", "1"); seen.Position >= newer.Position {
		t.Errorf("older copy: position %d, %d before", seen.Position, newer.Position)
	}
}

// TestExpectedIsDurable: what a swap expected outlives a crash that follows at once, though who put it did not wait for
// the disk.
func TestExpectedIsDurable(t *testing.T) {
	t.Parallel()
	server := ownServer(t, "--innodb-flush-log-at-timeout=2700")
	e := prepared(t, newURL(server))
	crash := func(swap bool) string {
		put(t, e, "a", "1")
		do(t, server, "SET GLOBAL innodb_flush_log_at_trx_commit = 0; UPDATE "+e.config.Table+" SET value = 'lazy' WHERE name = 'a'; SET GLOBAL innodb_flush_log_at_trx_commit = 1")
		if swap {
			a, err := e.Swap(t.Context(), entry("a", "lazy"), entry("b", "1"))
			if err != nil || !a.Swapped {
				t.Errorf("Swap: %+v, %v", a, err)
			}
		}
		must(t, server.Kill())
		must(t, server.Start())
		got, _ := read(t, e, "a")
		return got
	}
	lost := false
	for range 10 { // now and then the server writes its log for other reasons
		if lost = crash(false) != "lazy"; lost {
			break
		}
	}
	if !lost {
		t.Error("the server does wait for the disk: the test shows nothing")
	}
	if got := crash(true); got != "lazy" {
		t.Errorf("%s after a crash, want what was expected", got)
	}
}
