package lease_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// noon is the present of the tests: 2026-01-01 12:00:00 UTC.
const noon int64 = 1767268800

// rules have limits that are easy to reckon with: 100 and 10 seconds.
var rules = lease.Rules{MaxTTL: 100 * time.Second, MaxSkew: 10 * time.Second}

var alice, bob = lease.Owner{1}, lease.Owner{2}

// rec makes a record of one range for the tables.
func rec(first, last uint32, owner lease.Owner, highWater int64) lease.Record {
	return lease.Record{FirstNode: first, LastNode: last, Owner: owner, Version: 7, Start: min(highWater, noon) - 50, HighWater: highWater}
}

func TestRulesCheck(t *testing.T) {
	for _, tt := range []struct {
		rules lease.Rules
		ok    bool
	}{
		{lease.DefaultRules(), true},
		{lease.Rules{MaxTTL: time.Second}, true},
		{lease.Rules{}, false},
		{lease.Rules{MaxTTL: -time.Second}, false},
		{lease.Rules{MaxTTL: time.Second - 1}, false},
		{lease.Rules{MaxTTL: 1500 * time.Millisecond}, false},
		{lease.Rules{MaxTTL: time.Second, MaxSkew: -time.Second}, false},
		{lease.Rules{MaxTTL: time.Second, MaxSkew: time.Millisecond}, false},
	} {
		if err := tt.rules.Check(); (err == nil) != tt.ok {
			t.Errorf("%+v: error %v, want sound: %v", tt.rules, err, tt.ok)
		}
	}
}

func TestCheckRequest(t *testing.T) {
	for _, tt := range []struct {
		nodes int
		ttl   time.Duration
		ok    bool
	}{
		{1, time.Second, true},
		{randflake.MaxNode + 1, 100 * time.Second, true},
		{0, time.Second, false},
		{-1, time.Second, false},
		{randflake.MaxNode + 2, time.Second, false},
		{1, 0, false},
		{1, -time.Second, false},
		{1, 101 * time.Second, false},
		{1, 1500 * time.Millisecond, false},
		{1, time.Millisecond, false},
	} {
		req := lease.Request{Nodes: tt.nodes, TTL: tt.ttl}
		err := rules.CheckRequest(req)
		if (err == nil) != tt.ok || (err != nil && !errors.Is(err, lease.ErrInvalidRequest)) {
			t.Errorf("%+v: error %v, want sound: %v", req, err, tt.ok)
		}
		if _, err := rules.Grant(nil, req, noon, 0); (err == nil) != tt.ok {
			t.Errorf("Grant %+v: error %v, want sound: %v", req, err, tt.ok)
		}
	}
}

