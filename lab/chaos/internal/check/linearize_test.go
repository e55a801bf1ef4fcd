package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lease"
)

var alice, bob = lease.Token{1}, lease.Token{2}

// far is a second that has not come.
const far = 4e9

// rec returns a state of a lease, whose version is the change as well, but for the first one.
func rec(owner lease.Token, version uint64, highWater int64) lease.Record {
	r := lease.Record{Owner: owner, Change: owner, Version: version, Start: 100, HighWater: highWater}
	if version > 1 {
		r.Change = change(version)
	}
	return r
}

func change(version uint64) lease.Token { return lease.Token{byte(version), byte(version >> 8), 9} }

// The calls of hand-made histories. Each takes one tick: 10*tick to 10*tick+9.

func at(tick int64, c call) *call {
	c.start, c.end = 10*tick, 10*tick+9
	if c.outcome == "" {
		c.outcome = journal.OK
	}
	return &c
}

func acquired(tick int64, r lease.Record) *call {
	return at(tick, call{op: journal.Acquire, token: r.Owner, rec: r})
}

func renewed(tick int64, held, r lease.Record) *call {
	return at(tick, call{op: journal.Renew, held: held, token: r.Change, rec: r})
}

func lookedUp(tick int64, held, r lease.Record) *call {
	return at(tick, call{op: journal.Lookup, held: held, rec: r})
}

func released(tick int64, held lease.Record) *call {
	return at(tick, call{op: journal.Release, held: held})
}

func lost(tick int64, op journal.Op, held lease.Record) *call {
	return at(tick, call{op: op, held: held, outcome: journal.Lost})
}

// maybe returns c with an outcome that nobody knows.
func maybe(c *call) *call {
	n := newCall(journal.Event{Op: c.op, At: c.start, Held: &c.held, Token: c.token})
	n.returned(journal.Event{Outcome: journal.Unknown})
	return n
}

// until returns c with a later end.
func until(tick int64, c *call) *call {
	c.end = 10*tick + 9
	return c
}

