package lease_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

func TestCheckRequestBelow(t *testing.T) {
	for _, tt := range []struct {
		nodes int
		below uint32
		says  string // nothing if it is sound
	}{
		{1, 1, ""},
		{1024, 1024, ""},
		{randflake.MaxNode + 1, randflake.MaxNode + 1, ""},
		{2, 1, "2 nodes below 1: want 1 to 1"},
		{1025, 1024, "1025 nodes below 1024: want 1 to 1024"},
		{0, 1024, "0 nodes below 1024"},
		{-1, 1024, "-1 nodes below 1024"},
		{1, randflake.MaxNode + 2, "nodes below 131073: want at most 131072"},
		{1, math.MaxUint32, "nodes below 4294967295: want at most 131072"},
		{randflake.MaxNode + 2, math.MaxUint32, "want at most 131072"},
	} {
		req := lease.Request{Nodes: tt.nodes, Below: tt.below, TTL: time.Second}
		_, grantErr := rules.Grant(nil, req, noon, 0)
		for _, err := range []error{rules.CheckRequest(req), grantErr} {
			if tt.says == "" && err != nil {
				t.Errorf("%+v: error %v, want none", req, err)
			}
			if tt.says != "" && (!errors.Is(err, lease.ErrInvalidRequest) || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("%+v: error %v, want ErrInvalidRequest that says %q", req, err, tt.says)
			}
		}
	}
}

// TestGrantBelow pins which range is granted below node 8.
func TestGrantBelow(t *testing.T) {
	const end = randflake.MaxNode
	none := lease.Owner{}
	for _, tt := range []struct {
		name        string
		records     []lease.Record
		nodes       int
		first, last uint32
		start       int64
	}{
		{"empty store", nil, 4, 0, 3, noon},
		{"all of them", nil, 8, 0, 7, noon},
		{"the last one", []lease.Record{rec(0, 6, alice, noon)}, 1, 7, 7, noon},
		{"new nodes that end at the bound", []lease.Record{rec(0, 3, alice, noon)}, 4, 4, 7, noon},
		{"new nodes before a range beyond", []lease.Record{rec(8, 11, none, noon-9)}, 4, 0, 3, noon},
		{"new nodes before a range across", []lease.Record{rec(5, 8, none, noon-9)}, 4, 0, 3, noon},
		{"the longest unused that lies below", []lease.Record{rec(0, 3, none, noon-1), rec(4, 7, none, noon-2), rec(8, 11, none, noon-9)}, 4, 4, 7, noon},
		{"a larger one that lies below", []lease.Record{rec(0, 2, alice, noon), rec(3, 7, none, noon-1), rec(8, 10, none, noon-9)}, 3, 3, 7, noon},
		{"free later, below", []lease.Record{rec(0, 7, none, noon+2), rec(8, 15, none, noon)}, 8, 0, 7, noon + 3},
	} {
		got, err := rules.Grant(tt.records, lease.Request{Nodes: tt.nodes, Below: 8, TTL: time.Second}, noon, 0)
		if err != nil || got.FirstNode != tt.first || got.LastNode != tt.last || got.Start != tt.start {
			t.Errorf("%s: got %+v, %v, want nodes %d to %d from %d", tt.name, got, err, tt.first, tt.last, tt.start)
		}
	}
	for _, tt := range []struct {
		name    string
		records []lease.Record
		nodes   int
		says    string
	}{
		{"all taken, new nodes beyond", []lease.Record{rec(0, 3, alice, noon), rec(4, 7, bob, noon)}, 4, "for 4 nodes below 8: 2 ranges leased, 0 too small: "},
		{"too few new nodes below", []lease.Record{rec(0, 4, alice, noon)}, 4, "1 ranges leased, 0 too small: "},
		{"free beyond", []lease.Record{rec(0, 7, alice, noon), rec(8, 11, none, noon-9)}, 4, "1 ranges leased, 0 too small: "},
		{"a larger one beyond", []lease.Record{rec(0, 7, alice, noon), rec(8, 99, none, noon-9)}, 4, "1 ranges leased, 0 too small: "},
		{"free across", []lease.Record{rec(0, 4, alice, noon), rec(5, 8, none, noon-9)}, 4, "1 ranges leased, 0 too small, 1 reaching beyond: "},
		{"everything in one range", []lease.Record{rec(0, end, none, noon-9)}, 4, "0 ranges leased, 0 too small, 1 reaching beyond: "},
		{"free later, across", []lease.Record{rec(0, 8, none, noon)}, 1, "0 ranges leased, 0 too small, 1 reaching beyond: "},
		{"too small", []lease.Record{rec(0, 1, none, noon-9), rec(2, 7, alice, noon)}, 4, "1 ranges leased, 1 too small: "},
		{"poisoned beyond", []lease.Record{rec(0, 7, alice, noon), rec(8, 8, none, noon+101)}, 1, "1 ranges leased, 0 too small: "},
	} {
		got, err := rules.Grant(tt.records, lease.Request{Nodes: tt.nodes, Below: 8, TTL: time.Second}, noon, 0)
		if !errors.Is(err, lease.ErrNoRange) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %+v, error %v, want ErrNoRange that says %q", tt.name, got, err, tt.says)
		}
	}
}

