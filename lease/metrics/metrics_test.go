package metrics

import (
	"maps"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

func TestMetrics(t *testing.T) {
	for _, c := range []struct{ got, want Metric }{
		{Gauge("a", "A.", 1.5), Metric{Name: "a", Help: "A.", Value: 1.5}},
		{Gauge("a", "A.", int64(-2)), Metric{Name: "a", Help: "A.", Value: -2}},
		{Flag("a", "A.", true), Metric{Name: "a", Help: "A.", Value: 1}},
		{Flag("a", "A.", false), Metric{Name: "a", Help: "A."}},
		{Counter("a_total", "A.", 3), Metric{Name: "a_total", Help: "A.", Counter: true, Value: 3}},
	} {
		require.That(t, reflect.DeepEqual(c.got, c.want), "%+v, want %+v", c.got, c.want)
	}
}

// TestWith: a metric keeps its own labels, and the maps stay as they are.
func TestWith(t *testing.T) {
	own := map[string]string{"state": "idle", "name": "own"}
	r := Func(func() []Metric {
		m := Gauge("a", "A.", 1)
		labeled := Gauge("b", "B.", 2)
		labeled.Labels = own
		return []Metric{m, labeled}
	})
	for _, labels := range []map[string]string{nil, {}, {"ids": "orders"}, {"name": "theirs", "ids": "orders"}} {
		before := maps.Clone(labels)
		got := With(labels, r).Metrics()
		both := map[string]string{}
		maps.Copy(both, labels)
		maps.Copy(both, own)
		if len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" || !maps.Equal(got[0].Labels, labels) || !maps.Equal(got[1].Labels, both) {
			t.Errorf("%v: %+v", labels, got)
		}
		if !maps.Equal(labels, before) || len(own) != 2 {
			t.Errorf("changed: %v, %v", labels, own)
		}
	}
}

// TestWithShared: two Reporters of one that always returns the same slice keep their labels apart, at
// once too.
func TestWithShared(t *testing.T) {
	same := []Metric{Gauge("a", "A.", 1)}
	shared := Func(func() []Metric { return same })
	var scrapes sync.WaitGroup
	for _, space := range []string{"orders", "visits"} {
		reporter := With(map[string]string{"space": space, space: "own"}, shared)
		scrapes.Go(func() {
			for range 100 {
				labels := reporter.Metrics()[0].Labels
				require.That(t, len(labels) == 2 && labels["space"] == space, "%s has %v", space, labels)
			}
		})
	}
	scrapes.Wait()
	require.That(t, same[0].Labels == nil, "written: %v", same)
}

func TestBuild(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("no build info")
	}
	for given, want := range map[string]string{"v1.2.3": "v1.2.3", "": info.Main.Version} { // this module is the main one here
		got := Build(given).Metrics()
		labels := map[string]string{"version": want, "goversion": runtime.Version()}
		if len(got) != 1 || got[0].Name != "randflake_build_info" || got[0].Value != 1 || got[0].Counter || !maps.Equal(got[0].Labels, labels) {
			t.Errorf("%q: %+v, want %v", given, got, labels)
		}
	}
}
