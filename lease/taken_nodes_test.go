package lease

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/internal/entry"
)

// TestTakenNodes: the next free node of a window only grows, whatever is taken, and the entry stays small.
func TestTakenNodes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	n, err := decodeTakenNodes(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int64]uint32{}
	for i := range 20000 {
		window := random.Int64N(100) + int64(i)/100 + random.Int64N(2)*random.Int64N(2)*1e6
		next := n.at(window) + 1 + random.Uint32N(3)
		if next < want[window] {
			t.Fatalf("window %d went back from %d to %d", window, want[window], next)
		}
		want[window] = next
		n.put(window, next, maxSteps, 0)
		if n, err = decodeTakenNodes(n.encode()); err != nil || len(n.encode()) > 2000 {
			t.Fatalf("%d bytes, %v", len(n.encode()), err)
		}
	}
	for window, next := range want {
		if n.at(window) < next {
			t.Errorf("window %d went back from %d to %d", window, next, n.at(window))
		}
	}
}

// TestTakenNodesAtFloor: however many steps are merged, the next free node of a window from the floor on is
// never one of the reserve, as the window would be full.
func TestTakenNodesAtFloor(t *testing.T) {
	const floor, main, most = 100, 5, 9 // the reserve has nodes 5 to 8
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n, err := decodeTakenNodes(nil)
		if err != nil {
			t.Fatal(err)
		}
		n.restart(floor, main)
		n.put(floor, main, 4, floor) // as many as are taken in the windows before
		for range 200 {
			window := floor - 4 + random.Int64N(8)
			end := uint32(main)
			if window < floor {
				end = most
			}
			if next := n.at(window) + 1; next <= end {
				n.put(window, next, 4, floor)
			}
			if last, first := n.at(floor-1), n.at(floor); last < main || first > main {
				t.Fatalf("%d before the floor and %d at it: %v", last, first, n.Steps)
			}
		}
	}
}

// TestMerge: an entry is full of steps, and a take needs two more. Those two pairs are merged that waste the
// fewest nodes, and the higher node counts, but neither the newest half of the steps nor the last one.
func TestMerge(t *testing.T) {
	present := noon.Unix() / 60
	start := present - 1000
	rising := func(i int) uint32 { return uint32(1000 + 100*i) }
	falling := func(i int) uint32 { return uint32(9000 - 100*i) }
	for _, c := range []struct {
		name    string
		next    func(i int) uint32
		change  func(steps []step) // of 64 steps, each of ten windows
		window  int64              // that is taken
		mergers []int              // first steps of pairs
	}{
		{"small differences, rising", rising, func(steps []step) {
			steps[10].Next = steps[11].Next - 1
			steps[20].Next = steps[21].Next - 2
		}, present, []int{10, 20}},
		{"small differences, falling", falling, func(steps []step) {
			steps[11].Next = steps[10].Next - 1
			steps[21].Next = steps[20].Next - 2
		}, present, []int{10, 20}},
		{"short steps, rising", rising, func(steps []step) {
			steps[10].From += 8
			steps[20].From += 7
		}, present, []int{10, 20}},
		{"short steps, falling", falling, func(steps []step) {
			steps[11].From += 8
			steps[21].From += 7
		}, present, []int{10, 20}},
		{"the first of a pair is new", rising, func(steps []step) {
			steps[10].Next = steps[11].Next - 1
			steps[10].Take = 100
			steps[20].Next = steps[21].Next - 2
			steps[30].Next = steps[31].Next - 3
		}, present, []int{20, 30}},
		{"the second of a pair is new", rising, func(steps []step) {
			steps[10].Next = steps[11].Next - 1
			steps[11].Take = 100
			steps[20].Next = steps[21].Next - 2
			steps[30].Next = steps[31].Next - 3
		}, present, []int{20, 30}},
		{"each pair is new", rising, func(steps []step) {
			for i := range steps {
				steps[i].Take = int64(100 * (i % 2))
			}
			steps[10].Next = steps[11].Next - 1
			steps[20].Next = steps[21].Next - 2
		}, present, []int{10, 20}},
		{"the newest are in the middle", rising, func(steps []step) {
			for i := 30; i < 36; i++ {
				steps[i].Take = 999
			}
			steps[50].Next = steps[51].Next - 1
			steps[10].Next = steps[11].Next - 2
			steps[20].Next = steps[21].Next - 3
		}, present, []int{10, 20}},
		{"the oldest of the newer half", rising, func(steps []step) {
			steps[32].Next = steps[33].Next - 1
			steps[10].Next = steps[11].Next - 2
			steps[20].Next = steps[21].Next - 3
		}, present, []int{10, 20}},
		{"the last but one", rising, func(steps []step) {
			steps[20].Next = steps[21].Next - 2
			steps[61].Next = steps[62].Next - 1
			steps[61].Take, steps[62].Take = 0, 0
		}, start + 405, []int{20, 61}},
		{"none, as the node becomes that of the windows after", rising, func(steps []step) {
			steps[30].Next = steps[31].Next - 1
		}, start + 309, nil},
		{"none, as the node becomes that of the windows before", falling, func(steps []step) {
			steps[0].Next = steps[1].Next + 1
		}, start + 10, nil},
	} {
		steps := make([]step, 64)
		for i := range steps {
			steps[i] = step{start + 10*int64(i), c.next(i), int64(i)}
		}
		c.change(steps)
		steps[0].From, steps[63].Next = 0, 0
		data := newMemory()
		s := create(t, conn{memory: data}, Limits{}, atNoon)
		data.data["s/leases"] = string((&takenNodes{1000, steps}).encode())
		if _, err := takeWindow(t.Context(), s, c.window, 1); err != nil {
			t.Fatal(err)
		}
		got, err := decodeTakenNodes([]byte(data.data["s/leases"]))
		if err != nil || len(got.Steps) != 64 {
			t.Fatalf("%s: %d steps, %v", c.name, len(got.Steps), err)
		}
		if newest := got.Steps[got.index(c.window)].Take; newest != 1001 {
			t.Errorf("%s: take %d, after 1000", c.name, newest)
		}
		before := &takenNodes{1000, slices.Clone(steps)}
		for _, i := range c.mergers {
			higher := max(steps[i].Next, steps[i+1].Next)
			before.Steps[i].Next, before.Steps[i+1].Next = higher, higher
		}
		for window := start - 10; window < present+10; window++ {
			want := before.at(window)
			if window == c.window {
				want++
			}
			if got.at(window) != want {
				t.Errorf("%s: node %d is next in window %d, want %d", c.name, got.at(window), window-start, want)
			}
		}
	}
}

