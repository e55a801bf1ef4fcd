//go:build linux

package pgstore

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/engines"
	"github.com/randflake/randflake/lease"
)

// wantLoss checks that an Acquire at noon notices a loss, sets the floor and grants from there on.
func wantLoss(t *testing.T, what string, s *Store) {
	t.Helper()
	if rec, err := s.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("%s: Acquire: %+v, %v; want ErrNoRange until the floor is near", what, rec, err)
	}
	wantFloor(t, what, s, 110)
}

// copyData copies a server's data while it is down.
func copyData(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("sh", "-c", `rm -rf "$2" && cp -a "$1" "$2"`, "sh", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestOlderCopy puts the files of an hour ago back. Handles that saw more notice, each by itself; the
// newest lease is lost, and nothing is granted that it may have used.
func TestOlderCopy(t *testing.T) {
	t.Parallel()
	server := ownServer(t, nil)
	clock, withClock := atNoon()
	where := newURL(t, server)
	s := create(t, where, withClock)
	acquire(t, s)
	data, older := filepath.Join(server.Dir(), "data"), filepath.Join(server.Dir(), "older")
	must(t, server.Stop())
	copyData(t, data, older)
	must(t, server.Start())
	s = open(t, where, withClock)
	other := open(t, where, withClock)
	run(t, server, "SELECT pg_switch_wal()") // so that the log does not get as far again
	acquire(t, other)
	held := acquire(t, s)

	must(t, server.Kill())
	copyData(t, older, data)
	must(t, server.Start())
	fresh := open(t, where, withClock)
	wantFloor(t, "before anybody noticed", fresh, 0)
	if _, err := s.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoRange) {
		_, err = s.Acquire(t.Context(), oneMinute) // not on the old connection
		if !errors.Is(err, lease.ErrNoRange) {
			t.Fatalf("Acquire after the older copy was put back: %v, want ErrNoRange", err)
		}
	}
	wantFloor(t, "noticed by the position", fresh, 110)

	clock.Advance(15 * time.Second)
	wantFloorAfter := func(what string, want int64, call func() error) {
		t.Helper()
		call()
		call() // not on the old connection
		wantFloor(t, what, fresh, want)
	}
	wantFloorAfter("noticed once by each handle", 110, func() error { _, err := s.Acquire(t.Context(), oneMinute); return err })
	wantFloorAfter("the record is older than the floor", 110, func() error { _, err := s.Renew(t.Context(), held, time.Minute); return err })
	wantFloorAfter("noticed by the other handle too", 125, func() error { _, err := other.Lookup(t.Context(), held); return err })
	clock.Advance(60 * time.Second)
	for _, handle := range []*Store{s, other, fresh} {
		rec, err := handle.Acquire(t.Context(), lease.Request{Nodes: 1, TTL: time.Second})
		if err != nil || rec.Start != noon.Unix()+125 {
			t.Errorf("granted %+v, %v; want a start at the floor, %d", rec, err, noon.Unix()+125)
		}
	}
	if _, err := s.Renew(t.Context(), held, time.Minute); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew of a lease that was forgotten: %v, want ErrLost", err)
	}
}

