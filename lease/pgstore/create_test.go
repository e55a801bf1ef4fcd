//go:build linux

package pgstore

import (
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

func recordOfNode0() lease.Record {
	return lease.Record{Owner: lease.Owner{1}, Version: 1, Start: noon.Unix(), HighWater: noon.Unix()}
}

func TestOpenWithoutStore(t *testing.T) {
	server := sharedServer(t)
	where := newURL(t, server)
	tables, err := DDL(strings.Trim(schemaOf(t, where), `"`))
	must(t, err)
	for _, made := range []string{"", tables} {
		run(t, server, made)
		_, err := Open(t.Context(), where)
		if !errors.Is(err, lease.ErrNoStore) || !strings.Contains(err.Error(), schemaOf(t, where)) || !strings.Contains(err.Error(), "randflake lease init") {
			t.Errorf("error %v, want ErrNoStore, the schema, and how to make one", err)
		}
	}
	if _, err := Open(t.Context(), strings.Replace(where, "/postgres?", "/nowhere?", 1)); !errors.Is(err, lease.ErrNoStore) {
		t.Errorf("no such database: error %v, want ErrNoStore", err)
	}
}

func TestCreate(t *testing.T) {
	server := sharedServer(t)
	clock, withClock := atNoon()
	where := newURL(t, server)
	s, err := Create(t.Context(), where, WithRules(testRules), withClock)
	must(t, err)
	defer s.Close()
	wantFloor(t, "new", s, 110)
	for range 2 {
		if _, err := Create(t.Context(), where, ForNewSecret()); !errors.Is(err, fs.ErrExist) {
			t.Errorf("Create over a store: %v, want ErrExist", err)
		}
	}
	if _, err := s.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoRange) || !strings.Contains(err.Error(), "try again from") {
		t.Errorf("Acquire too early: %v, want ErrNoRange that says when", err)
	}
	clock.Advance(45 * time.Second)
	if rec := acquire(t, open(t, where, withClock)); rec.Start != noon.Unix()+110 {
		t.Errorf("granted from %d, want the floor, %d", rec.Start, noon.Unix()+110)
	}
	if rules, _, err := s.Limits(t.Context()); err != nil || rules != testRules {
		t.Errorf("rules %v, %v; want %v", rules, err, testRules)
	}
	wantFloor(t, "for a new secret", create(t, newURL(t, server)), 0)
}

// TestCreateIsAtomic: one that fails leaves nothing behind.
func TestCreateIsAtomic(t *testing.T) {
	server := sharedServer(t)
	for now, want := range map[int64]string{0: "before the format's epoch", randflake.MaxTimestamp: randflake.ErrEndOfLife.Error()} {
		where := newURL(t, server)
		if _, err := Create(t.Context(), where, WithClock(leasetest.NewClock(time.Unix(now, 0)).Now)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Create at %d: %v, want %q", now, err, want)
		}
		if value[int](t, server, "SELECT count(*) FROM pg_namespace WHERE quote_ident(nspname) = $1", strings.Trim(schemaOf(t, where), `"`)) != 0 {
			t.Errorf("at %d: a schema was left", now)
		}
	}
}

// TestCreateInParallel: of many at once one creates the store, and OrCreate lets all have it.
func TestCreateInParallel(t *testing.T) {
	server := sharedServer(t)
	where, shared := newURL(t, server), newURL(t, server)
	var mu sync.Mutex
	made, incarnations := 0, make(map[string]bool)
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			s, err := Create(t.Context(), where)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made++
				s.Close()
			} else if !errors.Is(err, fs.ErrExist) {
				t.Errorf("Create: %v, want ErrExist", err)
			}
		})
		wg.Go(func() {
			s, err := Open(t.Context(), shared, OrCreate(), WithRules(testRules))
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			defer s.Close()
			a, err := s.meta(t.Context(), "test")
			mu.Lock()
			defer mu.Unlock()
			incarnations[strings.ReplaceAll(a.Incarnation, "-", "")] = true
			incarnations[strings.ReplaceAll(s.sighting().incarnation, "-", "")] = true
			if err != nil || a.NotBefore == 0 {
				t.Errorf("made by OrCreate: floor %d, %v; want one", a.NotBefore, err)
			}
		})
	}
	wg.Wait()
	if made != 1 || len(incarnations) != 1 {
		t.Errorf("%d of 12 calls created the store, and OrCreate made %d, want 1 and 1", made, len(incarnations))
	}
}

