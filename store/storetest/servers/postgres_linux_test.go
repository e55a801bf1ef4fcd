package servers

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// query runs sql as the superuser and returns what psql prints.
func query(t *testing.T, p *Postgres, sql string) string {
	t.Helper()
	psql, err := postgresBinary("psql")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(psql, "-XAtqd", p.URL(), "-c", sql).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", sql, err, out)
	}
	return strings.TrimSpace(string(out))
}

func startPostgresForTest(t *testing.T, config map[string]string) *Postgres {
	t.Helper()
	p, err := StartPostgres(filepath.Join(t.TempDir(), "pg"), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	return p
}

// sharedMemory returns the identifiers of segments, and of each the process that made it.
func sharedMemory(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	makers := map[string]string{}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		makers[fields[1]] = fields[4]
	}
	return makers
}

// TestPostgresRestart: what was committed outlives both ways to end the server, which leaves no process and no shared
// memory behind, and keeps its port.
func TestPostgresRestart(t *testing.T) {
	p := startPostgresForTest(t, map[string]string{"work_mem": "3MB"})
	if got := query(t, p, "SHOW work_mem"); got != "3MB" {
		t.Errorf("work_mem is %s, want 3MB", got)
	}
	query(t, p, "CREATE TABLE t (n int)")
	port := p.Port()
	for i, end := range []func() error{p.Kill, p.Stop, p.Kill} {
		query(t, p, fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
		pid := p.process.Pid
		shared := sharedMemory(t)
		maps.DeleteFunc(shared, func(_, maker string) bool { return maker != strconv.Itoa(pid) })
		if len(shared) == 0 {
			t.Error("it shares no memory: the test shows nothing")
		}
		children, err := childrenOf(pid)
		if err != nil || len(children) == 0 {
			t.Fatalf("children %v, %v", children, err)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		for _, gone := range append(children, pid) {
			if state, _ := statOf(fmt.Sprintf("/proc/%d/stat", gone)); state != "" && state != "Z" {
				t.Errorf("process %d is still there, in state %s", gone, state)
			}
		}
		left := sharedMemory(t)
		for id := range shared {
			if left[id] != "" {
				t.Errorf("segment %s of shared memory is left", id)
			}
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if got := query(t, p, "SELECT count(*) FROM t"); got != "3" || p.Port() != port {
		t.Errorf("%s rows at port %d, want 3 at %d", got, p.Port(), port)
	}
	if sockets, _ := filepath.Glob(filepath.Join(p.Dir(), ".s.PGSQL.*[0-9]")); len(sockets) != 1 {
		t.Errorf("sockets in the directory: %v, want one", sockets)
	}
}

func TestPostgresWantsPassword(t *testing.T) {
	p := startPostgresForTest(t, nil)
	psql, err := postgresBinary("psql")
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{
		strings.Replace(p.URL(), p.password, "wrong", 1),
		fmt.Sprintf("postgres://postgres:wrong@/postgres?host=%s&port=%d", p.Dir(), p.Port()),
	} {
		if out, err := exec.Command(psql, "-XAtqd", url, "-c", "SELECT 1").CombinedOutput(); err == nil || !strings.Contains(string(out), "password authentication failed") {
			t.Errorf("wrong password: %v: %s", err, out)
		}
	}
}

func TestPostgresStandby(t *testing.T) {
	p := startPostgresForTest(t, nil)
	query(t, p, "CREATE TABLE t (n int)")
	standby, err := p.BaseBackup(filepath.Join(t.TempDir(), "standby"), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { standby.Kill() })
	if err := standby.Start(); err != nil {
		t.Fatal(err)
	}
	if got := query(t, standby, "SELECT pg_is_in_recovery()"); got != "t" {
		t.Errorf("in recovery: %s, want t", got)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	if got := query(t, standby, "INSERT INTO t VALUES (1); SELECT count(*) FROM t"); got != "1" {
		t.Errorf("%s rows in the promoted standby, want 1", got)
	}
}

func TestPostgresErrors(t *testing.T) {
	if _, err := StartPostgres(filepath.Join(t.TempDir(), "pg"), map[string]string{"no_such_setting": "x"}); err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("bad setting: error %v, want one that names it", err)
	}
	home := postgresHome
	defer func() { postgresHome = home }()
	postgresHome = t.TempDir()
	t.Setenv("PATH", t.TempDir())
	if _, err := StartPostgres(filepath.Join(t.TempDir(), "pg"), nil); err == nil || !strings.Contains(err.Error(), "make servers") {
		t.Errorf("no programs: error %v, want one that says how to install them", err)
	}
}

// TestPostgresStopsUnderClients: Stop does not wait until clients disconnect.
func TestPostgresStopsUnderClients(t *testing.T) {
	p := startPostgresForTest(t, nil)
	psql, err := postgresBinary("psql")
	if err != nil {
		t.Fatal(err)
	}
	client := exec.CommandContext(t.Context(), psql, "-XAtqd", p.URL(), "-c", "SELECT 'connected'", "-c", "SELECT pg_sleep(1000)")
	out, err := client.StdoutPipe()
	if err == nil {
		err = client.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanln(out, new(string)); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	client.Wait()
}

// TestPostgresOnTakenPort: another server that answers there is not taken for this one.
func TestPostgresOnTakenPort(t *testing.T) {
	p, other := startPostgresForTest(t, nil), startPostgresForTest(t, nil)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	p.port = other.port
	if err := p.Start(); err == nil || !strings.Contains(err.Error(), "Address already in use") {
		t.Errorf("error %v, want one about the address", err)
	}
}
