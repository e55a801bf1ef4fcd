//go:build linux

package pgstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/randflake/randflake/store"
)

// TestStore opens and creates stores by URL.
func TestStore(t *testing.T) {
	where := newURL(shared) + "&space=numbers"
	if _, err := Open(t.Context(), where); !errors.Is(err, store.ErrNoStore) {
		t.Errorf("Open of nothing: %v, want ErrNoStore", err)
	}
	s, err := Create(t.Context(), where, store.ForNewSecret())
	must(t, err)
	must(t, s.Close())
	if _, err := Create(t.Context(), where); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create once more: %v, want ErrExist", err)
	}
	s, err = Open(t.Context(), where)
	must(t, err)
	if s.Name() != "numbers" {
		t.Errorf("the space is %q", s.Name())
	}
	must(t, s.Close())
	if _, err := s.Info(t.Context()); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Info after Close: %v, want ErrClosed", err)
	}
}

func TestNew(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), shared.URL())
	must(t, err)
	defer pool.Close()
	e, err := New(t.Context(), pool, Config{Schema: fmt.Sprintf("of_a_pool_%d", schemas.Add(1))})
	must(t, err)
	must(t, e.Prepare(t.Context()))
	put(t, e, "a", "1")
	must(t, e.Close())
	if _, err := e.Read(t.Context(), nil, store.Page{}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Read after Close: %v, want ErrClosed", err)
	}
	must(t, pool.Ping(t.Context()))
	if _, err := New(t.Context(), pool, Config{Schema: "a$$b"}); err == nil {
		t.Error("New with a bad schema: no error")
	}
}

// TestPrepareInParallel: many may make the schema at once.
func TestPrepareInParallel(t *testing.T) {
	where := newURL(shared)
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			e, err := connect(t.Context(), where)
			if err == nil {
				defer e.Close()
				err = e.Prepare(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	put(t, open(t, where), "a", "1")
}

// TestNoDeadlock: swaps of overlapping sets of entries, in any order, expected and put, only wait for each other.
func TestNoDeadlock(t *testing.T) {
	where := newURL(shared) + "&pool_max_conns=8"
	handles := []*Engine{prepared(t, where), open(t, where), open(t, where), open(t, where)}
	var swapped atomic.Int64
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			e := handles[i%len(handles)]
			for range 30 {
				var entries []store.Entry
				for _, name := range rand.Perm(6)[:4] {
					entries = append(entries, store.Entry{Name: fmt.Sprint(name), Value: []byte("x")})
				}
				a, err := e.Swap(t.Context(), entries[:2], entries[1:])
				if err == nil && !a.Swapped { // now it knows
					a, err = e.Swap(t.Context(), a.Named, entries[1:])
				}
				if err != nil {
					t.Error(err)
					return
				}
				if a.Swapped {
					swapped.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if swapped.Load() == 0 {
		t.Error("no swap took effect: the test shows nothing")
	}
}

// TestExpectingSharesTheLock: swaps that only expect an entry don't wait for each other, those that put it
// wait for them, and nobody waits for other entries.
func TestExpectingSharesTheLock(t *testing.T) {
	server := shared
	e := prepared(t, newURL(server))
	put(t, e, "meta", "m")
	tx, err := session(t, server).Begin(t.Context())
	must(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), "SELECT * FROM "+e.of("swap")+"('{meta}', '{m}', '{mine}', '{x}')")
	must(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a, err := e.Swap(ctx, entry("meta", "m"), entry("other", "y"))
	if err != nil || !a.Swapped {
		t.Fatalf("another that expects meta: %+v, %v", a, err)
	}
	var acknowledged atomic.Bool
	done := make(chan error, 1)
	go func() {
		_, err := e.Swap(t.Context(), nil, entry("meta", "n"))
		acknowledged.Store(true)
		done <- err
	}()
	waitForLock(t, server)
	if acknowledged.Load() {
		t.Error("meta was put while a swap expects it")
	}
	must(t, tx.Commit(t.Context()))
	must(t, <-done)
	wantValue(t, "in the end", e, "meta", "n")
}

// TestReadOneMoment: a read of many entries sees all that a swap put, or nothing of it, in names and page.
func TestReadOneMoment(t *testing.T) {
	e := prepared(t, newURL(shared))
	names := make([]string, store.MaxEntries)
	for i := range names {
		names[i] = fmt.Sprintf("%03d", i)
	}
	last := names[len(names)-1]
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if _, err := e.Swap(t.Context(), nil, append(entry(names[0], fmt.Sprint(n)), entry(last, fmt.Sprint(n))...)); err != nil {
				t.Error(err)
			}
		}
	})
	for seen := map[string]bool{}; len(seen) < 100 && !t.Failed(); {
		a, err := e.Read(t.Context(), names, store.Page{From: "0", To: "1", Limit: 9})
		must(t, err)
		first := string(a.Named[0].Value)
		if got := string(a.Named[len(names)-1].Value); got != first || len(a.Page) > 0 && (string(a.Page[0].Value) != first || string(a.Page[1].Value) != first) {
			t.Errorf("read %s and %s, on the page %s", first, got, a.Page)
		}
		seen[first] = true
	}
	stop()
	wg.Wait()
}

// A countedConn counts how often its user turns from reading to writing.
type countedConn struct {
	net.Conn
	trips   *atomic.Int64
	writing atomic.Bool
}

func (c *countedConn) Write(b []byte) (int, error) {
	if !c.writing.Swap(true) {
		c.trips.Add(1)
	}
	return c.Conn.Write(b)
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.writing.Store(false)
	return n, err
}

// counted returns an Engine that counts round trips.
func counted(t testing.TB, where string) (*Engine, *atomic.Int64) {
	t.Helper()
	trips := new(atomic.Int64)
	poolConfig, config, _, err := parseURL(where)
	must(t, err)
	// A stall of the test must not look like a cost.
	poolConfig.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	poolConfig.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &countedConn{Conn: conn, trips: trips}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), poolConfig)
	must(t, err)
	t.Cleanup(pool.Close)
	e, err := New(t.Context(), pool, config)
	must(t, err)
	return e, trips
}