// TestGrantChoice pins which range is granted, and from when.
func TestGrantChoice(t *testing.T) {
	const end = randflake.MaxNode
	none := lease.Owner{}
	for _, tt := range []struct {
		name        string
		records     []lease.Record
		nodes       int
		notBefore   int64
		first, last uint32
		start       int64
	}{
		{"empty store", nil, 4, 0, 0, 3, noon},
		{"all nodes at once", nil, end + 1, 0, 0, end, noon},
		{"exact and free before new nodes", []lease.Record{rec(0, 3, none, noon-1)}, 4, 0, 0, 3, noon},
		{"expired counts as free", []lease.Record{rec(0, 3, alice, noon-1)}, 4, 0, 0, 3, noon},
		{"the longest unused first", []lease.Record{rec(0, 3, none, noon-5), rec(4, 7, alice, noon-9), rec(8, 11, none, noon-7)}, 4, 0, 4, 7, noon},
		{"held to this very second", []lease.Record{rec(0, 3, alice, noon)}, 4, 0, 4, 7, noon},
		{"released in this very second: new nodes first", []lease.Record{rec(0, 3, none, noon)}, 4, 0, 4, 7, noon},
		{"new nodes before a larger range", []lease.Record{rec(0, 7, none, noon-5)}, 4, 0, 8, 11, noon},
		{"a larger range when there are no new nodes", []lease.Record{rec(0, end, none, noon-5)}, 4, 0, 0, end, noon},
		{"the smallest of the larger", []lease.Record{rec(0, 99, none, noon-9), rec(100, 104, none, noon-2), rec(105, end, none, noon-9)}, 4, 0, 100, 104, noon},
		{"the oldest of the smallest", []lease.Record{rec(0, 4, none, noon-2), rec(5, 9, none, noon-3), rec(10, end, none, noon-9)}, 4, 0, 5, 9, noon},
		{"a larger free one before one that is free later", []lease.Record{rec(0, 3, none, noon), rec(4, end, none, noon-1)}, 4, 0, 4, end, noon},
		{"free later, the soonest", []lease.Record{rec(0, 9, none, noon+3), rec(10, end, none, noon)}, 4, 0, 10, end, noon + 1},
		{"free as late as may be", []lease.Record{rec(0, end, none, noon+79)}, 1, 0, 0, end, noon + 80},
		{"not before, new nodes", nil, 1, noon + 80, 0, 0, noon + 80},
		{"not before, old range", []lease.Record{rec(0, 0, none, noon-1)}, 1, noon + 80, 0, 0, noon + 80},
		{"not before, in the past", []lease.Record{rec(0, 0, none, noon-1)}, 1, noon - 110, 0, 0, noon},
		{"not before, released unused", []lease.Record{rec(0, end, none, noon+79)}, 1, noon + 80, 0, end, noon + 80},
		{"poisoned is passed over", []lease.Record{rec(0, 0, none, noon+101), rec(1, 1, none, noon-1)}, 1, 0, 1, 1, noon},
		{"new nodes fill a gap", []lease.Record{rec(0, 3, alice, noon), rec(6, 7, alice, noon)}, 2, 0, 4, 5, noon},
		{"new nodes pass over a gap that is too small", []lease.Record{rec(0, 3, alice, noon), rec(5, 7, alice, noon)}, 2, 0, 8, 9, noon},
		{"records in no order", []lease.Record{rec(6, 7, alice, noon), rec(0, 3, alice, noon)}, 2, 0, 4, 5, noon},
		{"too small is passed over", []lease.Record{rec(0, 0, none, noon-1)}, 2, 0, 1, 2, noon},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := slices.Clone(tt.records)
			got, err := rules.Grant(tt.records, lease.Request{Nodes: tt.nodes, TTL: 20 * time.Second}, noon, tt.notBefore)
			if err != nil {
				t.Fatal(err)
			}
			if got.FirstNode != tt.first || got.LastNode != tt.last || got.Start != tt.start || got.HighWater != tt.start+19 {
				t.Errorf("got %+v, want nodes %d to %d, seconds %d to %d", got, tt.first, tt.last, tt.start, tt.start+19)
			}
			if got.Owner == none || got.Owner == alice {
				t.Errorf("owner %v is not new", got.Owner)
			}
			if want := versionOf(before, got) + 1; got.Version != want {
				t.Errorf("version %d, want %d", got.Version, want)
			}
			if !slices.Equal(before, tt.records) {
				t.Error("Grant changed its argument")
			}
		})
	}
}

// versionOf returns the version of the record of got's range, zero if there is none.
func versionOf(records []lease.Record, got lease.Record) uint64 {
	for _, r := range records {
		if r.FirstNode == got.FirstNode {
			return r.Version
		}
	}
	return 0
}

