package redisstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// wantLost checks that a lease from before the loss can't be renewed.
func wantLost(t *testing.T, s *Store, held lease.Record) {
	t.Helper()
	if _, err := s.Renew(t.Context(), held, time.Minute); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew: error %v, want ErrLost", err)
	}
}

// losses are ways in which the data of a store can go back in time under a handle that saw it.
var losses = map[string]func(t testing.TB, s *Store, older map[string]string){
	"everything is gone": func(t testing.TB, s *Store, _ map[string]string) {
		mustDo(t, s.client.Del(t.Context(), s.keys...).Err())
	},
	"an older copy is back": putBack,
	"another store is there": func(t testing.TB, s *Store, _ map[string]string) {
		mustDo(t, s.client.Del(t.Context(), s.keys...).Err())
		_, err := CreateOn(t.Context(), s.client, s.config, WithRules(testRules), WithClock(s.clock), ForNewSecret())
		mustDo(t, err)
	},
}

// TestLossIsNoticed: whichever call comes first after a loss, it sets the floor before it decides,
// in a store that takes Redis at its word otherwise.
func TestLossIsNoticed(t *testing.T) {
	calls := map[string]func(s *Store, held lease.Record) error{
		"Acquire": func(s *Store, _ lease.Record) error { _, err := s.Acquire(context.Background(), oneMinute); return err },
		"Renew": func(s *Store, held lease.Record) error {
			_, err := s.Renew(context.Background(), held, time.Minute)
			return err
		},
		"Lookup":  func(s *Store, held lease.Record) error { _, err := s.Lookup(context.Background(), held); return err },
		"Release": func(s *Store, held lease.Record) error { return s.Release(context.Background(), held, noon) },
	}
	for loss, lose := range losses {
		for name, call := range calls {
			t.Run(loss+", then "+name, func(t *testing.T) {
				url := newPlace() + "&recovery=trusted"
				s, clock := create(t, url)
				older := data(t, s)
				early, late := open(t, url, clock), open(t, url, clock)
				acquire(t, early, oneMinute)
				acquire(t, early, oneMinute)
				held := acquire(t, s, oneMinute)
				acquire(t, late, oneMinute)
				lose(t, s, older)
				want := error(lease.ErrLost)
				if name == "Acquire" {
					want = lease.ErrNoRange
				}
				if err := call(s, held); !errors.Is(err, want) {
					t.Errorf("error %v, want %v", err, want)
				}
				wantFloor(t, s, noon.Unix()+floorAhead)

				// The loss is dealt with: neither this handle nor another moves the floor again.
				clock.Advance(20 * time.Second)
				rec := acquire(t, s, oneMinute)
				if rec.Start != noon.Unix()+floorAhead {
					t.Errorf("granted from %d, want the floor, %d", rec.Start, noon.Unix()+floorAhead)
				}
				wantLost(t, s, held)
				s.Lookup(t.Context(), held)
				wantFloor(t, s, noon.Unix()+floorAhead)
				acquire(t, early, oneMinute)
				wantFloor(t, s, noon.Unix()+floorAhead)
				if loss != "an older copy is back" { // which late can't tell from one that came later
					acquire(t, late, oneMinute)
					wantFloor(t, s, noon.Unix()+floorAhead)
				}
				if _, err := s.Renew(t.Context(), rec, time.Minute); err != nil {
					t.Errorf("Renew of what was granted after the loss: %v", err)
				}
			})
		}
	}
}

