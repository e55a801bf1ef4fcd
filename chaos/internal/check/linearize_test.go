package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/chaos/internal/journal"
	"github.com/randflake/randflake/lease"
)

var (
	alice, bob, carol = lease.Owner{1}, lease.Owner{2}, lease.Owner{3}
	nobody            = lease.Owner{}
)

// rec returns a record of node 0.
func rec(owner lease.Owner, version uint64, start, highWater int64) lease.Record {
	return lease.Record{Owner: owner, Version: version, Start: start, HighWater: highWater}
}

// The calls of hand-made histories. Each takes one tick: 10*tick to 10*tick+9.

func acquired(tick int64, r lease.Record) *call {
	return &call{op: journal.Acquire, nodes: 1, rec: r, outcome: journal.OK, start: 10 * tick, end: 10*tick + 9}
}

func renewed(tick int64, held, r lease.Record) *call {
	return &call{op: journal.Renew, held: held, rec: r, outcome: journal.OK, start: 10 * tick, end: 10*tick + 9}
}

func lookedUp(tick int64, held, r lease.Record) *call {
	return &call{op: journal.Lookup, held: held, rec: r, outcome: journal.OK, start: 10 * tick, end: 10*tick + 9}
}

func released(tick int64, held lease.Record, lastUsed int64) *call {
	return &call{op: journal.Release, held: held, lastUsed: lastUsed, outcome: journal.OK, start: 10 * tick, end: 10*tick + 9}
}

func listed(tick int64, records ...lease.Record) *call {
	return &call{op: journal.List, records: records, outcome: journal.OK, start: 10 * tick, end: 10*tick + 9}
}

func lost(tick int64, op journal.Op, held lease.Record) *call {
	return &call{op: op, held: held, outcome: journal.Lost, start: 10 * tick, end: 10*tick + 9}
}

// maybe returns c with an outcome that nobody knows.
func maybe(c *call) *call {
	var e journal.Event
	e.Outcome = journal.Unknown
	n := newCall(&process{}, journal.Event{Op: c.op, At: c.start, Held: &c.held, Nodes: c.nodes, LastUsed: c.lastUsed})
	n.returned(e)
	return n
}

// until returns c with a later end.
func until(tick int64, c *call) *call {
	c.end = 10*tick + 9
	return c
}

