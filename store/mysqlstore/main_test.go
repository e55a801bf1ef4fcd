//go:build linux

package mysqlstore

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest/servers"
)

var (
	sharedDir string
	started   *servers.MySQL // by shared
	tables    atomic.Int64
)

// shared returns the server that tests share which leave it as it is. Each has a table of its own.
var shared = sync.OnceValues(func() (*servers.MySQL, error) {
	var err error
	started, err = servers.StartMySQL(filepath.Join(sharedDir, "mysql"), "--max-connections=500")
	return started, err
})

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mysqlstore")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sharedDir = dir
	code := m.Run()
	if started != nil {
		started.Kill()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func sharedServer(t testing.TB) *servers.MySQL {
	t.Helper()
	server, err := shared()
	must(t, err)
	return server
}

// ownServer starts a server that the test may kill and change.
func ownServer(t testing.TB, args ...string) *servers.MySQL {
	t.Helper()
	server, err := servers.StartMySQL(filepath.Join(t.TempDir(), "mysql"), args...)
	must(t, err)
	t.Cleanup(func() { server.Kill() })
	return server
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// do runs statements as root.
func do(t testing.TB, server *servers.MySQL, statements string) string {
	t.Helper()
	out, err := server.Do(statements)
	must(t, err)
	return out
}

// newURL returns where nothing is yet.
func newURL(server *servers.MySQL) string {
	return server.URL() + fmt.Sprintf("?table=test_%d", tables.Add(1))
}

// tableOf returns the table that a URL of newURL is about.
func tableOf(where string) string { return where[strings.Index(where, "=")+1:] }

// through returns where, by way of another address.
func through(t testing.TB, addr, where string) string {
	t.Helper()
	u, err := url.Parse(where)
	must(t, err)
	u.Host = addr
	return u.String()
}

// open returns an Engine.
func open(t testing.TB, where string) *Engine {
	t.Helper()
	e, _, err := connect(t.Context(), where)
	must(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

// prepared returns an Engine that holds nothing yet.
func prepared(t testing.TB, where string) *Engine {
	t.Helper()
	e := open(t, where)
	must(t, e.Prepare(t.Context()))
	return e
}

func entry(name, value string) []store.Entry {
	return []store.Entry{{Name: name, Value: []byte(value)}}
}

// put puts an entry whatever it was.
func put(t testing.TB, e *Engine, name, value string) store.Answer {
	t.Helper()
	a, err := e.Swap(t.Context(), nil, entry(name, value))
	if err != nil || !a.Swapped {
		t.Fatalf("Swap: %+v, %v", a, err)
	}
	return a
}

// read reads an entry.
func read(t testing.TB, e *Engine, name string) (string, store.Evidence) {
	t.Helper()
	a, err := e.Read(t.Context(), []string{name}, store.Page{})
	must(t, err)
	return string(a.Named[0].Value), a.Evidence
}