// TestRecordWentBack: a handle that saw nothing before, but whose caller holds a lease, notices by the
// record that it is older or gone.
func TestRecordWentBack(t *testing.T) {
	server := sharedServer(t)
	calls := map[string]func(*Store, lease.Record) error{
		"Renew":   func(s *Store, held lease.Record) error { _, err := s.Renew(t.Context(), held, time.Minute); return err },
		"Release": func(s *Store, held lease.Record) error { return s.Release(t.Context(), held, noon) },
		"Lookup": func(s *Store, held lease.Record) error {
			rec, err := s.Lookup(t.Context(), held)
			if err == nil && rec.Version >= held.Version {
				t.Errorf("Lookup: %+v, want an older version than %d", rec, held.Version)
			}
			return err
		},
	}
	for name, call := range calls {
		for damage, gone := range map[string]bool{"UPDATE %.ranges SET version = version - 1": false, "DELETE FROM %.ranges": true} {
			clock, withClock := atNoon()
			where := newURL(t, server)
			s := create(t, where, withClock)
			held, err := s.Renew(t.Context(), acquire(t, s), time.Minute)
			must(t, err)
			run(t, server, strings.ReplaceAll(damage, "%", schemaOf(t, where)))
			fresh := open(t, where, withClock)
			err = call(fresh, held)
			if found := name == "Lookup" && !gone; found && err != nil || !found && !errors.Is(err, lease.ErrLost) {
				t.Errorf("%s, gone %v: error %v", name, gone, err)
			}
			wantFloor(t, name, fresh, 110)
			clock.Advance(10 * time.Second)
			call(fresh, held)
			wantFloor(t, name+" again", fresh, 110)
		}
	}
}

// TestRecordsDeleted: a handle that never saw them notices when it is about to grant their nodes.
func TestRecordsDeleted(t *testing.T) {
	server := sharedServer(t)
	for _, deletion := range []string{"DELETE FROM %.ranges WHERE first_node = 1", "TRUNCATE %.ranges"} {
		_, withClock := atNoon()
		where := newURL(t, server)
		s := create(t, where, withClock)
		for range 3 {
			acquire(t, s)
		}
		run(t, server, strings.ReplaceAll(deletion, "%", schemaOf(t, where)))
		wantLoss(t, deletion, open(t, where, withClock))
	}
}

// TestMetaDeleted: who has seen the store makes the row anew, and a new handle finds no store.
func TestMetaDeleted(t *testing.T) {
	server := sharedServer(t)
	_, withClock := atNoon()
	where := newURL(t, server)
	s := create(t, where, withClock)
	other := open(t, where, withClock)
	held := acquire(t, s)
	run(t, server, "DELETE FROM "+schemaOf(t, where)+".meta")
	if _, err := Open(t.Context(), where); !errors.Is(err, lease.ErrNoStore) {
		t.Errorf("Open: %v, want ErrNoStore", err)
	}
	if _, err := Create(t.Context(), where, ForNewSecret()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create over records: %v, want ErrExist", err)
	}
	wantLoss(t, "meta deleted", s)
	if _, err := s.Renew(t.Context(), held, time.Minute); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew of a lease from before: %v, want ErrLost", err)
	}
	if rules, _, err := open(t, where).Limits(t.Context()); err != nil || rules != testRules {
		t.Errorf("rules made anew: %v, %v; want %v", rules, err, testRules)
	}
	wantLoss(t, "another incarnation", other)
}

// TestSchemaDropped: no handle makes the tables anew.
func TestSchemaDropped(t *testing.T) {
	server := sharedServer(t)
	_, withClock := atNoon()
	where := newURL(t, server)
	s := create(t, where, withClock)
	held := acquire(t, s)
	run(t, server, "DROP SCHEMA "+schemaOf(t, where)+" CASCADE")
	_, acquireErr := s.Acquire(t.Context(), oneMinute)
	_, lookupErr := s.Lookup(t.Context(), held)
	_, listErr := s.List(t.Context())
	_, openErr := Open(t.Context(), where)
	for _, err := range []error{acquireErr, lookupErr, listErr, openErr} {
		if !errors.Is(err, lease.ErrNoStore) || !strings.Contains(err.Error(), "randflake lease init") {
			t.Errorf("error %v, want ErrNoStore and how to make one", err)
		}
	}
	create(t, where, withClock) // somebody's word that no leases are out there, which s knows better
	wantLoss(t, "made anew", s)
}

