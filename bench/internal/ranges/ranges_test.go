package ranges

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake/bench/internal/report"
)

func keysOf(name string) kind {
	all := kinds()
	return all[slices.IndexFunc(all, func(k kind) bool { return k.name == name })]
}

// TestRowsStay: each row is in the range that has its key, once, and a report loses none.
func TestRowsStay(t *testing.T) {
	for _, p := range policies {
		p.splitRows = 256
		for _, k := range kinds() {
			random := rand.New(rand.NewPCG(1, 1))
			c, next := newCluster(p, random), k.keys(random)
			var in, out []uint64
			for i := range uint64(20_000) {
				key := next(i)
				in = append(in, key)
				if c.insert(key); i%1000 == 999 {
					c.report()
				}
			}
			for i, s := range c.spans {
				if len(s.keys) >= 2*p.splitRows || s.node < 0 || s.node >= p.nodes {
					t.Errorf("%s, %s: a range has %d rows on node %d", k.name, p.name, len(s.keys), s.node)
				}
				for _, key := range s.keys {
					if key < s.first || i+1 < len(c.spans) && key >= c.spans[i+1].first {
						t.Fatalf("%s, %s: row %x is in the range from %x", k.name, p.name, key, s.first)
					}
				}
				out = append(out, s.keys...)
			}
			slices.Sort(in)
			slices.Sort(out)
			if len(c.spans) < 20 || !slices.Equal(in, out) {
				t.Errorf("%s, %s: %d rows went in, and %d are in %d ranges", k.name, p.name, len(in), len(out), len(c.spans))
			}
		}
	}
}

func TestTheSameSeedGivesTheSameFigures(t *testing.T) {
	one := simulate(keysOf(own), policies[1], 1, 6)
	if !slices.Equal(one, simulate(keysOf(own), policies[1], 1, 6)) {
		t.Error("the same seed gave other figures")
	}
	if slices.Equal(one, simulate(keysOf(own), policies[1], 2, 6)) {
		t.Error("another seed gave the same figures")
	}
}

// TestOneRange plants a fault, keys that all go to one range: its node takes all writes, whatever splits and moves.
func TestOneRange(t *testing.T) {
	for _, p := range policies {
		for _, k := range []kind{keysOf("sequence"), {name: "one key", keys: func(*rand.Rand) func(uint64) uint64 { return func(uint64) uint64 { return 7 } }}} {
			stages := simulate(k, p, 1, 6)
			if last := stages[5]; last.Range != 1 || last.Node != 1 || last.Newest != 1 {
				t.Errorf("%s, %s: the busiest range takes %v and its node %v, want all", k.name, p.name, last.Range, last.Node)
			}
		}
	}
}

// TestMoves: ranges move until nodes have the same number of them, and by load until nodes have the same writes.
func TestMoves(t *testing.T) {
	for _, p := range policies {
		p.moves = 100
		c := newCluster(p, rand.New(rand.NewPCG(1, 1)))
		c.spans = nil
		for i := range uint64(40) {
			c.spans = append(c.spans, &span{first: i, keys: []uint64{i}, recent: []uint64{i}})
		}
		if l := c.report(); l.Node != 1 || l.Range != 1.0/40 {
			t.Errorf("%s: one node takes %v of the writes before ranges move, want all", p.name, l.Node)
		}
		onNode := make([]int, p.nodes)
		for _, s := range c.spans {
			onNode[s.node]++
		}
		if slices.Min(onNode) != 4 || slices.Max(onNode) != 4 {
			t.Errorf("%s: nodes have %v of 40 ranges, want 4 each", p.name, onNode)
		}
	}
}

// TestChapter compares the documented results with those of the quick form, and with a full run of our own keys.
func TestChapter(t *testing.T) {
	r, err := report.Open(t.TempDir(), "ranges", report.NewMeta(true, 1), report.NewProgress(&strings.Builder{}, false, []report.Chapter{Chapter()}, true))
	if err != nil {
		t.Fatal(err)
	}
	r.Progress.Begin(Chapter())
	if err := run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := render(r); err != nil {
		t.Fatal(err)
	}
	kept, err := report.Reopen("../../results", "ranges")
	if err != nil {
		t.Fatal(err)
	}
	known, err := report.Load[stage](kept, "ranges")
	if err != nil {
		t.Fatal(err)
	}
	quick, err := report.Load[stage](r, "ranges")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds() {
		for _, p := range policies {
			if got, want := of(quick, k, p), of(known, k, p); len(want) < len(got) || !slices.Equal(got, want[:len(got)]) {
				t.Errorf("%s, %s: the results in the documentation are not those of a run", k.name, p.name)
			}
		}
	}
	if err := r.CSV("full", simulate(keysOf(own), policies[0], 1, stagesOf(false))); err != nil {
		t.Fatal(err)
	}
	full, err := report.Load[stage](r, "full")
	if want := of(known, keysOf(own), policies[0]); err != nil || !slices.Equal(full, want) {
		t.Errorf("a full run gives %v, %v, want %v", full, err, want)
	}
}