func TestHistories(t *testing.T) {
	a1, a2 := rec(alice, 1, 100, 159), rec(alice, 2, 100, 179)
	b2, b3 := rec(bob, 2, 160, 219), rec(bob, 3, 180, 239)
	c3 := rec(carol, 3, 161, 219)
	ghost, ofTwo := acquired(1, lease.Record{}), acquired(1, lease.Record{})
	ofTwo.nodes = 2
	for _, tt := range []struct {
		name  string
		want  Verdict
		calls []*call
	}{
		{"renewal and takeover", Linearizable, []*call{acquired(0, a1), renewed(1, a1, a2), acquired(2, b3)}},
		{"takeover within the lease", Violated, []*call{acquired(0, a1), acquired(1, rec(bob, 2, 159, 218))}},
		{"takeover within the renewed lease", Violated, []*call{acquired(0, a1), renewed(1, a1, a2), acquired(2, rec(bob, 3, 160, 219))}},
		{"two holders of one version", Violated, []*call{acquired(0, a1), acquired(1, rec(bob, 1, 160, 219))}},
		{"renewal after takeover", Violated, []*call{acquired(0, a1), acquired(1, b2), renewed(2, a1, a2)}},
		{"renewal at the time of the takeover, later version", Violated, []*call{acquired(0, a1), acquired(1, b2), until(1, renewed(1, a1, a2))}},
		{"renewal at the time of the takeover", Linearizable, []*call{acquired(0, a1), acquired(1, b3), until(1, renewed(1, a1, a2))}},
		{"renewal that lowers the mark", Violated, []*call{acquired(0, a1), renewed(1, a1, rec(alice, 2, 100, 150))}},
		{"renewal that moves the start", Violated, []*call{acquired(0, a1), renewed(1, a1, rec(alice, 2, 90, 179))}},
		{"lease without an owner", Violated, []*call{acquired(0, rec(nobody, 1, 100, 159))}},
		{"record that expired", Violated, []*call{acquired(0, a1), acquired(1, rec(bob, 1, 200, 259))}},

		{"lost after takeover", Linearizable, []*call{acquired(0, a1), acquired(1, b2), lost(2, journal.Renew, a1), lost(2, journal.Lookup, a1)}},
		{"lost without a reason", Violated, []*call{acquired(0, a1), lost(1, journal.Renew, a1), acquired(2, b2)}},
		{"lookup lost without a reason", Violated, []*call{acquired(0, a1), lost(1, journal.Lookup, a1), acquired(2, b2)}},
		{"lookup", Linearizable, []*call{acquired(0, a1), renewed(1, a1, a2), lookedUp(2, a1, a2)}},
		{"lookup of the past", Violated, []*call{acquired(0, a1), renewed(1, a1, a2), lookedUp(2, a1, a1)}},
		{"lookup of the past, at the time of the change", Linearizable, []*call{acquired(0, a1), renewed(1, a1, a2), until(2, lookedUp(1, a1, a1))}},

		{"release and takeover", Linearizable, []*call{acquired(0, a1), released(1, a1, 120), acquired(2, rec(bob, 3, 121, 180))}},
		{"release of an unused lease", Linearizable, []*call{acquired(0, a1), released(1, a1, 0), acquired(2, rec(bob, 3, 100, 159))}},
		{"takeover of a used second", Violated, []*call{acquired(0, a1), released(1, a1, 120), acquired(2, rec(bob, 3, 120, 180))}},
		{"stale release", Violated, []*call{acquired(0, a1), acquired(1, b2), released(2, a1, 120)}},
		{"stale release refused", Linearizable, []*call{acquired(0, a1), acquired(1, b2), lost(2, journal.Release, a1)}},
		{"released twice", Violated, []*call{acquired(0, a1), released(1, a1, 120), released(2, a1, 120)}},

		{"list", Linearizable, []*call{listed(0), acquired(1, a1), listed(2, a1), acquired(3, b2), listed(4, b2)}},
		{"list of the past", Violated, []*call{acquired(1, a1), acquired(2, b2), listed(3, a1)}},
		{"list without a record", Violated, []*call{acquired(1, a1), listed(2), acquired(3, b2)}},

		{"renewal that may have happened, and did", Linearizable, []*call{acquired(0, a1), maybe(renewed(1, a1, a2)), lookedUp(2, a1, a2)}},
		{"renewal that may have happened, and did not", Linearizable, []*call{acquired(0, a1), maybe(renewed(1, a1, a2)), lookedUp(2, a1, a1), acquired(3, b2)}},
		{"renewal that happened late", Linearizable, []*call{acquired(0, a1), maybe(renewed(1, a1, a2)), lookedUp(2, a1, a1), lost(3, journal.Renew, a1), lookedUp(4, a1, a2)}},
		{"renewal that happened too early", Violated, []*call{acquired(0, a1), lookedUp(1, a1, a2), maybe(renewed(2, a1, a2))}},
		{"renewal that happened and was undone", Violated, []*call{acquired(0, a1), maybe(renewed(1, a1, a2)), lookedUp(2, a1, a2), lookedUp(3, a1, a1)}},
		{"two renewals that may have happened, one did", Linearizable, []*call{acquired(0, a1), maybe(renewed(1, a1, a2)), maybe(renewed(2, a1, a2)), acquired(3, b3)}},
		{"renewal that may have happened twice", Violated, []*call{acquired(0, a1), maybe(renewed(1, a1, a2)), maybe(renewed(2, a1, a2)), acquired(3, rec(bob, 4, 200, 259))}},
		{"takeover within a renewal that must have happened", Violated, []*call{acquired(0, a1), maybe(renewed(1, a1, a2)), acquired(2, rec(bob, 3, 159, 219))}},
		{"release that may have happened, and did", Linearizable, []*call{acquired(0, a1), maybe(released(1, a1, 120)), acquired(2, rec(bob, 3, 121, 180))}},
		{"release that may have happened, and did not", Violated, []*call{acquired(0, a1), maybe(released(1, a1, 120)), acquired(2, rec(bob, 2, 121, 180))}},

		{"acquisition that may have happened, and did", Linearizable, []*call{acquired(0, a1), maybe(ghost), lost(2, journal.Renew, a1), acquired(3, c3)}},
		{"acquisition that may have happened, and did not", Linearizable, []*call{acquired(0, a1), maybe(ghost), renewed(2, a1, a2)}},
		{"acquisition that may have happened, of more nodes", Violated, []*call{acquired(0, a1), maybe(ofTwo), lost(2, journal.Renew, a1), acquired(3, c3)}},
		{"acquisition that began too late", Violated, []*call{acquired(0, a1), lost(1, journal.Renew, a1), maybe(acquired(2, lease.Record{}))}},
		{"acquisition that happened within a lease", Violated, []*call{acquired(0, a1), maybe(ghost), acquired(3, rec(carol, 3, 160, 219))}},
		{"acquisition that may have happened twice", Violated, []*call{acquired(0, a1), maybe(ghost), acquired(3, rec(carol, 4, 300, 359))}},
		{"acquisition that may have happened, listed", Linearizable, []*call{acquired(0, a1), maybe(ghost), listed(2, b2), acquired(3, rec(carol, 3, 220, 259))}},
		{"acquisition that may have happened, listed wrongly", Violated, []*call{acquired(0, a1), maybe(ghost), listed(2, rec(bob, 2, 159, 219)), acquired(3, rec(carol, 3, 220, 259))}},
		{"renewal, then acquisition, both of unknown outcome", Linearizable, []*call{acquired(0, a1), maybe(ghost), maybe(renewed(1, a1, a2)), lost(2, journal.Lookup, a1), acquired(3, rec(carol, 4, 300, 359))}},
		{"change of unknown outcome in the wrong order", Violated, []*call{acquired(0, a1), until(3, lookedUp(1, a1, a2)), lookedUp(2, a1, a2), maybe(renewed(3, a1, a2))}},
		{"two explanations, of which only the older one is possible", Linearizable, []*call{acquired(0, a1), maybe(ghost), maybe(renewed(4, a1, a2)),
			until(6, acquired(2, b3)), renewed(3, b3, rec(bob, 4, 180, 259))}},
		{"two explanations, of which the other one is needed later", Linearizable, []*call{acquired(0, a1), maybe(ghost), maybe(renewed(1, a1, a2)),
			acquired(3, b3), acquired(4, rec(carol, 5, 300, 359))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Config{})
			c.calls = tt.calls
			if err := c.linearize(); err != nil {
				t.Fatal(err)
			}
			if got := c.result.Linearizable; got != tt.want {
				t.Errorf("%s, want %s: %v", got, tt.want, c.result.Violations)
			}
		})
	}
}