// TestRestoredFromDump: handles that are new as well notice, by the tables' place.
func TestRestoredFromDump(t *testing.T) {
	server := sharedServer(t)
	_, withClock := atNoon()
	where := newURL(t, server)
	acquire(t, create(t, where, withClock))
	schema := schemaOf(t, where)
	run(t, server,
		"CREATE TABLE m AS TABLE "+schema+".meta",
		"CREATE TABLE r AS TABLE "+schema+".ranges",
		"DROP TABLE "+schema+".meta, "+schema+".ranges CASCADE")
	ddl, err := DDL(strings.Trim(schema, `"`))
	must(t, err)
	run(t, server, ddl, "INSERT INTO "+schema+".meta TABLE m", "INSERT INTO "+schema+".ranges TABLE r", "DROP TABLE m, r")
	wantLoss(t, "restored", open(t, where+"&recovery=trusted", withClock))
}

// TestCopiedDatabase: a copy within the same cluster, whose tables have the same OIDs, is noticed too.
func TestCopiedDatabase(t *testing.T) {
	server := sharedServer(t)
	_, withClock := atNoon()
	where := strings.Replace(newURL(t, server), "/postgres?", "/original?", 1)
	run(t, server, "CREATE DATABASE original")
	s := create(t, where, withClock)
	acquire(t, s)
	must(t, s.Close()) // nobody may use what is copied
	run(t, server, "CREATE DATABASE copy TEMPLATE original")
	wantLoss(t, "copied", open(t, strings.Replace(where, "/original?", "/copy?", 1), withClock))
	acquire(t, open(t, where, withClock))
}

// TestFailover promotes a standby, which may lack what the primary acknowledged: new handles notice
// too.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary := ownServer(t, nil)
	_, withClock := atNoon()
	where := newURL(t, primary)
	seen := create(t, where, withClock)
	held := acquire(t, seen)
	schema := "&schema=" + strings.Trim(schemaOf(t, where), `"`)

	promoted := func(t *testing.T) *engines.Postgres {
		standby, err := primary.BaseBackup(filepath.Join(t.TempDir(), "standby"), true)
		must(t, err)
		t.Cleanup(func() { standby.Kill() })
		must(t, standby.Start())
		if _, err := Open(t.Context(), standby.URL()+schema); err == nil || !strings.Contains(err.Error(), "standby") {
			t.Errorf("Open of a standby: %v, want an error that says so", err)
		}
		must(t, standby.Promote())
		return standby
	}
	t.Run("distrusted", func(t *testing.T) {
		s := open(t, promoted(t).URL()+schema, withClock)
		wantLoss(t, "promoted", s)
		if _, err := s.Renew(t.Context(), held, time.Minute); !errors.Is(err, lease.ErrLost) {
			t.Errorf("Renew of a lease from before: %v, want ErrLost", err)
		}
		wantLoss(t, "once", s)
	})
	t.Run("trusted", func(t *testing.T) {
		standby := promoted(t)
		s := open(t, standby.URL()+schema+"&recovery=trusted", withClock)
		if _, err := s.Renew(t.Context(), held, time.Minute); err != nil {
			t.Errorf("Renew with recovery=trusted: %v", err)
		}
		wantFloor(t, "trusted", s, 0)
		wantLoss(t, "somebody else does not trust", open(t, standby.URL()+schema, withClock))
	})
}

// TestStandbyAtRunTime: a call that lands on a standby is refused.
func TestStandbyAtRunTime(t *testing.T) {
	t.Parallel()
	primary := ownServer(t, nil)
	where := newURL(t, primary)
	s := create(t, where)
	standby, err := primary.BaseBackup(filepath.Join(t.TempDir(), "standby"), true)
	must(t, err)
	t.Cleanup(func() { standby.Kill() })
	must(t, standby.Start())
	pool, config, err := parseURL(standby.URL())
	must(t, err)
	onStandby, err := newStoreAt(t, pool, config)
	must(t, err)
	onStandby.names, onStandby.statements, onStandby.seen = s.names, s.statements, s.seen
	if _, err := onStandby.Acquire(t.Context(), oneMinute); err == nil || !strings.Contains(err.Error(), "standby") {
		t.Errorf("Acquire: %v, want an error that says standby", err)
	}
}