// TestKeepBelow: also a lease that takes the place of another lies below the bound.
func TestKeepBelow(t *testing.T) {
	inTown(t, func(w *town) {
		for _, below := range []uint32{1, randflake.MaxNode + 2} {
			if _, err := w.tryKeep(w.store, lease.Nodes(2), lease.Below(below)); !errors.Is(err, lease.ErrInvalidRequest) {
				w.Errorf("two nodes below %d: error %v, want ErrInvalidRequest", below, err)
			}
		}
		w.wantCalls("what no store can have")
		k := w.keep(lease.Below(1))
		w.generate(k)
		if got := k.Generator().Lease(); got.FirstNode != 0 || got.LastNode != 0 {
			w.Errorf("nodes %d to %d, want node 0", got.FirstNode, got.LastNode)
		}
		if _, err := w.tryKeep(w.store, lease.Below(1)); !errors.Is(err, lease.ErrNoRange) {
			w.Errorf("one more below 1: error %v, want ErrNoRange", err)
		}
		w.keep(lease.Below(0)) // no bound
		w.clock.step(-20 * time.Minute)
		w.wantRefused(k, randflake.ErrClockBackward)
		w.storm(k, 2*time.Minute)
		w.wantHealth(k, false, lease.ErrNoRange)
		records, err := w.store.List(w.Context())
		if err != nil || len(records) != 2 {
			w.Errorf("records %+v, %v; want those of nodes 0 and 1", records, err)
		}
	})
}

// A chooser is what withoutTheRest compares; the real one is Rules.Candidates.
type chooser func(records []lease.Record, req lease.Request, now int64, limit int) []lease.Record

// TestBelowIsWithoutTheRest: a store with a bound chooses as one without, where all from the bound on is
// taken.
func TestBelowIsWithoutTheRest(t *testing.T) {
	chosen := 0
	for seed := range uint64(3000) {
		n, err := withoutTheRest(rules.Candidates, seed)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		chosen += n
	}
	if chosen < 3000 {
		t.Errorf("%d candidates in all: they show little", chosen)
	}
}

// TestBelowIsWithoutTheRestNoticesBrokenRules is the negative control.
func TestBelowIsWithoutTheRestNoticesBrokenRules(t *testing.T) {
	for name, broken := range map[string]chooser{
		"no bound": func(records []lease.Record, req lease.Request, now int64, limit int) []lease.Record {
			req.Below = 0
			return rules.Candidates(records, req, now, limit)
		},
		"bounds what is new only": func(records []lease.Record, req lease.Request, now int64, limit int) []lease.Record {
			all := req
			all.Below = 0
			if old := rules.Candidates(records, all, now, limit); len(old) > 0 && old[0].Version > 0 {
				return old
			}
			return rules.Candidates(records, req, now, limit)
		},
		"bounds the first node": func(records []lease.Record, req lease.Request, now int64, limit int) []lease.Record {
			req.Below = min(req.Below+uint32(req.Nodes)-1, randflake.MaxNode+1)
			return rules.Candidates(records, req, now, limit)
		},
		"leaves out the last node": func(records []lease.Record, req lease.Request, now int64, limit int) []lease.Record {
			req.Below--
			return rules.Candidates(records, req, now, limit)
		},
		"takes the first that there is, or nothing": func(records []lease.Record, req lease.Request, now int64, limit int) []lease.Record {
			bound := req.Below
			req.Below = 0
			return slices.DeleteFunc(rules.Candidates(records, req, now, limit), func(r lease.Record) bool { return r.LastNode >= bound })
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3000) {
				if _, err := withoutTheRest(broken, seed); err != nil {
					return
				}
			}
			t.Error("3000 stores showed nothing wrong with it")
		})
	}
}

// withoutTheRest asks choose for nodes below a random bound in a random store, and the rules for as
// many without a bound once all else is taken, and returns how many candidates there were.
func withoutTheRest(choose chooser, seed uint64) (int, error) {
	rng := rand.New(rand.NewPCG(seed, 1))
	bound := uint32(1 + rng.IntN(40))
	var records, rest []lease.Record
	taken := func(first, last uint32) lease.Record { return rec(first, last, alice, noon) }
	next := uint32(0)
	for next < 60 {
		last := next + uint32(rng.IntN(6))
		if rng.IntN(3) > 0 {
			r := rec(next, last, []lease.Owner{{}, alice}[rng.IntN(2)], noon+int64(rng.IntN(12)-8)+int64(rng.IntN(10)/9*200))
			records = append(records, r)
			if last >= bound {
				r = taken(next, last)
			}
			rest = append(rest, r)
		} else if last >= bound {
			rest = append(rest, taken(max(next, bound), last))
		}
		next = last + 1
	}
	rest = append(rest, taken(next, randflake.MaxNode))
	req := lease.Request{Nodes: 1 + rng.IntN(int(min(bound, 6))), Below: bound}
	limit := 1 + rng.IntN(9)
	got := choose(records, req, noon, limit)
	req.Below = 0
	if want := rules.Candidates(rest, req, noon, limit); !slices.Equal(got, want) {
		return 0, fmt.Errorf("%d nodes below %d of %+v: %+v, want %+v", req.Nodes, bound, records, got, want)
	}
	return len(got), nil
}
