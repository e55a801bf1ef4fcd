//go:build linux

package pgstore

import (
	"errors"
	"fmt"
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
		if err == nil || !strings.Contains(err.Error(), "run what pgstore.DDL returns") {
			t.Errorf("%s: error %v, want one about the revision", name, err)
		}
	}
	ddl, err := DDL(e.schema)
	must(t, err)
	run(t, server, ddl)
	wantValue(t, "up to date", open(t, where), "a", "1")
}

// TestPrivileges: a role that may create tables makes the table, and another role, with no more than the grants that DDL
// names, creates the store. So does one that owns the schema and may create no other.
func TestPrivileges(t *testing.T) {
	server := shared
	where := newURL(server)
	schema, err := SchemaOf(where)
	must(t, err)
	role := func(name string) string {
		run(t, server, "CREATE ROLE "+name+" LOGIN PASSWORD 'sesame'")
		u, err := url.Parse(where)
		must(t, err)
		u.User = url.UserPassword(name, "sesame")
		return u.String()
	}
	app := role(schema + "_app")
	wantHint := func(what string) {
		t.Helper()
		if _, err := Create(t.Context(), app); err == nil || !strings.Contains(err.Error(), "DDL") || errors.Is(err, store.ErrNoStore) {
			t.Errorf("%s: %v, want an error that says what to do", what, err)
		}
	}
	wantHint("may not create")
	ddl, err := DDL(schema)
	must(t, err)
	run(t, server, ddl)
	wantHint("may not use")
	granted := 0
	for line := range strings.Lines(ddl) {
		if _, grant, ok := strings.Cut(line, "--   GRANT "); ok {
			run(t, server, strings.ReplaceAll("GRANT "+grant, "TO role", "TO "+schema+"_app"))
			granted++
		}
	}
	s, err := Create(t.Context(), app)
	if err != nil || granted != 3 {
		t.Fatalf("Create with %d grants: %v", granted, err)
	}
	must(t, s.Close())
	put(t, open(t, app), "a", "1")

	where = newURL(server)
	schema, err = SchemaOf(where)
	must(t, err)
	owner := role(schema + "_owner")
	run(t, server, "CREATE SCHEMA "+schema+" AUTHORIZATION "+schema+"_owner")
	put(t, prepared(t, owner), "a", "1")
}