// TestCost: a call is one round trip, and a swap one commit. Those are counted in the write-ahead log.
// A new value touches no index.
func TestCost(t *testing.T) {
	t.Parallel()
	server := ownServer(t, map[string]string{"autovacuum": "off"})
	where := newURL(server)
	put(t, prepared(t, where), "meta", "m")
	e, trips := counted(t, where)
	conn := session(t, server)
	_, err := conn.Exec(t.Context(), "CREATE EXTENSION pg_walinspect")
	must(t, err)
	position := func() (lsn string) {
		must(t, conn.QueryRow(t.Context(), "SELECT pg_current_wal_flush_lsn()::text").Scan(&lsn))
		return lsn
	}
	commits := func(from, to string) (commits, inserts int64) {
		if from != to {
			must(t, conn.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE resource_manager = 'Transaction' AND record_type = 'COMMIT'),
				count(*) FILTER (WHERE resource_manager = 'Btree') FROM pg_get_wal_records_info($1::pg_lsn, $2::pg_lsn)`, from, to).Scan(&commits, &inserts))
		}
		return commits, inserts
	}
	swap := func(meta, name, value string) func() error {
		return func() error { _, err := e.Swap(t.Context(), entry("meta", meta), entry(name, value)); return err }
	}
	for _, tt := range []struct {
		name            string
		commits, writes int64
		call            func() error
	}{
		{"new entry", 1, 1, swap("m", "a", "1")},
		{"new value", 1, 0, swap("m", "a", "2")},
		{"same value", 1, 0, swap("m", "a", "2")},
		{"not swapped", 1, 0, swap("n", "a", "3")},
		{"nothing to put", 1, 0, func() error { _, err := e.Swap(t.Context(), entry("meta", "m"), nil); return err }},
		{"read", 0, 0, func() error {
			_, err := e.Read(t.Context(), []string{"meta"}, store.Page{From: "a", To: "b", Limit: 9})
			return err
		}},
	} {
		before, from := trips.Load(), position()
		must(t, tt.call())
		if got := trips.Load() - before; got != 1 {
			t.Errorf("%s: %d round trips, want 1", tt.name, got)
		}
		if commits, writes := commits(from, position()); commits != tt.commits || writes != tt.writes {
			t.Errorf("%s: %d commits, %d writes of an index; want %d and %d", tt.name, commits, writes, tt.commits, tt.writes)
		}
	}
}

// TestSchemaNames: any name that can be quoted safely will do, and others are refused.
func TestSchemaNames(t *testing.T) {
	server := shared
	for _, name := range []string{"SELECT", "A", "a", "with-dash", strings.Repeat("x", 63)} {
		e := prepared(t, withSchema(server, name))
		put(t, e, "a", "1")
		must(t, open(t, withSchema(server, name)).Prepare(t.Context())) // finds it
		if got := value[int](t, server, "SELECT count(*) FROM pg_namespace WHERE nspname = $1", name); got != 1 {
			t.Errorf("%d schemas are called %s, want 1", got, name)
		}
	}
	for _, name := range []string{"a$$b", "1a", `a"b`, "a'b", "two\nlines", "line\n", strings.Repeat("x", 64), `a\`} {
		if _, err := DDL(name); err == nil {
			t.Errorf("DDL(%q): no error", name)
		}
		if _, err := Open(t.Context(), withSchema(server, name)); err == nil || errors.Is(err, store.ErrNoStore) {
			t.Errorf("Open with schema %q: %v, want an error about the name", name, err)
		}
	}
	if err := open(t, withSchema(server, "pg_x")).Prepare(t.Context()); err == nil {
		t.Error("Prepare with a schema of the server's own: no error")
	}
	if ddl, err := DDL(""); err != nil || !strings.Contains(ddl, `"randflake".entries`) || strings.Contains(ddl, "@") {
		t.Errorf("DDL: %v", err)
	}
}
