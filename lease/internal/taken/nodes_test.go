package taken

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// TestNodes: the next free node of a window only grows, whatever is taken, and the entry stays small.
func TestNodes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	n, err := Decode(nil)
	require.NoError(t, err)
	want := map[int64]uint32{}
	takes := 20_000
	if testing.Short() {
		takes = 5_000
	}
	for i := range takes {
		window := random.Int64N(100) + int64(i)/100 + random.Int64N(2)*random.Int64N(2)*1e6
		next := n.At(window) + 1 + random.Uint32N(3)
		require.Must(t, next >= want[window], "window %d went back from %d to %d", window, want[window], next)
		want[window] = next
		n.Put(window, next)
		n.MergeTo(MaxSteps, 0)
		if n, err = Decode(n.Encode()); err != nil || len(n.Encode()) > 2000 {
			t.Fatalf("%d bytes, %v", len(n.Encode()), err)
		}
	}
	for window, next := range want {
		require.That(t, n.At(window) >= next, "window %d went back from %d to %d", window, next, n.At(window))
	}
}

// TestAtFloor: however many steps are merged, the next free node of a window from the floor on is
// never one of the reserve, as the window would be full.
func TestAtFloor(t *testing.T) {
	const floor, main, most = 100, 5, 9 // the reserve has nodes 5 to 8
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n, err := Decode(nil)
		require.NoError(t, err)
		n.Restart(floor, main)
		n.Put(floor, main) // as many as are taken in the windows before
		for range 200 {
			window := floor - 4 + random.Int64N(8)
			end := uint32(main)
			if window < floor {
				end = most
			}
			if next := n.At(window) + 1; next <= end {
				n.Put(window, next)
				n.MergeTo(4, floor)
			}
			if last, first := n.At(floor-1), n.At(floor); last < main || first > main {
				t.Fatalf("%d before the floor and %d at it: %v", last, first, n.Steps)
			}
		}
	}
}

// TestMerge: an entry is full of steps, and a take needs two more. Those two pairs are merged that waste the
// fewest nodes, and the higher node counts, but neither the newest half of the steps nor the last one.
func TestMerge(t *testing.T) {
	const present = 30000000
	const start = present - 1000
	rising := func(i int) uint32 { return uint32(1000 + 100*i) }
	falling := func(i int) uint32 { return uint32(9000 - 100*i) }
	for _, c := range []struct {
		name    string
		next    func(i int) uint32
		change  func(steps []Step) // of 64 steps, each of ten windows
		window  int64              // of which a node is taken
		mergers []int              // first steps of pairs
	}{
		{"small differences, rising", rising, func(steps []Step) {
			steps[10].Next = steps[11].Next - 1
			steps[20].Next = steps[21].Next - 2
		}, present, []int{10, 20}},
		{"small differences, falling", falling, func(steps []Step) {
			steps[11].Next = steps[10].Next - 1
			steps[21].Next = steps[20].Next - 2
		}, present, []int{10, 20}},
		{"short steps, rising", rising, func(steps []Step) {
			steps[10].From += 8
			steps[20].From += 7
		}, present, []int{10, 20}},
		{"short steps, falling", falling, func(steps []Step) {
			steps[11].From += 8
			steps[21].From += 7
		}, present, []int{10, 20}},
		{"the first of a pair is new", rising, func(steps []Step) {
			steps[10].Next = steps[11].Next - 1
			steps[10].LastTake = 100
			steps[20].Next = steps[21].Next - 2
			steps[30].Next = steps[31].Next - 3
		}, present, []int{20, 30}},
		{"the second of a pair is new", rising, func(steps []Step) {
			steps[10].Next = steps[11].Next - 1
			steps[11].LastTake = 100
			steps[20].Next = steps[21].Next - 2
			steps[30].Next = steps[31].Next - 3
		}, present, []int{20, 30}},
		{"each pair is new", rising, func(steps []Step) {
			for i := range steps {
				steps[i].LastTake = int64(100 * (i % 2))
			}
			steps[10].Next = steps[11].Next - 1
			steps[20].Next = steps[21].Next - 2
		}, present, []int{10, 20}},
		{"the newest are in the middle", rising, func(steps []Step) {
			for i := 30; i < 36; i++ {
				steps[i].LastTake = 999
			}
			steps[50].Next = steps[51].Next - 1
			steps[10].Next = steps[11].Next - 2
			steps[20].Next = steps[21].Next - 3
		}, present, []int{10, 20}},
		{"the oldest of the newer half", rising, func(steps []Step) {
			steps[32].Next = steps[33].Next - 1
			steps[10].Next = steps[11].Next - 2
			steps[20].Next = steps[21].Next - 3
		}, present, []int{10, 20}},
		{"the last but one", rising, func(steps []Step) {
			steps[20].Next = steps[21].Next - 2
			steps[61].Next = steps[62].Next - 1
			steps[61].LastTake, steps[62].LastTake = 0, 0
		}, start + 405, []int{20, 61}},
		{"none, as the node becomes that of the windows after", rising, func(steps []Step) {
			steps[30].Next = steps[31].Next - 1
		}, start + 309, nil},
		{"none, as the node becomes that of the windows before", falling, func(steps []Step) {
			steps[0].Next = steps[1].Next + 1
		}, start + 10, nil},
	} {
		steps := make([]Step, 64)
		for i := range steps {
			steps[i] = Step{int64(start + 10*i), c.next(i), int64(i)}
		}
		c.change(steps)
		steps[0].From, steps[63].Next = 0, 0
		got := &Nodes{1000, slices.Clone(steps)}
		got.Put(c.window, got.At(c.window)+1)
		got.MergeTo(MaxSteps, 0)
		require.Equal(t, len(got.Steps), 64, "%s: steps", c.name)
		require.Equal(t, got.Steps[got.index(c.window)].LastTake, 1001, "%s: nodes of the take after 1000", c.name)
		before := &Nodes{1000, slices.Clone(steps)}
		for _, i := range c.mergers {
			higher := max(steps[i].Next, steps[i+1].Next)
			before.Steps[i].Next, before.Steps[i+1].Next = higher, higher
		}
		for window := int64(start - 10); window < present+10; window++ {
			want := before.At(window)
			if window == c.window {
				want++
			}
			require.Equal(t, got.At(window), want, "%s: the next node of window %d", c.name, window-start)
		}
	}
}