func TestLossOfData(t *testing.T) {
	a1, a2 := rec(alice, 1, 100, 159), rec(alice, 2, 100, 179)
	b1, b2 := rec(bob, 1, 900, 959), rec(bob, 2, 900, 979)
	for _, tt := range []struct {
		name  string
		want  Verdict
		calls []*call
	}{
		{"forgotten", Linearizable, []*call{acquired(0, a1), renewed(1, a1, a2), acquired(20, b1), renewed(21, b1, b2)}},
		{"forgotten too early", Violated, []*call{acquired(0, a1), acquired(1, b1), renewed(20, b1, b2)}},
		{"wrong afterwards", Violated, []*call{acquired(20, a1), acquired(21, b1)}},
		{"back in time", Linearizable, []*call{acquired(0, a1), renewed(1, a1, a2), lookedUp(20, a1, a1), lost(21, journal.Renew, a1), released(22, a1, 100)}},
		{"something that was there", Linearizable, []*call{renewed(20, a1, a2), acquired(21, rec(bob, 3, 180, 259))}},
		{"nothing there", Linearizable, []*call{listed(20), acquired(21, b1)}},
		{"nothing there, and yet something", Violated, []*call{listed(20), acquired(21, b2)}},
		{"renewal that lowers the mark", Violated, []*call{renewed(20, a1, rec(alice, 2, 100, 150))}},
		{"call at the time of the loss", Linearizable, []*call{acquired(0, a1), until(12, renewed(5, a1, a2)), lookedUp(20, a1, a1)}},
		{"call at the time of the loss, after it", Linearizable, []*call{acquired(0, a1), until(12, renewed(5, a1, a2)), lookedUp(20, a1, a1), lookedUp(21, a1, a2)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Config{})
			c.calls = tt.calls
			c.DataLost(100, 110)
			if err := c.linearize(); err != nil {
				t.Fatal(err)
			}
			if got := c.result.Linearizable; got != tt.want {
				t.Errorf("%s, want %s: %v", got, tt.want, c.result.Violations)
			}
		})
	}
}

