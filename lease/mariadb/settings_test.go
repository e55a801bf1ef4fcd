//go:build linux

package mariadb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
)

// wantRefused checks that calls and Open are refused, naming the setting.
func wantRefused(t *testing.T, what, where string, e *Engine) {
	t.Helper()
	_, readErr := e.Read(t.Context(), nil, store.Page{})
	_, swapErr := e.Swap(t.Context(), nil, entry("a", "1"))
	_, openErr := Open(t.Context(), where)
	_, createErr := Create(t.Context(), where)
	for i, err := range []error{readErr, swapErr, openErr, createErr} {
		if !errors.Is(err, store.ErrUnsafe) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: call %d: error %v, want ErrUnsafe, and one that names it", what, i, err)
		}
	}
}

// TestUnsafeSettings: each is refused by name when it is in force, also if the engine was opened before.
func TestUnsafeSettings(t *testing.T) {
	t.Parallel()
	server := ownServer(t, "--log-bin", "--sync-binlog=1")
	where := newURL(server)
	e := prepared(t, where)
	for _, tt := range []struct{ what, set, reset string }{
		{"innodb_flush_log_at_trx_commit is 2, want 1", "SET GLOBAL innodb_flush_log_at_trx_commit = 2", "SET GLOBAL innodb_flush_log_at_trx_commit = 1"},
		{"innodb_flush_log_at_trx_commit is 0, want 1", "SET GLOBAL innodb_flush_log_at_trx_commit = 0", "SET GLOBAL innodb_flush_log_at_trx_commit = 1"},
		{"sync_binlog is 0, want 1", "SET GLOBAL sync_binlog = 0", "SET GLOBAL sync_binlog = 1"},
		{"read_only is ON, want OFF", "SET GLOBAL read_only = ON", "SET GLOBAL read_only = OFF"},
		{"engine of the table is Aria, want InnoDB", "ALTER TABLE @ ENGINE = Aria", "ALTER TABLE @ ENGINE = InnoDB"},
	} {
		do(t, server, strings.ReplaceAll(tt.set, "@", e.config.Table))
		wantRefused(t, tt.what, where, e)
		do(t, server, strings.ReplaceAll(tt.reset, "@", e.config.Table))
		must(t, e.Prepare(t.Context()))
		put(t, e, "a", "1")
	}
	do(t, server, "SET GLOBAL read_only = ON; CREATE USER app IDENTIFIED BY 'sesame'; GRANT ALL ON randflake.* TO app")
	wantRefused(t, "read", as(t, where, "app"), open(t, as(t, where, "app")))
}

// TestUnsafeServer: what can't be changed while the server runs.
func TestUnsafeServer(t *testing.T) {
	t.Parallel()
	server := ownServer(t, "--skip-innodb-doublewrite")
	where := newURL(server)
	do(t, server, "CREATE TABLE "+tableOf(where)+strings.ReplaceAll(createSQL, "\n", ""))
	wantRefused(t, "innodb_doublewrite is OFF, want ON", where, open(t, where))
}

// TestOddDefaults: the engine minds no other defaults of the server.
func TestOddDefaults(t *testing.T) {
	t.Parallel()
	server := ownServer(t, "--skip-autocommit", "--transaction-isolation=READ-UNCOMMITTED", "--log-bin", "--sync-binlog=1", "--binlog-format=STATEMENT",
		"--sql-mode=ANSI,NO_BACKSLASH_ESCAPES", "--default-storage-engine=Aria", "--character-set-server=utf32", "--default-time-zone=+05:30")
	leasetest.RunEngine(t, startOn(server))
}

// as returns where for another user, whose password is sesame.
func as(t testing.TB, where, user string) string {
	t.Helper()
	u, err := url.Parse(where)
	must(t, err)
	u.User = url.UserPassword(user, "sesame")
	return u.String()
}

// TestURLErrors: each says what is wrong, and none shows a password.
func TestURLErrors(t *testing.T) {
	server := shared
	u, err := url.Parse(server.URL())
	must(t, err)
	password, _ := u.User.Password()
	empty := filepath.Join(t.TempDir(), "ca")
	must(t, os.WriteFile(empty, nil, 0o600))
	for _, tt := range []struct{ url, want string }{
		{"app:" + password + "@tcp(db)/x", "want mysql://"},
		{"mysql://app:" + password + "@db/x?tabel=leases", `unknown parameter "tabel"`},
		{"mysql://app:" + password + "@db/x?recovery=yes", "recovery=yes: want recovery=trusted"},
		{"mysql://app:" + password + "@db/x?table=a-b", `table "a-b"`},
		{"mysql://app:" + password + "@db/x?ca=" + empty, "no certificate in PEM format"},
		{"mysql://app:1/" + password + "@db/x", "@ after the host"},
		{strings.Replace(server.URL(), password, password+"-not", 1), "Access denied"},
		{strings.Replace(server.URL(), "/randflake", "/nowhere", 1), "Unknown database"},
		{strings.Replace(server.URL(), server.Addr(), "127.0.0.1:1", 1), "connect"},
		{server.URL() + "?tls=true", "TLS"},
		{newURL(server), "no store"},
	} {
		for name, call := range map[string]func(context.Context, string, ...store.Option) (*store.Space, error){"Open": Open, "Create": Create} {
			if name == "Create" && tt.want == "no store" {
				continue
			}
			_, err := call(t.Context(), tt.url)
			var logged bytes.Buffer
			slog.New(slog.NewJSONHandler(&logged, nil)).Error("opening", "err", err)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s %s: error %v, want %q", name, strings.ReplaceAll(tt.url, password, "..."), err, tt.want)
			}
			if strings.Contains(fmt.Sprintf("%v %+v", err, err)+logged.String(), password) {
				t.Errorf("%s %s: the error shows the password", name, strings.ReplaceAll(tt.url, password, "..."))
			}
		}
	}
	if e := open(t, server.URL()); e.String() != `table "randflake_entries" in mysql://`+server.Addr()+"/randflake" {
		t.Errorf("String: %s", e)
	}
}