// TestCandidates pins what competitors for a range may choose from.
func TestCandidates(t *testing.T) {
	const end = randflake.MaxNode
	none := lease.Owner{}
	unused := func(first, last uint32) lease.Record { return lease.Record{FirstNode: first, LastNode: last} }
	free := []lease.Record{rec(0, 1, none, noon-5), rec(2, 3, alice, noon-9), rec(4, 5, none, noon), rec(6, 7, none, noon-7)}
	larger := []lease.Record{rec(0, 99, none, noon-9), rec(100, 104, none, noon-2), rec(105, end-5, none, noon), rec(end-4, end, none, noon-9)}
	later := []lease.Record{rec(0, 99, none, noon+9), rec(100, 104, none, noon), rec(105, end, alice, noon)}
	for _, tt := range []struct {
		name    string
		records []lease.Record
		limit   int
		want    []lease.Record
	}{
		{"free", free, 9, []lease.Record{free[1], free[3], free[0]}},
		{"free, up to the limit", free, 2, []lease.Record{free[1], free[3]}},
		{"new", nil, 3, []lease.Record{unused(0, 1), unused(2, 3), unused(4, 5)}},
		{"new, in gaps and at the end", []lease.Record{rec(3, 4, alice, noon), rec(8, end-3, alice, noon)}, 9,
			[]lease.Record{unused(0, 1), unused(5, 6), unused(end-2, end-1)}},
		{"larger", larger, 9, []lease.Record{larger[3], larger[1], larger[0]}},
		{"later", later, 9, []lease.Record{later[1], later[0]}},
		{"nothing", []lease.Record{rec(0, end, alice, noon)}, 9, nil},
	} {
		before := slices.Clone(tt.records)
		if got := rules.Candidates(tt.records, lease.Request{Nodes: 2}, noon, tt.limit); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
		if !slices.Equal(before, tt.records) {
			t.Errorf("%s: Candidates changed its argument", tt.name)
		}
	}
}

func TestGrantNoRange(t *testing.T) {
	const end = randflake.MaxNode
	none := lease.Owner{}
	for _, tt := range []struct {
		name    string
		records []lease.Record
		nodes   int
		says    []string
		poison  bool
	}{
		{"all held", []lease.Record{rec(0, 9, alice, noon), rec(10, end, bob, noon+5)}, 1, []string{"for 1 nodes", "2 ranges leased", "0 too small"}, false},
		{"too few nodes left", []lease.Record{rec(0, end-1, alice, noon)}, 2, []string{"1 ranges leased"}, false},
		{"all too small", []lease.Record{rec(0, 9, none, 0), rec(10, end, bob, noon+5)}, end + 1, []string{"0 ranges leased", "2 too small"}, false},
		{"poisoned and released", []lease.Record{rec(0, 9, none, noon+101), rec(10, end, bob, noon+5)}, 1, []string{"1 ranges leased", "1 marked further ahead", "clock"}, true},
		{"poisoned and held", []lease.Record{rec(0, end, alice, noon+365*86400)}, 1, []string{"0 ranges leased", "1 marked further ahead"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := rules.Grant(tt.records, lease.Request{Nodes: tt.nodes, TTL: time.Second}, noon, 0)
			if !errors.Is(err, lease.ErrNoRange) {
				t.Fatalf("error %v, want ErrNoRange", err)
			}
			for _, s := range tt.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
			if got := strings.Contains(err.Error(), "clock wrong"); got != tt.poison {
				t.Errorf("%q speaks of a wrong clock: %v, want %v", err, got, tt.poison)
			}
		})
	}
}