func TestNew(t *testing.T) {
	server := sharedServer(t)
	where := newURL(t, server)
	create(t, where)
	pool, err := pgxpool.New(t.Context(), server.URL())
	must(t, err)
	defer pool.Close()
	config := Config{Schema: strings.Trim(schemaOf(t, where), `"`)}
	s, err := New(t.Context(), pool, config)
	must(t, err)
	acquire(t, s)
	must(t, s.Close())
	must(t, pool.Ping(t.Context()))
	if _, err := New(t.Context(), nil, config); err == nil {
		t.Error("New without a pool: no error")
	}
	if s, err := New(t.Context(), pool, Config{Schema: "no_such_schema"}); !errors.Is(err, lease.ErrNoStore) || s != nil {
		t.Errorf("New without a store: %v, %v; want ErrNoStore", s, err)
	}
}

func TestOptions(t *testing.T) {
	for name, opts := range map[string][]Option{
		"nil":        {nil},
		"nil clock":  {WithClock(nil)},
		"rules":      {WithRules(testRules)},
		"new secret": {ForNewSecret(), OrCreate()},
		"no rules":   {OrCreate(), WithRules(lease.Rules{})},
	} {
		if _, err := Open(t.Context(), "postgres://nowhere.invalid/", opts...); err == nil || strings.Contains(err.Error(), "nowhere") {
			t.Errorf("%s: error %v, want one about the option", name, err)
		}
	}
	if _, err := Create(t.Context(), "postgres://nowhere.invalid/", nil); err == nil || strings.Contains(err.Error(), "nowhere") {
		t.Errorf("Create: error %v, want one about the option", err)
	}
}

func TestClosed(t *testing.T) {
	s := create(t, newURL(t, sharedServer(t)))
	held := acquire(t, s)
	must(t, s.Close())
	must(t, s.Close())
	_, acquireErr := s.Acquire(t.Context(), oneMinute)
	_, renewErr := s.Renew(t.Context(), held, time.Minute)
	_, lookupErr := s.Lookup(t.Context(), held)
	_, listErr := s.List(t.Context())
	_, _, limitsErr := s.Limits(t.Context())
	for _, err := range []error{acquireErr, renewErr, lookupErr, listErr, limitsErr, s.Release(t.Context(), held, noon), s.Distrust(t.Context())} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
	}
}

// TestSchemaNames: any name that can be quoted safely will do, and others are refused.
func TestSchemaNames(t *testing.T) {
	server := sharedServer(t)
	for _, name := range []string{`we"ird 'na.me`, "SELECT", "größe", `a"."b`, "%s@schema"} {
		s := create(t, withSchema(server.URL(), name))
		acquire(t, s)
		_, err := s.List(t.Context())
		must(t, err)
		open(t, withSchema(server.URL(), name))
		if got := value[int](t, server, "SELECT count(*) FROM pg_namespace WHERE nspname = $1", name); got != 1 {
			t.Errorf("%d schemas are called %s, want 1", got, name)
		}
	}
	for _, name := range []string{"a$randflake$b", "pg_store", "two\nlines", "nul\x00", strings.Repeat("x", 64), "\xff"} {
		if _, err := DDL(name); err == nil {
			t.Errorf("DDL(%q): no error", name)
		}
		if _, err := Open(t.Context(), withSchema(server.URL(), name)); err == nil || errors.Is(err, lease.ErrNoStore) {
			t.Errorf("Open with schema %q: %v, want an error about the name", name, err)
		}
	}
	if ddl, err := DDL(""); err != nil || !strings.Contains(ddl, `"randflake".meta`) || strings.Contains(ddl, "@") {
		t.Errorf("DDL of the default schema: %v", err)
	}
}

