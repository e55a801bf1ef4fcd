//go:build linux

package mysqlstore

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store/storetest"
)

// shared is the server of all tests that leave it as it is. Each has a table of its own.
var (
	shared *servers.MySQL
	tables atomic.Int64
)

func TestMain(m *testing.M) {
	os.Exit(servers.Share(m, &shared, func(dir string) (*servers.MySQL, error) {
		return servers.StartMySQL(filepath.Join(dir, "mysql"), "--max-connections=500")
	}))
}

var entry, put, read = storetest.Entry, storetest.Put, storetest.Get

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

// startProxy returns a proxy to a server.
func startProxy(t testing.TB, server *servers.MySQL) *servers.Proxy {
	t.Helper()
	proxy, err := servers.StartProxy(server.Addr())
	must(t, err)
	t.Cleanup(proxy.Close)
	return proxy
}
