//go:build linux

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store"
)

// TestUnsafeSettings: each is refused by name in each call, also if it came after the store was opened.
func TestUnsafeSettings(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	where := newURL(server)
	s, err := Create(t.Context(), where)
	must(t, err)
	must(t, s.Close())
	e := open(t, where)
	for _, tt := range []struct{ setting, value, names string }{
		{"fsync", "off", "fsync is off"},
		{"full_page_writes", "off", "full_page_writes is off"},
		{"default_transaction_read_only", "on", "default_transaction_read_only is on"},
		{"default_transaction_isolation", "repeatable read", "default_transaction_isolation is repeatable read"},
		{"default_transaction_isolation", "serializable", "default_transaction_isolation is serializable"},
	} {
		set(t, server, tt.setting, tt.value)
		e.pool.Reset()
		wantRefused(t, tt.names, where, e)
		set(t, server, tt.setting, value[string](t, server, "SELECT boot_val FROM pg_settings WHERE name = $1", tt.setting))
		e.pool.Reset()
		put(t, e, "a", "1")
	}
	run(t, server, "ALTER TABLE "+e.of("entries")+" SET UNLOGGED")
	wantRefused(t, "entries is not logged", where, e)
	run(t, server, "ALTER TABLE "+e.of("entries")+" SET LOGGED")
	put(t, e, "a", "1")
}

// set sets a setting, and returns when new sessions go by it.
func set(t *testing.T, server *servers.Postgres, name, value string) {
	t.Helper()
	run(t, server, "SET default_transaction_read_only = off", fmt.Sprintf("ALTER SYSTEM SET %s = '%s'", name, value), "SELECT pg_reload_conf()")
	waitUntil(t, server, fmt.Sprintf("SELECT reset_val = '%s' FROM pg_settings WHERE name = '%s'", value, name))
}

// wantRefused checks that calls and Open are refused, naming the setting.
func wantRefused(t *testing.T, what, where string, e *Engine) {
	t.Helper()
	_, readErr := e.Read(t.Context(), nil, store.Page{})
	_, swapErr := e.Swap(t.Context(), nil, entry("a", "1"))
	_, emptyErr := e.Swap(t.Context(), nil, nil)
	_, openErr := Open(t.Context(), where)
	for i, err := range []error{readErr, swapErr, emptyErr, openErr} {
		if !errors.Is(err, store.ErrUnsafe) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: call %d: error %v, want one that names it", what, i, err)
		}
	}
}

// TestRevision: functions of another revision are refused, and DDL brings them up to date.
func TestRevision(t *testing.T) {
	server := shared
	where := newURL(server)
	e := prepared(t, where)
	put(t, e, "a", "1")
	run(t, server, "COMMENT ON FUNCTION "+e.of("swap")+" IS '0'")
	for name, err := range map[string]error{"Open": func() error { _, err := Open(t.Context(), where); return err }(), "Prepare": e.Prepare(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "run what postgres.DDL returns") {
			t.Errorf("%s: error %v, want one about the revision", name, err)
		}
	}
	ddl, err := DDL(e.schema)
	must(t, err)
	run(t, server, ddl)
	wantValue(t, "up to date", open(t, where), "a", "1")
}

// TestURLErrors: each says what is wrong, and none shows a password.
func TestURLErrors(t *testing.T) {
	server := shared
	u, err := url.Parse(server.URL())
	must(t, err)
	password, _ := u.User.Password()
	for _, tt := range []struct{ url, want string }{
		{"host=db user=app password=" + password, "want postgres://"},
		{"postgres://app:" + password + "@db/x?shcema=leases", `unknown parameter "shcema"`},
		{"postgres://app:" + password + "@db/x?recovery=yes", "recovery=yes: want recovery=trusted"},
		{"postgres://app:" + password + "@db/x?schema=a$b", `schema "a$b"`},
		{"postgres://app:" + password + "@db/x?password=%ZZ" + password, "encoded"},
		{"postgres://app:1/" + password + "@db/x", "@ after the host"},
		{strings.Replace(server.URL(), password, password+"-not", 1), "password authentication failed"},
		{strings.Replace(server.URL(), fmt.Sprint(server.Port()), "1", 1), "connect"},
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
	if e := open(t, server.URL()); strings.Contains(e.String(), password) || !strings.Contains(e.String(), fmt.Sprint(server.Port())) {
		t.Errorf("String: %s", e)
	}
}