// TestLargest: the largest entries are no larger than engines on small stores count them.
func TestLargest(t *testing.T) {
	taken := &takenNodes{Count: 999999999999}
	for range maxSteps {
		taken.Steps = append(taken.Steps, step{From: 9999999999, Next: randflake.MaxNode + 1, Take: 999999999999})
	}
	leases := taken.encode()
	meta, metaErr := largestMeta.encode()
	young, youngErr := Counter{Step: 1, Periods: "day in UTC"}.encode()
	old, oldErr := Counter{
		Next:    math.MaxInt64,
		Step:    1,
		Periods: "day in UTC",
		Period:  strings.Repeat("p", longestKey),
		Begin:   1799971200,
		ID:      largestMeta.ID,
	}.encode()
	if err := errors.Join(metaErr, youngErr, oldErr); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name       string
		size, most int
	}{
		{"why data was lost", longestWhy, len(largestMeta.Why)},
		{"leases", len(leases), entry.MaxLeases},
		{"meta", len(meta), entry.MaxMeta},
		{"a counter's growth", len(old) - len(young), entry.Growth},
	} {
		if tt.size > tt.most {
			t.Errorf("%s: %d bytes, want at most %d", tt.name, tt.size, tt.most)
		}
	}
}

// largestMeta is that of a space in a ConfigMap that has lost data, was moved there, and moved on.
var largestMeta = meta{
	Limits:      Limits{131072, 24 * time.Hour, 32, 24 * time.Hour, 2016},
	Check:       "0123456789abcdef",
	Name:        strings.Repeat("A", 26),
	ID:          strings.Repeat("A", 26),
	Losses:      1000,
	Begin:       9999999999,
	Floor:       9999999999,
	Tick:        9999999999,
	Lineage:     strings.Repeat("A", 62),
	Why:         "the data is another copy, " + strings.Repeat("A", 62) + " in place of " + strings.Repeat("A", 62),
	Retired:     true,
	Successor:   strings.Repeat("A", 26),
	MovedTo:     strings.Repeat("A", 150),
	Predecessor: strings.Repeat("A", 26),
}