func TestGrantAtTheEndsOfTime(t *testing.T) {
	const last = randflake.MaxTimestamp
	req := lease.Request{Nodes: 1, TTL: 20 * time.Second}

	got, err := rules.Grant(nil, req, last-5, 0)
	if err != nil || got.Start != last-5 || got.HighWater != last {
		t.Errorf("5 seconds before the end: %+v, %v; want it cut at %d", got, err, last)
	}
	if got, err = rules.Grant(nil, req, last, 0); err != nil || got.Start != last || got.HighWater != last {
		t.Errorf("in the last second: %+v, %v", got, err)
	}
	if _, err = rules.Grant(nil, req, last+1, 0); !errors.Is(err, randflake.ErrEndOfLife) {
		t.Errorf("after the end: error %v, want ErrEndOfLife", err)
	}
	if _, err = rules.Grant(nil, req, last-5, last+1); !errors.Is(err, randflake.ErrEndOfLife) {
		t.Errorf("not before the end: error %v, want ErrEndOfLife", err)
	}
	if _, err = rules.Grant([]lease.Record{rec(0, randflake.MaxNode, lease.Owner{}, last)}, req, last, 0); !errors.Is(err, randflake.ErrEndOfLife) {
		t.Errorf("last second used up: error %v, want ErrEndOfLife", err)
	}
	if _, err = rules.Grant(nil, req, randflake.Epoch, 0); err != nil {
		t.Errorf("at the epoch: %v", err)
	}
	for _, now := range []int64{randflake.Epoch - 1, 0, -1} {
		if _, err = rules.Grant(nil, req, now, 0); err == nil || !strings.Contains(err.Error(), "clock") {
			t.Errorf("at %d: error %v, want one about the clock", now, err)
		}
	}
}

func TestRenew(t *testing.T) {
	held := rec(3, 5, alice, noon+10)
	const last = randflake.MaxTimestamp
	for _, tt := range []struct {
		name      string
		highWater int64
		ttl       time.Duration
		now       int64
		want      int64
	}{
		{"raises", noon + 10, 20 * time.Second, noon, noon + 19},
		{"never lowers", noon + 10, 5 * time.Second, noon, noon + 10},
		{"clock back", noon + 10, 20 * time.Second, noon - 3600, noon + 10},
		{"clock at zero", noon + 10, 20 * time.Second, 0, noon + 10},
		{"ended, but nobody took it", noon - 100, 20 * time.Second, noon, noon + 19},
		{"end of life", noon + 10, 20 * time.Second, last - 5, last},
		{"after the end of life", noon + 10, 20 * time.Second, last + 50, last},
	} {
		current := held
		current.HighWater = tt.highWater
		got, err := rules.Renew(current, current, tt.ttl, tt.now, 0)
		want := current
		want.Version++
		want.HighWater = tt.want
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, want)
		}
	}
}

func TestRenewRefuses(t *testing.T) {
	held := rec(3, 5, alice, noon+10)
	for _, ttl := range []time.Duration{0, -1, time.Millisecond, 101 * time.Second} {
		if _, err := rules.Renew(held, held, ttl, noon, 0); !errors.Is(err, lease.ErrInvalidRequest) {
			t.Errorf("TTL %v: error %v, want ErrInvalidRequest", ttl, err)
		}
	}
	for name, current := range strangers(held) {
		if _, err := rules.Renew(current, held, time.Second, noon, 0); !errors.Is(err, lease.ErrLost) {
			t.Errorf("%s: error %v, want ErrLost", name, err)
		}
	}
	if _, err := rules.Renew(lease.Record{}, lease.Record{}, time.Second, noon, 0); !errors.Is(err, lease.ErrLost) {
		t.Errorf("zero records: error %v, want ErrLost", err)
	}
}

// TestRenewAfterDataLoss: the store can't know who else was granted the range in the part of its
// history that it lost, so only leases that it granted since go on.
func TestRenewAfterDataLoss(t *testing.T) {
	held := rec(3, 5, alice, noon+10)
	for notBefore, lost := range map[int64]bool{0: false, held.Start: false, held.Start + 1: true, noon + 110: true} {
		_, err := rules.Renew(held, held, time.Second, noon, notBefore)
		if errors.Is(err, lease.ErrLost) != lost {
			t.Errorf("not before %d, start %d: error %v, want lost: %v", notBefore, held.Start, err, lost)
		}
	}
}

