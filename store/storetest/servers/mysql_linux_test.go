package servers

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func startMySQLForTest(t *testing.T, args ...string) *MySQL {
	t.Helper()
	m, err := StartMySQL(filepath.Join(t.TempDir(), "mysql"), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Kill() })
	return m
}

func doMySQL(t *testing.T, m *MySQL, want, statements string) {
	t.Helper()
	if got, err := m.Do(statements); err != nil || got != want {
		t.Errorf("%s: %q, %v; want %q", statements, got, err, want)
	}
}

// TestMySQLRestart: what was committed outlives both ways to end the server, which keeps its port and
// heeds its arguments; a dump makes it anew.
func TestMySQLRestart(t *testing.T) {
	m := startMySQLForTest(t, "--sort-buffer-size=1048576")
	doMySQL(t, m, "1048576", "SELECT @@sort_buffer_size")
	doMySQL(t, m, "", "CREATE TABLE t (n int)")
	addr := m.Addr()
	for i, end := range []func() error{m.Kill, m.Stop} {
		doMySQL(t, m, "", fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if _, err := net.Dial("tcp", addr); err == nil {
			t.Error("the server answers after its end")
		}
		if err := m.Start(); err != nil {
			t.Fatal(err)
		}
	}
	doMySQL(t, m, "2", "SELECT count(*) FROM t")
	dump, err := m.Dump()
	if err != nil {
		t.Fatal(err)
	}
	doMySQL(t, m, "", "DROP TABLE t")
	doMySQL(t, m, "", dump)
	doMySQL(t, m, "2", "SELECT count(*) FROM t")
	if m.Addr() != addr || !strings.HasSuffix(m.URL(), "@"+addr+"/randflake") {
		t.Errorf("address %s, URL %s; want %s", m.Addr(), m.URL(), addr)
	}
}

// TestMySQLReplica follows a primary, takes over, and is followed by the server that was the primary.
func TestMySQLReplica(t *testing.T) {
	args := []string{"--log-bin", "--log-slave-updates"}
	a, b := startMySQLForTest(t, args...), startMySQLForTest(t, args...)
	doMySQL(t, a, "", "CREATE TABLE t (n int); INSERT INTO t VALUES (1)")
	for _, pair := range [][2]*MySQL{{a, b}, {b, a}} {
		if err := pair[1].ReplicaOf(pair[0]); err != nil {
			t.Fatal(err)
		}
		doMySQL(t, pair[1], "1\t1", "SELECT n, @@read_only FROM t ORDER BY n DESC LIMIT 1")
		if err := pair[1].ReplicaOf(nil); err != nil {
			t.Fatal(err)
		}
		doMySQL(t, pair[1], "0", "INSERT INTO t VALUES (0); SELECT @@read_only")
	}
	doMySQL(t, a, "3", "SELECT count(*) FROM t")
}

func TestMySQLErrors(t *testing.T) {
	startMySQLForTest(t)
	if _, err := StartMySQL(filepath.Join(t.TempDir(), "mysql"), "--no-such-setting"); err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("bad argument: error %v, want one that names it", err)
	}
	home := mysqlHome
	defer func() { mysqlHome = home }()
	mysqlHome = t.TempDir()
	t.Setenv("PATH", t.TempDir())
	if _, err := StartMySQL(filepath.Join(t.TempDir(), "mysql")); err == nil || !strings.Contains(err.Error(), "make servers") {
		t.Errorf("no programs: error %v, want one that says how to install them", err)
	}
}

// TestMySQLPause: a paused server answers nothing, and everything once it goes on.
func TestMySQLPause(t *testing.T) {
	m := startMySQLForTest(t)
	if err := m.Pause(); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := m.Do("SELECT 1")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Errorf("a paused server answers: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := m.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestMySQLOnTakenPort: another server that answers there is not taken for this one.
func TestMySQLOnTakenPort(t *testing.T) {
	m := startMySQLForTest(t)
	if err := m.Stop(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", m.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := m.Start(); err == nil || !strings.Contains(err.Error(), "Address already in use") {
		t.Errorf("error %v, want one about the address", err)
	}
}
