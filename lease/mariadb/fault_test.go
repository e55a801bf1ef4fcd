//go:build linux

package mariadb

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store"
)

// status returns a number that the server counts.
func status(t testing.TB, server *servers.MySQL, name string) int {
	t.Helper()
	_, count, _ := strings.Cut(do(t, server, "SHOW GLOBAL STATUS LIKE '"+name+"'"), "\t")
	n, err := strconv.Atoi(count)
	must(t, err)
	return n
}

// lock locks an entry for a transaction.
func lock(tx *sql.Tx, e *Engine, name string) error {
	var value []byte
	return tx.QueryRow("SELECT value FROM "+e.config.Table+" WHERE name = ? FOR UPDATE", name).Scan(&value)
}

func waitUntil(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited for a minute")
		}
	}
}

// later makes a call that is to take effect, and sends its error, or nil.
func later(t testing.TB, e *Engine, expect, put []store.Entry) <-chan error {
	done := make(chan error)
	go func() {
		a, err := e.Swap(t.Context(), expect, put)
		if err == nil && !a.Swapped {
			err = fmt.Errorf("not swapped: %+v", a)
		}
		done <- err
	}()
	return done
}

// TestDeadlock: a call that the server gives up for a deadlock is made again. The call holds "a" and waits for "b", the
// test's transaction the other way round; the server gives up the one that has changed less.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	e := prepared(t, newURL(server))
	put(t, e, "a", "1")
	put(t, e, "b", "1")
	tx, err := e.db.BeginTx(t.Context(), nil)
	must(t, err)
	for i := range 100 {
		_, err := tx.Exec("INSERT INTO "+e.config.Table+" (name, value, calls) VALUES (?, '', 0)", fmt.Sprintf("x/%d", i))
		must(t, err)
	}
	must(t, lock(tx, e, "b"))
	waits, deadlocks := status(t, server, "Innodb_row_lock_waits"), status(t, server, "Innodb_deadlocks")
	done := later(t, e, append(entry("a", "1"), entry("b", "1")...), append(entry("a", "2"), entry("b", "2")...))
	waitUntil(t, func() bool { return status(t, server, "Innodb_row_lock_waits") > waits })
	must(t, lock(tx, e, "a"))
	if n := status(t, server, "Innodb_deadlocks") - deadlocks; n == 0 {
		t.Error("there was no deadlock: the test shows nothing")
	}
	must(t, tx.Rollback())
	if err := <-done; err != nil {
		t.Errorf("Swap: %v", err)
	}
}