// TestLookup: after a loss of data a holder learns of no later end than it knew.
func TestLookup(t *testing.T) {
	held := rec(3, 5, alice, noon+10)
	current := held
	current.Version, current.HighWater = 8, noon+60
	for notBefore, want := range map[int64]int64{0: noon + 60, held.Start: noon + 60, held.Start + 1: noon + 10, noon + 110: noon + 10} {
		got, err := rules.Lookup(current, held, notBefore)
		if err != nil || got.Version != current.Version || got.HighWater != want {
			t.Errorf("not before %d, start %d: %+v, %v, want high-water mark %d", notBefore, held.Start, got, err, want)
		}
	}
	for _, owner := range []lease.Owner{{}, bob} {
		current.Owner = owner
		if _, err := rules.Lookup(current, held, 0); !errors.Is(err, lease.ErrLost) {
			t.Errorf("owner %v: error %v, want ErrLost", owner, err)
		}
	}
	if _, err := rules.Lookup(lease.Record{}, lease.Record{}, 0); !errors.Is(err, lease.ErrLost) {
		t.Errorf("zero records: error %v, want ErrLost", err)
	}
}

// strangers returns records that the holder of held must not change.
func strangers(held lease.Record) map[string]lease.Record {
	other, newer, older, released := held, held, held, held
	other.Owner = bob
	newer.Version++
	older.Version--
	released.Owner = lease.Owner{}
	return map[string]lease.Record{"other owner": other, "newer version": newer, "older version": older, "released": released, "no record": {}}
}

func TestRelease(t *testing.T) {
	held := lease.Record{FirstNode: 3, LastNode: 5, Owner: alice, Version: 7, Start: noon, HighWater: noon + 50}
	for _, tt := range []struct {
		name     string
		lastUsed time.Time
		want     int64
	}{
		{"in between", time.Unix(noon+20, 0), noon + 20},
		{"within a second", time.Unix(noon+20, 999_999_999), noon + 20},
		{"the first second", time.Unix(noon, 0), noon},
		{"none used", time.Unix(noon-1, 0), noon - 1},
		{"before the start", time.Unix(noon-1000, 0), noon - 1},
		{"zero time", time.Time{}, noon - 1},
		{"the last second", time.Unix(noon+50, 0), noon + 50},
		{"never raises", time.Unix(noon+51, 0), noon + 50},
	} {
		got, err := rules.Release(held, held, tt.lastUsed)
		want := held
		want.Owner, want.Version, want.HighWater = lease.Owner{}, 8, tt.want
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, want)
		}
	}
	for name, current := range strangers(held) {
		if _, err := rules.Release(current, held, time.Unix(noon, 0)); !errors.Is(err, lease.ErrLost) {
			t.Errorf("%s: error %v, want ErrLost", name, err)
		}
	}
}

func TestNotBefore(t *testing.T) {
	// The longest lease that a clock ahead by MaxSkew can have granted ends right before it.
	if got := rules.NotBefore(noon); got != noon+110 {
		t.Errorf("NotBefore(%d) = %d, want %d", noon, got, noon+110)
	}
	forgotten, err := rules.Grant(nil, lease.Request{Nodes: 1, TTL: rules.MaxTTL}, noon+10, 0)
	if err != nil || forgotten.HighWater >= rules.NotBefore(noon) {
		t.Errorf("a forgotten lease reaches %d, %v; want it before %d", forgotten.HighWater, err, rules.NotBefore(noon))
	}
}

func TestPoisoned(t *testing.T) {
	for ahead, want := range map[int64]bool{-1: false, 0: false, 100: false, 101: true} {
		if got := rules.Poisoned(rec(0, 0, alice, noon+ahead), noon); got != want {
			t.Errorf("high water %d s ahead: %v, want %v", ahead, got, want)
		}
	}
}

// A ruler is what walk asks; the real one is lease.Rules.
type ruler interface {
	Grant(records []lease.Record, req lease.Request, now, notBefore int64) (lease.Record, error)
	Renew(current, held lease.Record, ttl time.Duration, now, notBefore int64) (lease.Record, error)
	Release(current, held lease.Record, lastUsed time.Time) (lease.Record, error)
}