func TestHistories(t *testing.T) {
	a1, a2, a3 := rec(alice, 1, far), rec(alice, 2, far+20), rec(alice, 3, far+40)
	over := rec(alice, 1, 159)
	copys := a2
	copys.Change = lease.Token{7}
	for _, tt := range []struct {
		name  string
		want  Verdict
		calls []*call
	}{
		{"renewals and release", Linearizable, []*call{acquired(0, a1), renewed(1, a1, a2), renewed(2, a2, a3), released(3, a3)}},
		{"acquired again, with the reply lost", Linearizable, []*call{maybe(acquired(0, a1)), acquired(1, a1), acquired(2, a1), renewed(3, a1, a2)}},
		{"acquired again, after a renewal", Violated, []*call{acquired(0, a1), renewed(1, a1, a2), acquired(2, a1)}},
		{"another lease for the same token", Violated, []*call{acquired(0, a1), acquired(1, rec(alice, 5, far))}},
		{"renewal without a lease", Violated, []*call{renewed(1, a1, a2)}},
		{"two renewals of one version, as of a process and its copy", Violated, []*call{acquired(0, a1), renewed(1, a1, a2), renewed(2, a1, copys)}},
		{"two renewals of one version at once", Violated, []*call{acquired(0, a1), until(2, renewed(1, a1, a2)), renewed(2, a1, copys)}},
		{"renewal that a copy is refused", Linearizable, []*call{acquired(0, a1), renewed(1, a1, a2), lost(2, journal.Renew, a1), renewed(3, a2, a3)}},
		{"renewal that lowers the mark", Violated, []*call{acquired(0, a1), renewed(1, a1, rec(alice, 2, far-1))}},
		{"renewal after a release", Violated, []*call{acquired(0, a1), released(1, a1), renewed(2, a1, a2)}},

		{"lost after a release", Linearizable, []*call{acquired(0, a1), released(1, a1), lost(2, journal.Renew, a1), lost(3, journal.Lookup, a1)}},
		{"lost after the end", Linearizable, []*call{acquired(0, over), lost(1, journal.Renew, over)}},
		{"lost without a reason", Violated, []*call{acquired(0, a1), lost(1, journal.Renew, a1)}},
		{"lookup lost without a reason", Violated, []*call{acquired(0, a1), lost(1, journal.Lookup, a1)}},
		{"lookup", Linearizable, []*call{acquired(0, a1), renewed(1, a1, a2), lookedUp(2, a1, a2)}},
		{"lookup that shows somebody else's change", Violated, []*call{acquired(0, a1), renewed(1, a1, a2), lookedUp(2, a1, copys)}},
		{"lookup of the past", Violated, []*call{acquired(0, a1), renewed(1, a1, a2), lookedUp(2, a1, a1)}},
		{"lookup of the past, at the time of the change", Linearizable, []*call{acquired(0, a1), renewed(1, a1, a2), until(2, lookedUp(1, a1, a1))}},
		{"released twice", Violated, []*call{acquired(0, a1), released(1, a1), released(2, a1)}},
		{"stale release", Violated, []*call{acquired(0, a1), renewed(1, a1, a2), released(2, a1)}},
		{"stale release refused", Linearizable, []*call{acquired(0, a1), renewed(1, a1, a2), lost(2, journal.Release, a1)}},

		{"renewal that may have happened, and did", Linearizable, []*call{acquired(0, a1), maybe(renewed(1, a1, a2)), lookedUp(2, a1, a2)}},
		{"renewal that may have happened, and did not", Linearizable, []*call{acquired(0, a1), maybe(renewed(1, a1, a2)), lookedUp(2, a1, a1), renewed(3, a1, copys)}},
		{"renewal that happened late", Linearizable, []*call{acquired(0, a1), maybe(renewed(1, a1, a2)), lookedUp(2, a1, a1), lost(3, journal.Renew, a1), lookedUp(4, a1, a2)}},
		{"renewal that happened too early", Violated, []*call{acquired(0, a1), lookedUp(1, a1, a2), maybe(renewed(2, a1, a2))}},
		{"renewal that happened and was undone", Violated, []*call{acquired(0, a1), maybe(renewed(1, a1, a2)), lookedUp(2, a1, a2), lookedUp(3, a1, a1)}},
		{"release that may have happened, and did", Linearizable, []*call{acquired(0, a1), maybe(released(1, a1)), lost(2, journal.Renew, a1)}},
		{"release that may have happened, and did not", Linearizable, []*call{acquired(0, a1), maybe(released(1, a1)), renewed(2, a1, a2)}},
		{"release that happened and was undone", Violated, []*call{acquired(0, a1), maybe(released(1, a1)), lost(2, journal.Renew, a1), renewed(3, a1, a2)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Config{Secret: secret})
			c.calls = append(tt.calls, acquired(0, rec(bob, 1, far))) // which is of no concern
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
	a1, a2 := rec(alice, 1, far), rec(alice, 2, far+20)
	for _, tt := range []struct {
		name  string
		want  Verdict
		calls []*call
	}{
		{"forgotten", Linearizable, []*call{acquired(0, a1), renewed(1, a1, a2), lost(20, journal.Renew, a2)}},
		{"forgotten too early", Violated, []*call{acquired(0, a1), renewed(1, a1, a2), lost(2, journal.Renew, a2)}},
		{"wrong afterwards", Violated, []*call{renewed(20, a1, a2), renewed(21, a1, a2)}},
		{"back in time", Linearizable, []*call{acquired(0, a1), renewed(1, a1, a2), lookedUp(20, a1, a1), lost(21, journal.Renew, a2), released(22, a1)}},
		{"call at the time of the loss", Linearizable, []*call{acquired(0, a1), until(12, renewed(5, a1, a2)), lookedUp(20, a1, a1)}},
		{"call at the time of the loss, after it", Linearizable, []*call{acquired(0, a1), until(12, renewed(5, a1, a2)), lookedUp(20, a1, a1), lookedUp(21, a1, a2)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Config{Secret: secret})
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
	a1 := rec(alice, 1, far)
	for restart, want := range map[int64]Verdict{19: Linearizable, 20: Violated} {
		c := New(Config{Secret: secret})
		c.calls = []*call{acquired(0, a1), lost(1, journal.Renew, a1), released(2, a1)}
		c.Restarted(restart)
		if err := c.linearize(); err != nil || c.result.Linearizable != want {
			t.Errorf("restarted at %d: %s, error %v, want %s", restart, c.result.Linearizable, err, want)
		}
	}
}

func TestPicture(t *testing.T) {
	c := New(Config{Secret: secret, Picture: filepath.Join(t.TempDir(), "calls.html")})
	bad := rec(alice, 1, far)
	c.calls = []*call{acquired(0, rec(bob, 1, far)), acquired(0, bad), released(1, bad), released(2, bad)}
	if err := c.linearize(); err != nil {
		t.Fatal(err)
	}
	if c.result.Linearizable != Violated || len(c.result.Violations) != 1 || !strings.Contains(c.result.Violations[0], alice.String()) {
		t.Errorf("%s: %q, want alice's lease named", c.result.Linearizable, c.result.Violations)
	}
	page, err := os.ReadFile(c.config.Picture)
	if err != nil || !strings.Contains(string(page), "<html") || !strings.Contains(string(page), "release v1") {
		t.Errorf("picture: error %v, %d bytes, want an HTML page with the calls", err, len(page))
	}
}

func TestNoTimeout(t *testing.T) {
	c := New(Config{Secret: secret, Timeout: time.Nanosecond})
	c.calls = []*call{acquired(0, rec(alice, 1, far))}
	if err := c.linearize(); err != nil || c.result.Linearizable != Undecided || c.result.OK() {
		t.Errorf("%s, error %v, want undecided, and no pass", c.result.Linearizable, err)
	}
}

// TestLongHistory has thousands of renewals, some of unknown outcome, and a fault at the end, which is found
// without delay.
func TestLongHistory(t *testing.T) {
	for _, faulty := range []bool{false, true} {
		c := New(Config{Secret: secret, Timeout: 30 * time.Second})
		held := rec(alice, 1, far)
		c.calls = append(c.calls, acquired(0, held))
		for i := int64(1); i < 3000; i++ {
			next := rec(alice, held.Version+1, held.HighWater+20)
			c.calls = append(c.calls, renewed(i, held, next))
			if i%200 == 0 {
				c.calls = append(c.calls, maybe(renewed(i, next, next)))
			}
			held = next
		}
		want := Linearizable
		if faulty {
			c.calls = append(c.calls, lost(3001, journal.Renew, held))
			want = Violated
		}
		if err := c.linearize(); err != nil || c.result.Linearizable != want {
			t.Errorf("%s, error %v, want %s", c.result.Linearizable, err, want)
		}
	}
}
