package check

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// leaseOnAll is a record that grants everything.
var leaseOnAll = lease.Record{LastNode: randflake.MaxNode, Owner: lease.Token{1}, Version: 1, Start: randflake.Epoch, HighWater: randflake.MaxTimestamp}

// TestIDsOutsideOfLeases has a process make one ID too many in each direction.
func TestIDsOutsideOfLeases(t0 *testing.T) {
	for name, tt := range map[string]struct{ second, node int64 }{
		"before the start": {second - 1, 0},
		"after the end":    {second + 60, 0},
		"another node":     {second, 2},
	} {
		t0.Run(name, func(t0 *testing.T) {
			t := newTrial(t0)
			a := t.worker("a")
			held := t.acquire(a, 2)
			t.made(a, second, held.LastNode, 0, 100)
			t.made(a, second+59, held.FirstNode, 0, 100)
			t.made(a, tt.second, held.FirstNode+uint32(tt.node), 0, 1)
			r := t.result()
			t.wantFaults(r, "outside")
			if o := r.FirstOutside[0]; r.Outside != 1 || o.Second != tt.second || o.Node != held.FirstNode+uint32(tt.node) || o.Origin.Worker != "a" {
				t.Errorf("%+v, want the one ID of second %d, node %d", r, tt.second, tt.node)
			}
		})
	}
}

func TestLeaseOfAnotherProcess(t0 *testing.T) {
	t := newTrial(t0)
	a, b := t.worker("a"), t.worker("b")
	held := t.acquire(a, 1)
	t.made(b, second, held.FirstNode, 0, 1)
	t.wantFaults(t.result(), "outside")
}

func TestIDsMadeBeforeTheirLease(t0 *testing.T) {
	t := newTrial(t0)
	a := t.worker("a")
	t.made(a, second, 0, 0, 5000) // it guesses what it will get
	held := t.acquire(a, 1)
	t.made(a, second, held.FirstNode, 5000, 5000)
	r := t.result()
	t.wantFaults(r, "outside")
	if r.Outside != 5000 || !strings.Contains(r.FirstOutside[0].Why, "later") {
		t.Errorf("%+v, want the 5000 IDs outside that were made before", r)
	}
}

func TestIDsMadeBeforeTheirRenewal(t0 *testing.T) {
	t := newTrial(t0)
	a := t.worker("a")
	held := t.acquire(a, 1)
	t.made(a, second+60, held.FirstNode, 0, 2048)
	t.clock.Advance(time.Minute)
	if _, err := a.Renew(ctx, held, lease.Renewal{TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	t.made(a, second+60, held.FirstNode, 2048, 2048)
	if r := t.result(); r.Outside != 2048 {
		t.Errorf("%d IDs outside, want 2048: %+v", r.Outside, r)
	}
}

// TestIDsAfterRelease has a process tell the store less than it used, and go on afterwards.
func TestIDsAfterRelease(t0 *testing.T) {
	for name, late := range map[string]bool{"made before": false, "made after": true} {
		t0.Run(name, func(t0 *testing.T) {
			t := newTrial(t0)
			a := t.worker("a")
			held := t.acquire(a, 1)
			t.made(a, second, held.FirstNode, 0, 1<<17)
			release := func() {
				if err := a.Release(ctx, held, time.Unix(second, 0)); err != nil {
					t.Fatal(err)
				}
			}
			if late {
				release()
			}
			for i := range 8 { // so that a segment is complete, and checked, before the rest
				t.made(a, second+1+int64(i), held.FirstNode, 0, 1<<17)
			}
			if err := t.checker.Read(a.dir, false); err != nil {
				t.Fatal(err)
			}
			if !late {
				release()
			}
			r := t.result()
			t.wantFaults(r, "outside")
			if want := uint64(8 << 17); r.Outside != want {
				t.Errorf("%d IDs outside, want %d: %+v", r.Outside, want, r)
			}
		})
	}
}

func TestPieces(t *testing.T) {
	raw := func(second int64, node, sequence uint32) uint64 {
		id, err := cipher.Compose(randflake.Fields{Time: time.Unix(second, 0), Node: node, Sequence: sequence})
		if err != nil {
			t.Fatal(err)
		}
		return uint64(cipher.Decrypt(id))
	}
	const last = randflake.MaxSequence
	for _, tt := range []struct {
		run  run
		want []piece
	}{
		{run{raw(second, 5, 7), raw(second, 5, 7)}, []piece{{second, 5, 1}}},
		{run{raw(second, 5, last), raw(second, 7, 0)}, []piece{{second, 5, 1}, {second, 6, last + 1}, {second, 7, 1}}},
		{run{raw(second, randflake.MaxNode, last), raw(second+1, 0, 1)}, []piece{{second, randflake.MaxNode, 1}, {second + 1, 0, 2}}},
		{run{math.MaxUint64 - 1, math.MaxUint64}, []piece{{randflake.MaxTimestamp, randflake.MaxNode, 2}}},
	} {
		var got []piece
		tt.run.pieces(func(p piece) { got = append(got, p) })
		if len(got) != len(tt.want) {
			t.Fatalf("%+v: pieces %v, want %v", tt.run, got, tt.want)
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%+v: pieces %v, want %v", tt.run, got, tt.want)
			}
		}
	}
}