// TestCorrupt: rows that make no sense are refused, which takes somebody who drops the constraints
// first.
func TestCorrupt(t *testing.T) {
	server := sharedServer(t)
	for _, damage := range []string{
		"UPDATE %.ranges SET version = -1",
		"UPDATE %.ranges SET last_node = 200000",
		"UPDATE %.ranges SET high_water = start - 2",
		"UPDATE %.ranges SET start = 5",
		"UPDATE %.ranges SET owner = '00000000000000000000000000000000'",
		"INSERT INTO %.ranges SELECT 1, 3, owner, 1, start, high_water FROM %.ranges",
		"UPDATE %.meta SET max_ttl = 0",
		"UPDATE %.meta SET max_ttl = 9223372036854775807",
		"UPDATE %.meta SET not_before = -5",
	} {
		where := newURL(t, server)
		schema := schemaOf(t, where)
		s := create(t, where)
		_, err := s.Acquire(t.Context(), lease.Request{Nodes: 2, TTL: time.Minute})
		must(t, err)
		damage = strings.ReplaceAll(damage, "%", schema)
		run(t, server, `DO $$ DECLARE c record; BEGIN
			FOR c IN SELECT conrelid::regclass AS t, conname FROM pg_constraint WHERE contype IN ('c', 'x') AND connamespace = '`+schema+`'::regnamespace LOOP
				EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.t, c.conname);
			END LOOP; END $$`, damage)
		if strings.Contains(damage, "meta") {
			_, err = Open(t.Context(), where)
		} else {
			_, err = s.List(t.Context())
		}
		if !errors.Is(err, lease.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", damage, err)
		}
	}
	where := newURL(t, server)
	s := create(t, where)
	held := acquire(t, s)
	run(t, server, "ALTER TABLE "+schemaOf(t, where)+".ranges DROP CONSTRAINT ranges_check1", "UPDATE "+schemaOf(t, where)+".ranges SET start = 5")
	if _, err := s.Lookup(t.Context(), held); !errors.Is(err, lease.ErrCorrupt) {
		t.Errorf("Lookup: %v, want ErrCorrupt", err)
	}
}

// TestConstraints: the tables themselves refuse what makes no sense.
func TestConstraints(t *testing.T) {
	server := sharedServer(t)
	where := newURL(t, server)
	acquire(t, create(t, where))
	for _, statement := range []string{
		"UPDATE %.ranges SET first_node = -1",
		"UPDATE %.ranges SET first_node = 1",
		"UPDATE %.ranges SET last_node = 131072",
		"UPDATE %.ranges SET version = 0",
		"UPDATE %.ranges SET start = 1729999999",
		"UPDATE %.ranges SET high_water = start - 2",
		"UPDATE %.ranges SET high_water = 2803741824",
		"INSERT INTO %.ranges VALUES (1, 2, NULL, 1, 1767268800, 1767268800), (2, 3, NULL, 1, 1767268800, 1767268800)",
		"UPDATE %.meta SET max_ttl = 0",
		"UPDATE %.meta SET not_before = -1",
		"INSERT INTO %.meta SELECT false, incarnation, max_ttl, max_skew, not_before, place, timeline, ranges FROM %.meta",
	} {
		_, err := session(t, server).Exec(t.Context(), strings.ReplaceAll(statement, "%", schemaOf(t, where)))
		if server := new(pgconn.PgError); !errors.As(err, &server) || !strings.HasPrefix(server.Code, "23") {
			t.Errorf("%s: %v, want a constraint", statement, err)
		}
	}
}

// TestCreateOverMetaMadeAnew: a handle that makes a lost meta anew may be faster than Create.
func TestCreateOverMetaMadeAnew(t *testing.T) {
	server := sharedServer(t)
	where := newURL(t, server)
	s := create(t, where)
	meta := s.names.of("meta")
	run(t, server, "CREATE TABLE "+meta+"_copy AS TABLE "+meta, "DELETE FROM "+meta)
	tx, err := session(t, server).Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), "INSERT INTO "+meta+" TABLE "+meta+"_copy")
	must(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := Create(t.Context(), where, ForNewSecret())
		done <- err
	}()
	waitForLock(t, session(t, server))
	must(t, tx.Commit(t.Context()))
	if err := <-done; !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create: %v, want ErrExist", err)
	}
}
