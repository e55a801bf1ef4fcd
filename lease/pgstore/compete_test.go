//go:build linux

package pgstore

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// TestManyAcquireAtOnce: 200 callers with 4 handles get disjoint ranges of an empty store, and none
// to spare; when those are over, 200 others get the same ones.
func TestManyAcquireAtOnce(t *testing.T) {
	server := sharedServer(t)
	clock, withClock := atNoon()
	where := newURL(t, server) + "&pool_max_conns=25"
	handles := []*Store{create(t, where, withClock), open(t, where, withClock), open(t, where, withClock), open(t, where, withClock)}
	var history leasetest.History
	for round := range 3 {
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				rec, err := handles[i%len(handles)].Acquire(t.Context(), oneMinute)
				if err != nil {
					t.Errorf("Acquire: %v", err)
					return
				}
				history.Granted(rec)
			})
		}
		wg.Wait()
		records, err := handles[0].List(t.Context())
		must(t, err)
		if len(records) != 200 || records[199].LastNode != 199 {
			t.Errorf("round %d: %d ranges, the last one %+v; want 200 of one node each", round, len(records), records[len(records)-1])
		}
		clock.Advance(2 * time.Minute)
	}
	if err := history.Check(); err != nil || history.Len() != 600 {
		t.Errorf("%d leases, %v; want 600", history.Len(), err)
	}
}

// TestManyAcquireScarceRanges: where there are fewer ranges than callers, as many get one as there are.
func TestManyAcquireScarceRanges(t *testing.T) {
	server := sharedServer(t)
	_, withClock := atNoon()
	s := create(t, newURL(t, server)+"&pool_max_conns=25", withClock)
	quarter := lease.Request{Nodes: (randflake.MaxNode + 1) / 4, TTL: time.Minute}
	for round, scarce := range []lease.Request{quarter, quarter, {Nodes: 1, TTL: time.Minute}} {
		var mu sync.Mutex
		var got []lease.Record
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				rec, err := s.Acquire(t.Context(), scarce)
				if err != nil && !errors.Is(err, lease.ErrNoRange) {
					t.Errorf("Acquire: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					got = append(got, rec)
				}
			})
		}
		wg.Wait()
		if len(got) != 4 {
			t.Errorf("round %d: %d got a range of four", round, len(got))
		}
		for _, rec := range got {
			// Not used at all, so that the range is free again: in the first round now, then as one
			// that is released in this very second.
			must(t, s.Release(t.Context(), rec, time.Unix(rec.Start-1+int64(min(round, 1)), 0)))
		}
	}
}

// lockRows locks rows of ranges as somebody does who is about to change them.
func lockRows(t *testing.T, conn *pgx.Conn, where, condition string) pgx.Tx {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	must(t, err)
	t.Cleanup(func() { tx.Rollback(t.Context()) })
	tag, err := tx.Exec(t.Context(), "SELECT FROM "+schemaOf(t, where)+".ranges WHERE "+condition+" FOR UPDATE")
	if err != nil || tag.RowsAffected() == 0 {
		t.Fatalf("%d rows locked, %v", tag.RowsAffected(), err)
	}
	return tx
}

// TestLockedIsNotTaken: a free range that somebody has locked is passed over while there is another
// one of the kind; else a caller waits for it, and neither makes a range nor says that there is
// none.
func TestLockedIsNotTaken(t *testing.T) {
	server := sharedServer(t)
	for _, tt := range []struct {
		name  string
		req   lease.Request // what two ranges were made for
		ask   lease.Request // what is asked for once they are free
		later bool          // they were released in this second
	}{
		{"right size", oneMinute, oneMinute, false},
		{"right size, store full", lease.Request{Nodes: (randflake.MaxNode + 1) / 2, TTL: time.Minute}, lease.Request{Nodes: (randflake.MaxNode + 1) / 2, TTL: time.Minute}, false},
		{"larger", lease.Request{Nodes: (randflake.MaxNode + 1) / 2, TTL: time.Minute}, oneMinute, false},
		{"released this second", lease.Request{Nodes: (randflake.MaxNode + 1) / 2, TTL: time.Minute}, oneMinute, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock, withClock := atNoon()
			where := newURL(t, server)
			s := create(t, where, withClock)
			for range 2 {
				_, err := s.Acquire(t.Context(), tt.req)
				must(t, err)
			}
			records, err := s.List(t.Context())
			must(t, err)
			for _, rec := range records {
				if tt.later {
					must(t, s.Release(t.Context(), rec, noon))
				}
			}
			if !tt.later {
				clock.Advance(2 * time.Minute)
			}
			watcher := session(t, server)
			first := lockRows(t, session(t, server), where, "first_node = 0")
			if tt.req == tt.ask {
				rec, err := s.Acquire(t.Context(), tt.ask)
				if err != nil || rec.FirstNode == 0 {
					t.Fatalf("with one locked: %+v, %v; want the other one", rec, err)
				}
			} else {
				second := lockRows(t, session(t, server), where, "first_node > 0")
				defer second.Rollback(t.Context())
			}

			type result struct {
				rec lease.Record
				err error
			}
			done := make(chan result, 1)
			go func() {
				rec, err := s.Acquire(t.Context(), tt.ask)
				done <- result{rec, err}
			}()
			waitForLock(t, watcher)
			must(t, first.Rollback(t.Context()))
			if got := <-done; got.err != nil || got.rec.FirstNode != 0 {
				t.Errorf("with all locked for a while: %+v, %v; want the range at node 0", got.rec, got.err)
			}
		})
	}
}

// TestRangeGoesWhileWaiting: who waits for the last free range does not get it when the one before
// takes it.
func TestRangeGoesWhileWaiting(t *testing.T) {
	server := sharedServer(t)
	clock, withClock := atNoon()
	where := newURL(t, server)
	s := create(t, where, withClock)
	everything := lease.Request{Nodes: randflake.MaxNode + 1, TTL: time.Minute}
	_, err := s.Acquire(t.Context(), everything)
	must(t, err)
	clock.Advance(2 * time.Minute)
	tx := lockRows(t, session(t, server), where, "true")
	done := make(chan error, 1)
	go func() {
		_, err := s.Acquire(t.Context(), everything)
		done <- err
	}()
	waitForLock(t, session(t, server))
	_, err = tx.Exec(t.Context(), "UPDATE "+schemaOf(t, where)+".ranges SET version = version + 1, high_water = high_water + 180")
	must(t, err)
	must(t, tx.Commit(t.Context()))
	if err := <-done; !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("Acquire: %v, want ErrNoRange", err)
	}
}

// TestKeeper makes IDs with a keeper, end to end, with the server's clock.
func TestKeeper(t *testing.T) {
	where := newURL(t, sharedServer(t))
	s := create(t, where, WithRules(lease.DefaultRules()))
	keeper, err := lease.Keep(t.Context(), s, randflake.NewSecret())
	must(t, err)
	seen := make(map[randflake.ID]bool)
	for range 1000 {
		id, err := keeper.Generator().Wait(t.Context())
		must(t, err)
		seen[id] = true
	}
	must(t, keeper.Close())
	records, err := s.List(t.Context())
	must(t, err)
	if len(seen) != 1000 || len(records) != 1 || records[0].Owner != (lease.Owner{}) {
		t.Errorf("%d different IDs of 1000; afterwards the store has %+v, want one range that nobody owns", len(seen), records)
	}
}