// TestDisjoint walks at random under a clock that jumps wildly, with holders that wake up late,
// and wants the leases of each node disjoint.
func TestDisjoint(t *testing.T) {
	granted := 0
	for seed := range uint64(60) {
		h, err := walk(rules, seed)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		granted += h.Len()
	}
	if granted < 1000 {
		t.Errorf("the walks granted %d leases only: they show nothing", granted)
	}
}

// TestDisjointNoticesBrokenRules is the negative control of TestDisjoint.
func TestDisjointNoticesBrokenRules(t *testing.T) {
	for name, broken := range map[string]ruler{
		"starts at now":           startsAtNow{rules},
		"starts at high water":    startsAtHighWater{rules},
		"takes over held ranges":  takesOver{rules},
		"renews whoever asks":     renewsAnybody{rules},
		"releases below the rest": releasesTooFar{rules},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(60) {
				if _, err := walk(broken, seed); err != nil {
					return
				}
			}
			t.Error("60 walks found nothing wrong with it")
		})
	}
}

// walk plays a random history against a store of few ranges and checks it after each step.
func walk(r ruler, seed uint64) (*leasetest.History, error) {
	rng := rand.New(rand.NewPCG(seed, 1))
	h := new(leasetest.History)
	now := noon
	var records, held []lease.Record
	put := func(rec lease.Record) {
		i := slices.IndexFunc(records, func(r lease.Record) bool { return r.FirstNode == rec.FirstNode })
		if i < 0 {
			records = append(records, rec)
			return
		}
		records[i] = rec
	}
	find := func(rec lease.Record) lease.Record {
		i := slices.IndexFunc(records, func(r lease.Record) bool { return r.FirstNode == rec.FirstNode })
		return records[i]
	}
	for range 300 {
		now = jump(rng, now)
		ttl := time.Duration(1+rng.IntN(100)) * time.Second
		switch step := rng.IntN(3); {
		case step == 0 || len(held) == 0:
			// Thirds of all nodes, so that ranges get scarce.
			req := lease.Request{Nodes: 1 + rng.IntN(2)*(randflake.MaxNode/3), TTL: ttl}
			if rng.IntN(4) == 0 {
				req.Below = randflake.MaxNode / 2
			}
			rec, err := r.Grant(records, req, now, 0)
			if err == nil {
				put(rec)
				h.Granted(rec)
				held = append(held, rec)
			}
		case step == 1:
			i := rng.IntN(len(held))
			rec, err := r.Renew(find(held[i]), held[i], ttl, now, 0)
			if err == nil {
				put(rec)
				h.Granted(rec)
				held[i] = rec
			}
		default:
			i := rng.IntN(len(held))
			lastUsed := time.Unix(held[i].Start-1+rng.Int64N(held[i].HighWater-held[i].Start+2), 0)
			rec, err := r.Release(find(held[i]), held[i], lastUsed)
			if err == nil {
				h.Released(held[i], lastUsed)
				put(rec)
			}
			held = slices.Delete(held, i, i+1)
		}
		if err := h.Check(); err != nil {
			return h, err
		}
	}
	return h, nil
}

// jump moves a clock: most often a little ahead, at times far, at times back, and now and then to
// another age.
func jump(rng *rand.Rand, now int64) int64 {
	switch rng.IntN(12) {
	case 0:
		return now - rng.Int64N(200)
	case 1:
		return now + rng.Int64N(1000)
	case 2:
		return noon + rng.Int64N(2*365*86400) - 365*86400
	case 3:
		return 0
	case 4, 5:
		return now
	default:
		return max(now, noon) + rng.Int64N(20)
	}
}

type startsAtNow struct{ lease.Rules }

func (b startsAtNow) Grant(records []lease.Record, req lease.Request, now, notBefore int64) (lease.Record, error) {
	rec, err := b.Rules.Grant(records, req, now, notBefore)
	rec.Start = now
	return rec, err
}

type startsAtHighWater struct{ lease.Rules }