func TestRestart(t *testing.T) {
	a1 := rec(alice, 1, 100, 159)
	for at, want := range map[int64]Verdict{19: Linearizable, 20: Violated} {
		c := New(Config{})
		c.calls = []*call{acquired(0, a1), lost(1, journal.Renew, a1), released(2, a1, 120)}
		c.Restarted(at)
		if err := c.linearize(); err != nil || c.result.Linearizable != want {
			t.Errorf("restarted at %d: %s, error %v, want %s", at, c.result.Linearizable, err, want)
		}
	}
}

// TestRangesAreApart has a fault in one of many ranges.
func TestRangesAreApart(t *testing.T) {
	c := New(Config{Picture: filepath.Join(t.TempDir(), "calls.html")})
	for node := range uint32(50) {
		r := rec(alice, 1, 100, 159)
		r.FirstNode, r.LastNode = node, node
		c.calls = append(c.calls, acquired(int64(node), r))
	}
	bad := rec(bob, 1, 100, 159)
	bad.FirstNode, bad.LastNode = 33, 33
	c.calls = append(c.calls, acquired(70, bad))
	if err := c.linearize(); err != nil {
		t.Fatal(err)
	}
	if c.result.Linearizable != Violated || len(c.result.Violations) != 1 || !strings.Contains(c.result.Violations[0], "nodes 33 to 33") {
		t.Errorf("%s: %q, want nodes 33 to 33 named", c.result.Linearizable, c.result.Violations)
	}
	page, err := os.ReadFile(c.config.Picture)
	if err != nil || !strings.Contains(string(page), "<html") || !strings.Contains(string(page), bob.String()) {
		t.Errorf("picture: error %v, %d bytes, want an HTML page with the calls", err, len(page))
	}
}

func TestNoPatience(t *testing.T) {
	c := New(Config{Patience: time.Nanosecond})
	c.calls = []*call{acquired(0, rec(alice, 1, 100, 159))}
	if err := c.linearize(); err != nil || c.result.Linearizable != Undecided || c.result.OK() {
		t.Errorf("%s, error %v, want undecided, and no pass", c.result.Linearizable, err)
	}
}

// TestLongHistory has thousands of renewals, hundreds of kills with a renewal and an acquisition
// of unknown outcome each, and a fault at the end, which is found without delay.
func TestLongHistory(t *testing.T) {
	for _, faulty := range []bool{false, true} {
		c := New(Config{Patience: 30 * time.Second})
		var at, version, highWater = int64(0), uint64(0), int64(100)
		for i := range 300 {
			owner := lease.Owner{byte(i), byte(i >> 8), 1}
			at, version = at+1, version+1
			held := rec(owner, version, highWater+1, highWater+60)
			c.calls = append(c.calls, acquired(at, held))
			for range 30 {
				at, version = at+1, version+1
				next := rec(owner, version, held.Start, held.HighWater+20)
				c.calls = append(c.calls, renewed(at, held, next), until(at+1, lost(at+1, journal.Renew, held)))
				held = next
			}
			c.calls = append(c.calls, maybe(renewed(at, held, held)), maybe(acquired(at, lease.Record{})))
			if i%3 == 0 {
				version++ // the renewal did happen
			}
			highWater = held.HighWater + 100
		}
		want := Linearizable
		if faulty {
			c.calls = append(c.calls, acquired(at+9, rec(bob, version+400, 1, 2)))
			want = Violated
		}
		if err := c.linearize(); err != nil || c.result.Linearizable != want {
			t.Errorf("%s, error %v, want %s", c.result.Linearizable, err, want)
		}
	}
}
