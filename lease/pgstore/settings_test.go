//go:build linux

package pgstore

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake/internal/engines"
)

// wantRefused checks that all calls and Open are refused, naming the setting.
func wantRefused(t *testing.T, what, where string, s *Store) {
	t.Helper()
	_, acquireErr := s.Acquire(t.Context(), oneMinute)
	_, renewErr := s.Renew(t.Context(), recordOfNode0(), time.Minute)
	_, lookupErr := s.Lookup(t.Context(), recordOfNode0())
	releaseErr := s.Release(t.Context(), recordOfNode0(), noon)
	distrustErr := s.Distrust(t.Context())
	_, openErr := Open(t.Context(), where)
	for i, err := range []error{acquireErr, renewErr, lookupErr, releaseErr, distrustErr, openErr} {
		if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: call %d: error %v, want one that names it", what, i, err)
		}
	}
}

// TestUnsafeSettings: each is refused by name when it is in force, also if the store was opened before.
func TestUnsafeSettings(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	where := newURL(t, server)
	s := create(t, where)
	schema := schemaOf(t, where)
	for _, tt := range []struct{ names, set, reset string }{
		{"fsync is off: set it to on", "ALTER SYSTEM SET fsync = off", "ALTER SYSTEM RESET fsync"},
		{"full_page_writes is off: set it to on", "ALTER SYSTEM SET full_page_writes = off", "ALTER SYSTEM RESET full_page_writes"},
		{"table " + strings.Trim(schema, `"`) + ".ranges is not logged", "ALTER TABLE %.ranges SET UNLOGGED", "ALTER TABLE %.ranges SET LOGGED"},
		{"table " + strings.Trim(schema, `"`) + ".meta is not logged", "ALTER TABLE %.meta SET UNLOGGED", "ALTER TABLE %.meta SET LOGGED"},
		{"default_transaction_read_only is on: set it to off", "ALTER SYSTEM SET default_transaction_read_only = on", "ALTER SYSTEM RESET default_transaction_read_only"},
		{"default_transaction_isolation is repeatable read: set it to 'read committed'", "ALTER SYSTEM SET default_transaction_isolation = 'repeatable read'", "ALTER SYSTEM RESET default_transaction_isolation"},
		{"default_transaction_isolation is serializable: set it to 'read committed'", "ALTER SYSTEM SET default_transaction_isolation = 'serializable'", "ALTER SYSTEM RESET default_transaction_isolation"},
	} {
		change(t, server, strings.ReplaceAll(tt.set, "%", schema))
		s.pool.Reset()
		wantRefused(t, tt.names, where, s)
		change(t, server, strings.ReplaceAll(tt.reset, "%", schema))
		s.pool.Reset()
		acquire(t, s)
	}
}

// change runs a statement, and returns when new sessions go by it.
func change(t *testing.T, server *engines.Postgres, statement string) {
	t.Helper()
	run(t, server, "SET default_transaction_read_only = off", statement, "SELECT pg_reload_conf()")
	name, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(statement, "ALTER SYSTEM SET "), "ALTER SYSTEM RESET "), " = ")
	if strings.HasPrefix(statement, "ALTER TABLE") {
		return
	}
	want := strings.Trim(rest, "'")
	if !ok {
		want = value[string](t, server, "SELECT boot_val FROM pg_settings WHERE name = $1", name)
	}
	for deadline := time.Now().Add(time.Minute); value[string](t, server, "SHOW "+name) != want; {
		if time.Now().After(deadline) {
			t.Fatalf("%s has no effect", statement)
		}
	}
}

// A fakeServer answers the first question of examine.
type fakeServer struct {
	version int
	standby bool
}

func (f fakeServer) QueryRow(context.Context, string, ...any) pgx.Row { return f }

func (f fakeServer) Scan(dest ...any) error {
	*dest[0].(*int), *dest[1].(*bool), *dest[2].(*bool) = f.version, f.standby, false
	return nil
}

func TestServerVersion(t *testing.T) {
	s := &Store{}
	if _, err := s.examine(t.Context(), fakeServer{version: 140011}); err == nil || !strings.Contains(err.Error(), "version 14.11: want 15 or later") {
		t.Errorf("version 14: error %v", err)
	}
	if _, err := s.examine(t.Context(), fakeServer{version: 150000}); err != nil {
		t.Errorf("version 15: %v", err)
	}
}

// TestRevision: functions of another revision are refused, with the way out.
func TestRevision(t *testing.T) {
	server := sharedServer(t)
	for there, want := range map[int]string{revision - 1: "run what pgstore.DDL returns", revision + 1: "newer version"} {
		where := newURL(t, server)
		create(t, where)
		schema := schemaOf(t, where)
		run(t, server, fmt.Sprintf("CREATE OR REPLACE FUNCTION %s.revision() RETURNS integer LANGUAGE sql AS 'SELECT %d'", schema, there))
		if _, err := Open(t.Context(), where); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("revision %d: error %v, want %q", there, err, want)
		}
		ddl, err := DDL(strings.Trim(schema, `"`))
		must(t, err)
		run(t, server, ddl)
		acquire(t, open(t, where))
	}
}

// TestPrivileges: who may create makes the tables, and another role, with no more than the grants
// that DDL names, creates the store and leases nodes.
func TestPrivileges(t *testing.T) {
	server := sharedServer(t)
	where := newURL(t, server)
	schema := strings.Trim(schemaOf(t, where), `"`)
	ddl, err := DDL(schema)
	must(t, err)
	role := schema + "_app"
	run(t, server, "CREATE ROLE "+role+" LOGIN PASSWORD 'sesame'")
	u, err := url.Parse(where)
	must(t, err)
	u.User = url.UserPassword(role, "sesame")

	if _, err := Create(t.Context(), u.String()); err == nil || !strings.Contains(err.Error(), "CREATE on the database") || !strings.Contains(err.Error(), "pgstore.DDL") {
		t.Errorf("Create without privileges: %v, want an error that says which", err)
	}
	run(t, server, ddl)
	if _, err := Create(t.Context(), u.String()); err == nil || !strings.Contains(err.Error(), "grant USAGE") {
		t.Errorf("Create without privileges on the schema: %v, want an error that says which", err)
	}
	granted := 0
	for line := range strings.Lines(ddl) {
		if _, grant, ok := strings.Cut(line, "--   GRANT "); ok {
			run(t, server, strings.ReplaceAll("GRANT "+grant, "TO role", "TO "+role))
			granted++
		}
	}
	if granted != 3 {
		t.Fatalf("DDL names %d grants, want 3", granted)
	}
	s := create(t, u.String())
	held := acquire(t, s)
	renewed, err := s.Renew(t.Context(), held, time.Minute)
	must(t, err)
	_, err = s.Lookup(t.Context(), held)
	must(t, err)
	must(t, s.Release(t.Context(), renewed, time.Unix(held.Start, 0)))
	must(t, s.Distrust(t.Context()))
	_, err = s.List(t.Context())
	must(t, err)
	open(t, u.String())
}