func (b startsAtHighWater) Grant(records []lease.Record, req lease.Request, now, notBefore int64) (lease.Record, error) {
	rec, err := b.Rules.Grant(records, req, now, notBefore)
	if rec.Start > now {
		rec.Start--
	}
	return rec, err
}

type takesOver struct{ lease.Rules }

func (b takesOver) Grant(records []lease.Record, req lease.Request, now, notBefore int64) (lease.Record, error) {
	free := slices.Clone(records)
	for i := range free {
		free[i].HighWater = min(free[i].HighWater, now-1)
	}
	return b.Rules.Grant(free, req, now, notBefore)
}

type renewsAnybody struct{ lease.Rules }

func (b renewsAnybody) Renew(current, held lease.Record, ttl time.Duration, now, notBefore int64) (lease.Record, error) {
	return b.Rules.Renew(held, held, ttl, now, notBefore)
}

type releasesTooFar struct{ lease.Rules }

func (b releasesTooFar) Release(current, held lease.Record, lastUsed time.Time) (lease.Record, error) {
	rec, err := b.Rules.Release(current, held, lastUsed)
	if err == nil {
		rec.HighWater = min(current.HighWater, lastUsed.Unix()-1)
	}
	return rec, err
}

// A lease never ends more than MaxTTL from the moment it is granted: it is cut short, or refused.
func TestGrantReachesNoFurtherThanMaxTTL(t *testing.T) {
	req := lease.Request{Nodes: 1, TTL: 20 * time.Second}
	for start, want := range map[int64]int64{noon + 80: 20, noon + 90: 10, noon + 99: 1, noon + 100: 0, noon + 110: 0, noon + 1000: 0} {
		got, err := rules.Grant(nil, req, noon, start)
		switch {
		case want == 0 && (!errors.Is(err, lease.ErrNoRange) || !strings.Contains(err.Error(), "try again from")):
			t.Errorf("from %d: %+v, %v, want ErrNoRange that says when to try again", start-noon, got, err)
		case want > 0 && (err != nil || got.Start != start || got.HighWater != start+want-1):
			t.Errorf("from %d: %+v, %v, want %d seconds", start-noon, got, err, want)
		}
	}
}

// A store loses its data again and again, also while there are leases that start in the future. With a
// clock that is right no two leases of a node ever share a second.
func TestLeasesStayDisjointWhenDataIsLost(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var history leasetest.History
		var records []lease.Record
		now, floor := noon, rules.NotBefore(noon)
		put := func(rec lease.Record) {
			records = slices.DeleteFunc(records, func(old lease.Record) bool { return old.FirstNode == rec.FirstNode })
			records = append(records, rec)
		}
		for range 300 {
			now += r.Int64N(50)
			switch r.IntN(6) {
			case 0, 1, 2:
				nodes := 1
				if len(records) == 0 && r.IntN(2) == 0 {
					nodes = randflake.MaxNode + 1 // so that a lease starts later than its predecessor ends
				}
				rec, err := rules.Grant(records, lease.Request{Nodes: nodes, TTL: time.Duration(1+r.IntN(100)) * time.Second}, now, floor)
				if err == nil {
					history.Granted(rec)
					put(rec)
				}
			case 3:
				if len(records) > 0 {
					held := records[r.IntN(len(records))]
					if rec, err := rules.Renew(held, held, time.Duration(1+r.IntN(100))*time.Second, now, floor); err == nil {
						history.Granted(rec)
						put(rec)
					}
				}
			case 4:
				if len(records) > 0 {
					held := records[r.IntN(len(records))]
					lastUsed := time.Unix(held.Start-1+r.Int64N(held.HighWater-held.Start+2), 0)
					if rec, err := rules.Release(held, held, lastUsed); err == nil {
						history.Released(held, lastUsed)
						put(rec)
					}
				}
			case 5:
				if r.IntN(4) == 0 {
					records, floor = nil, rules.NotBefore(now)
				}
			}
		}
		if err := history.Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