// TestManyNoticeAtOnce: all the calls of one handle that are under way raise the floor once.
func TestManyNoticeAtOnce(t *testing.T) {
	server := sharedServer(t)
	clock, withClock := atNoon()
	where := newURL(t, server)
	s := create(t, where, withClock)
	handles := []*Store{s, open(t, where, withClock), open(t, where, withClock)}
	run(t, server, "UPDATE "+schemaOf(t, where)+".meta SET timeline = 'another'")
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			if _, err := handles[i%3].Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoRange) {
				t.Errorf("Acquire: %v, want ErrNoRange", err)
			}
			clock.Advance(time.Second / 30)
		})
	}
	wg.Wait()
	for _, handle := range handles {
		if got := handle.sighting().losses; got > 1 {
			t.Errorf("a handle noticed %d losses, want 1", got)
		}
	}
	wantFloor(t, "noticed by many", s, 110)
}

// TestNoticedTogether: what two handles notice at the same time, and one of them has dealt with, is not
// dealt with again by the other.
func TestNoticedTogether(t *testing.T) {
	server := sharedServer(t)
	clock, withClock := atNoon()
	where := newURL(t, server)
	first := create(t, where, withClock)
	second := open(t, where, withClock)
	run(t, server, "UPDATE "+schemaOf(t, where)+".meta SET timeline = 'another'")
	var reports []answer
	for _, s := range []*Store{first, second} {
		a, err := s.ask(t.Context(), s.sighting(), "acquire", []any{1, randflake.MaxNode + 1, 60, lease.Owner{1}.String()})
		if err != nil || a.Loss == "" {
			t.Fatalf("no loss: %+v, %v", a, err)
		}
		reports = append(reports, a)
	}
	for i, s := range []*Store{first, second} {
		must(t, s.heal(t.Context(), s.sighting(), reports[i]))
		wantFloor(t, "healed", s, 110)
		clock.Advance(10 * time.Second)
	}
}

// TestLateReply: what an older history answered does not count any more.
func TestLateReply(t *testing.T) {
	s := &Store{}
	before := s.sighting()
	must(t, s.adopt(answer{MaxTTL: 1, Position: 10}))
	s.note(before, 99)
	if got := s.sighting().position; got != 10 {
		t.Errorf("position %d, want 10", got)
	}
	s.note(s.sighting(), 30)
	s.note(s.sighting(), 20)
	if got := s.sighting().position; got != 30 {
		t.Errorf("position %d, want 30", got)
	}
}

func TestDistrust(t *testing.T) {
	server := sharedServer(t)
	clock, withClock := atNoon()
	s := create(t, newURL(t, server), withClock)
	held := acquire(t, s)
	must(t, s.Distrust(t.Context()))
	wantFloor(t, "distrusted", s, 110)
	clock.Advance(10 * time.Second)
	must(t, s.Distrust(t.Context()))
	wantFloor(t, "again", s, 120)
	clock.Advance(-10 * time.Second)
	must(t, s.Distrust(t.Context()))
	wantFloor(t, "with the clock back", s, 120)
	if _, err := s.Renew(t.Context(), held, time.Minute); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew: %v, want ErrLost", err)
	}
	for _, bad := range []struct {
		now  time.Time
		want string
	}{{time.Unix(0, 0), "before the format's epoch"}, {time.Unix(randflake.MaxTimestamp, 0), randflake.ErrEndOfLife.Error()}} {
		clock.Set(bad.now)
		if err := s.Distrust(t.Context()); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("Distrust at %v: %v, want %q", bad.now, err, bad.want)
		}
	}
	wantFloor(t, "with a wrong clock", s, 120)
}

