package scaling

import (
	"slices"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/bench/internal/measure"
	"github.com/randflake/randflake/bench/internal/report"
)

const capacity = 1 << randflake.SequenceBits

func TestDemandBeyondTheLimitIsRefused(t *testing.T) {
	m, err := meet(t.Context(), 4_000_000, 1, measure.TicksPerNanosecond())
	if err != nil {
		t.Fatal(err)
	}
	if m.HandedOut > 2*capacity || m.Called > capacity*2 && m.Refused == 0 {
		t.Errorf("one node has given %+v", m)
	}
}

func TestCallersAtTheLimit(t *testing.T) {
	for _, c := range callers {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			moments, err := c.ask(t.Context(), time.Second)
			if err != nil {
				t.Fatal(err)
			}
			last := moments[len(moments)-1]
			if last.HandedOut == 0 || last.HandedOut > 2*capacity {
				t.Errorf("%+v", last)
			}
			if waits := c.name == "Wait"; waits && (last.Refusals > 0 || last.HandedOut != last.Wanted) {
				t.Errorf("who waits is refused: %+v", last)
			}
		})
	}
}

// TestOutline: of moments every 5 ms few are kept, and both ends of each longer time.
func TestOutline(t *testing.T) {
	var all []moment
	for i := range 100 {
		all = append(all, moment{Seconds: 0.005 * float64(i), Calls: i})
	}
	all = append(all, moment{Seconds: 1}, moment{Seconds: 1.001}, moment{Seconds: 2}, moment{Seconds: 2.001})
	kept := outline(all)
	if len(kept) > 30 || kept[0] != all[0] {
		t.Errorf("of %d moments %d are kept", len(all), len(kept))
	}
	if end := kept[len(kept)-5:]; !slices.Equal(end, all[99:]) {
		t.Errorf("the last ones kept are %+v", end)
	}
	if outline(nil) != nil {
		t.Error("of nothing something is kept")
	}
}

func TestOverNodes(t *testing.T) {
	samples, err := overNodes(t.Context(), 1)
	if err != nil || len(samples) != 11 || samples[10].Number != 1024 {
		t.Errorf("%v, %v", samples, err)
	}
}

// TestRender makes all tables and pictures of made-up data.
func TestRender(t *testing.T) {
	r, err := report.Open(t.TempDir(), "scaling", report.NewMeta(true, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	var samples []sample
	for _, axis := range []string{"goroutines", "processors", "nodes"} {
		for _, n := range []int{2, 1} {
			for _, p := range compared() {
				samples = append(samples, sample{axis, n, p.Name, 1, float64(n)})
			}
		}
	}
	met := []met{{Demand: 1000, HandedOut: 1000}, {Demand: 200_000, HandedOut: capacity, Refused: 200_000 - capacity}}
	var moments []moment
	for _, c := range callers {
		moments = append(moments, moment{Caller: c.name, Seconds: 0.5, HandedOut: capacity / 2}, moment{Caller: c.name, Seconds: 1, HandedOut: capacity})
	}
	if err := r.CSV("scaling", samples); err != nil {
		t.Fatal(err)
	}
	if err := r.CSV("demand", met); err != nil {
		t.Fatal(err)
	}
	if err := r.CSV("limit", moments); err != nil {
		t.Fatal(err)
	}
	if err := render(r); err != nil {
		t.Fatal(err)
	}
	if err := render(r.Verify()); err != nil {
		t.Error(err)
	}
	curves := curvesOf(samples, "nodes")
	if len(curves) != len(compared()) || curves[0].numbers[0] != 1 || curves[0].medians[1] != 2 {
		t.Errorf("the curves are %+v", curves)
	}
}