// TestNoFalseAlarm: the ordinary course of things sets no floor, with many handles at once.
func TestNoFalseAlarm(t *testing.T) {
	url := newPlace()
	s, clock := create(t, url)
	var wg sync.WaitGroup
	for _, handle := range []*Store{s, open(t, url, clock), open(t, url, clock)} {
		for range 3 {
			wg.Go(func() {
				for range 20 {
					held, err := handle.Acquire(t.Context(), oneMinute)
					if err == nil {
						held, err = handle.Renew(t.Context(), held, time.Minute)
					}
					if err == nil {
						_, err = handle.Lookup(t.Context(), held)
					}
					if err == nil {
						err = handle.Release(t.Context(), held, noon)
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	wantFloor(t, s, 0)
}

// TestConcurrentDetection: many calls of many handles notice a loss at once, and set one floor.
func TestConcurrentDetection(t *testing.T) {
	url := newPlace()
	s, clock := create(t, url)
	handles := []*Store{s, open(t, url, clock), open(t, url, clock)}
	for _, handle := range handles {
		acquire(t, handle, oneMinute)
	}
	mustDo(t, s.client.Del(t.Context(), s.keys...).Err())
	clock.Advance(time.Minute)
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			rec, err := handles[i%3].Acquire(t.Context(), oneMinute)
			if err == nil && rec.Start < noon.Unix()+60+floorAhead {
				t.Errorf("granted from %d, before the floor", rec.Start)
			}
			if err != nil && !errors.Is(err, lease.ErrNoRange) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	wantFloor(t, s, noon.Unix()+60+floorAhead)
	clock.Advance(time.Minute)
	for _, handle := range handles {
		acquire(t, handle, oneMinute)
	}
	wantFloor(t, s, noon.Unix()+60+floorAhead)
}

// TestRepliesOvertakeEachOther: what a handle saw never goes back to a store that was replaced, or to a position before.
func TestRepliesOvertakeEachOther(t *testing.T) {
	old, older, newer := sighting{incarnation: "old", changes: 7}, sighting{incarnation: "old", changes: 5}, sighting{incarnation: "new", changes: 1}
	for _, tt := range []struct{ seen, before, reply, want sighting }{
		{older, older, old, old},
		{old, older, older, old},
		{old, old, newer, newer},
		{newer, old, newer, newer},
		{newer, older, old, newer},
	} {
		if got := tt.seen.after(tt.before, tt.reply); got != tt.want {
			t.Errorf("seen %+v, a call made at %+v returns %+v: then seen %+v, want %+v", tt.seen, tt.before, tt.reply, got, tt.want)
		}
	}
}

// TestVersionsNeverGoDown: a handle that saw nothing learns of the loss from the lease that it is asked to
// renew, once.
func TestVersionsNeverGoDown(t *testing.T) {
	url := newPlace()
	s, clock := create(t, url)
	held := acquire(t, s, oneMinute)
	older := data(t, s)
	renewed, err := s.Renew(t.Context(), held, time.Minute)
	mustDo(t, err)
	putBack(t, s, older)
	fresh := open(t, url, clock)
	wantLost(t, fresh, renewed)
	wantFloor(t, fresh, noon.Unix()+floorAhead)
	clock.Advance(5 * time.Second)
	if got, err := fresh.Lookup(t.Context(), renewed); err != nil || got != held {
		t.Errorf("Lookup: %+v, %v, want %+v", got, err, held)
	}
	wantLost(t, fresh, renewed)
	wantLost(t, fresh, held)
	wantFloor(t, fresh, noon.Unix()+floorAhead)
}

// TestFloorHoldsForWidestRules: leases of the store that was lost may reach further than those of the one in its
// place.
func TestFloorHoldsForWidestRules(t *testing.T) {
	url := newPlace()
	s, clock := create(t, url)
	acquire(t, s, oneMinute)
	bystander := open(t, url, clock)
	mustDo(t, s.client.Del(t.Context(), s.keys...).Err())
	narrow := lease.Rules{MaxTTL: 5 * time.Second}
	other, err := Create(t.Context(), url, WithRules(narrow), WithClock(clock.Now), ForNewSecret())
	mustDo(t, err)
	defer other.Close()
	if _, err := s.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrInvalidRequest) {
		t.Errorf("TTL above the new store's: error %v, want ErrInvalidRequest", err)
	}
	wantFloor(t, s, noon.Unix()+floorAhead)
	if rules, _, err := s.Limits(t.Context()); err != nil || rules != narrow {
		t.Errorf("rules %v, %v, want %v", rules, err, narrow)
	}
	clock.Advance(time.Hour)
	if _, err := bystander.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrInvalidRequest) {
		t.Errorf("TTL above the new store's, by a handle that knows the old: error %v, want ErrInvalidRequest", err)
	}
}

// TestLossWithWrongClock: the floor can't be known, so nothing changes until it can.
func TestLossWithWrongClock(t *testing.T) {
	for name, lose := range losses {
		t.Run(name, func(t *testing.T) { testLossWithWrongClock(t, lose) })
	}
}

func testLossWithWrongClock(t *testing.T, lose func(testing.TB, *Store, map[string]string)) {
	s, clock := create(t, newPlace())
	older := data(t, s)
	held := acquire(t, s, oneMinute)
	lose(t, s, older)
	before := data(t, s)
	for _, tt := range []struct {
		now  int64
		want string
	}{{0, "clock says"}, {randflake.MaxTimestamp - 50, randflake.ErrEndOfLife.Error()}} {
		clock.Set(time.Unix(tt.now, 0))
		for range 2 {
			if _, err := s.Renew(t.Context(), held, time.Minute); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("at %d: error %v, want %q", tt.now, err, tt.want)
			}
		}
		if after := data(t, s); !maps.Equal(after, before) {
			t.Errorf("at %d: the store changed", tt.now)
		}
	}
	clock.Set(noon)
	if _, err := s.Acquire(t.Context(), oneMinute); !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("Acquire: error %v, want ErrNoRange", err)
	}
	wantLost(t, s, held)
	wantFloor(t, s, noon.Unix()+floorAhead)
}

// TestFloorNeverGoesDown: a loss that is noticed while the clock is behind leaves the floor of an earlier one.
func TestFloorNeverGoesDown(t *testing.T) {
	s, clock := create(t, newPlace())
	mustDo(t, s.Distrust(t.Context()))
	clock.Set(noon.Add(-time.Hour))
	mustDo(t, s.Distrust(t.Context()))
	wantFloor(t, s, noon.Unix()+floorAhead)
}

func TestDistrust(t *testing.T) {
	url := newPlace()
	s, clock := create(t, url)
	held := acquire(t, s, oneMinute)
	other := open(t, url, clock)
	mustDo(t, other.Distrust(t.Context()))
	wantFloor(t, s, noon.Unix()+floorAhead)
	wantLost(t, s, held)
	if err := s.Release(t.Context(), held, noon); err != nil {
		t.Errorf("Release still works: %v", err)
	}
	wantFloor(t, s, noon.Unix()+floorAhead)
}

// TestLineage: a server that was started anew may have lost what a fresh handle can't know of.
func TestLineage(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{false, true} {
		server := startServer(t)
		url := server.URL()
		if trusted {
			url += "?recovery=trusted"
		}
		s, clock := create(t, url)
		held := acquire(t, s, oneMinute)
		mustDo(t, server.Kill())
		if _, err := s.Renew(t.Context(), held, time.Minute); err == nil || errors.Is(err, lease.ErrLost) {
			t.Errorf("the server is down: error %v, want another than ErrLost", err)
		}
		mustDo(t, server.Start())
		fresh := open(t, url, clock)
		_, err := fresh.Acquire(t.Context(), oneMinute)
		if trusted {
			if err != nil {
				t.Errorf("Acquire after a restart that is trusted: %v", err)
			}
			if _, err = s.Renew(t.Context(), held, time.Minute); err != nil {
				t.Errorf("Renew after a restart that is trusted: %v", err)
			}
			wantFloor(t, s, 0)
			continue
		}
		if !errors.Is(err, lease.ErrNoRange) {
			t.Errorf("Acquire after a restart: error %v, want ErrNoRange", err)
		}
		wantLost(t, s, held)
		wantFloor(t, s, noon.Unix()+floorAhead)
		clock.Advance(30 * time.Second)
		acquire(t, s, oneMinute)
		wantFloor(t, s, noon.Unix()+floorAhead) // one restart, one floor
	}
}

// TestTrustedRestartWithOlderFiles: the word was wrong, and a handle that saw the newer state knows.
func TestTrustedRestartWithOlderFiles(t *testing.T) {
	server := startServer(t)
	s, _ := create(t, server.URL()+"?recovery=trusted")
	older := data(t, s)
	held := acquire(t, s, oneMinute)
	mustDo(t, server.Kill())
	mustDo(t, server.Start())
	putBack(t, s, older)
	wantLost(t, s, held)
	wantFloor(t, s, noon.Unix()+floorAhead)
}

// TestKilledInTheMiddle kills the server again and again under callers. Everything that was acknowledged
// is there afterwards.
func TestKilledInTheMiddle(t *testing.T) {
	server := startServer(t)
	url := server.URL() + "?recovery=trusted&max_retries=-1"
	s, clock := create(t, url)
	for range 3 {
		var mu sync.Mutex
		var acknowledged []lease.Record
		var wg sync.WaitGroup
		enough := make(chan struct{}, 1000)
		for range 4 {
			wg.Go(func() {
				for {
					rec, err := s.Acquire(t.Context(), oneMinute)
					if err != nil {
						return
					}
					mu.Lock()
					acknowledged = append(acknowledged, rec)
					mu.Unlock()
					enough <- struct{}{}
				}
			})
		}
		for range 20 {
			<-enough
		}
		mustDo(t, server.Kill())
		wg.Wait()
		mustDo(t, server.Start())
		records, err := open(t, url, clock).List(t.Context())
		mustDo(t, err)
		for _, rec := range acknowledged {
			if !slices.Contains(records, rec) {
				t.Errorf("acknowledged and lost: %+v", rec)
			}
		}
	}
	wantFloor(t, s, 0)
}

// TestLookupAfterLoss: a renewal of a history that does not know of a take-over, whose reply was lost,
// gives its holder no second when the loss was noticed before it asks.
func TestLookupAfterLoss(t *testing.T) {
	s, clock := create(t, newPlace())
	held := acquire(t, s, oneMinute)
	clock.Advance(30 * time.Second)
	renewed, err := s.Renew(t.Context(), held, time.Minute)
	mustDo(t, err)
	if got, err := s.Lookup(t.Context(), held); err != nil || got != renewed {
		t.Errorf("Lookup: %+v, %v, want %+v", got, err, renewed)
	}
	mustDo(t, s.Distrust(t.Context()))
	want := renewed
	want.HighWater = held.HighWater
	if got, err := s.Lookup(t.Context(), held); err != nil || got != want {
		t.Errorf("Lookup after a loss: %+v, %v, want the end that the holder knew, %+v", got, err, want)
	}
	if got, err := s.Lookup(t.Context(), renewed); err != nil || got != renewed {
		t.Errorf("Lookup after a loss, of what was acknowledged: %+v, %v, want %+v", got, err, renewed)
	}
}