// TestLossWithWrongClock: where the floor can't be reckoned nothing is granted, and the loss is not
// forgotten.
func TestLossWithWrongClock(t *testing.T) {
	server := sharedServer(t)
	clock, withClock := atNoon()
	where := newURL(t, server)
	s := create(t, where, withClock)
	run(t, server, "UPDATE "+schemaOf(t, where)+".meta SET timeline = 'another'")
	clock.Set(time.Unix(0, 0))
	if rec, err := s.Acquire(t.Context(), oneMinute); err == nil || !strings.Contains(err.Error(), "clock says") {
		t.Errorf("Acquire: %+v, %v; want an error about the clock", rec, err)
	}
	clock.Set(noon)
	wantLoss(t, "with the clock set right", s)
}

// TestFloorHoldsForWidestRules: leases of the store that was lost may reach further than those of the
// one in its place.
func TestFloorHoldsForWidestRules(t *testing.T) {
	server := sharedServer(t)
	narrow := lease.Rules{MaxTTL: 5 * time.Second}
	replaced := func(t *testing.T) (s, bystander *Store, replace func(...Option) *Store) {
		_, withClock := atNoon()
		where := newURL(t, server)
		s, bystander = create(t, where, withClock), open(t, where, withClock)
		return s, bystander, func(opts ...Option) *Store {
			run(t, server, "TRUNCATE "+schemaOf(t, where)+".meta, "+schemaOf(t, where)+".ranges")
			other, err := Create(t.Context(), where, append(opts, WithRules(narrow), withClock)...)
			must(t, err)
			t.Cleanup(func() { other.Close() })
			return other
		}
	}
	report := func(s *Store) answer {
		t.Helper()
		a, err := s.ask(t.Context(), s.sighting(), "acquire", []any{1, randflake.MaxNode + 1, 60, lease.Owner{1}.String()})
		if err != nil || a.Loss == "" {
			t.Fatalf("no loss: %+v, %v", a, err)
		}
		return a
	}

	s, bystander, replace := replaced(t)
	other := replace(ForNewSecret())
	for _, handle := range []*Store{s, bystander} {
		if _, err := handle.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrInvalidRequest) {
			t.Errorf("Acquire with a TTL above the new store's: %v, want ErrInvalidRequest", err)
		}
		wantFloor(t, "another store in its place", other, 110)
	}

	// The floor that somebody else sets meanwhile does not do if it goes by narrower rules.
	s, _, replace = replaced(t)
	other = replace(ForNewSecret())
	reported := report(s)
	must(t, other.Distrust(t.Context()))
	wantFloor(t, "set by who knows the narrow rules", other, 5)
	must(t, s.heal(t.Context(), s.sighting(), reported))
	wantFloor(t, "healed by who knows the wide ones", other, 110)

	s, _, replace = replaced(t)
	run(t, server, "DELETE FROM "+s.names.of("meta"))
	reported = report(s) // that there is none
	other = replace()
	wantFloor(t, "made anew with narrow rules", other, 5)
	must(t, s.heal(t.Context(), s.sighting(), reported))
	wantFloor(t, "healed by who knows the wide ones", other, 110)
}

// TestLookupAfterLoss: a renewal of a history that does not know of a take-over, whose reply was lost,
// gives its holder no second when the loss was noticed before it asks.
func TestLookupAfterLoss(t *testing.T) {
	server := sharedServer(t)
	clock, withClock := atNoon()
	s := create(t, newURL(t, server), withClock)
	held := acquire(t, s)
	clock.Advance(30 * time.Second)
	renewed, err := s.Renew(t.Context(), held, time.Minute)
	must(t, err)
	if got, err := s.Lookup(t.Context(), held); err != nil || got != renewed {
		t.Errorf("Lookup: %+v, %v; want %+v", got, err, renewed)
	}
	must(t, s.Distrust(t.Context()))
	want := renewed
	want.HighWater = held.HighWater
	if got, err := s.Lookup(t.Context(), held); err != nil || got != want {
		t.Errorf("Lookup after a loss: %+v, %v; want the end that the holder knew, %+v", got, err, want)
	}
	if got, err := s.Lookup(t.Context(), renewed); err != nil || got != renewed {
		t.Errorf("Lookup after a loss, of what was acknowledged: %+v, %v; want %+v", got, err, renewed)
	}
}
