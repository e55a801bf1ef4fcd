package check

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
)

func TestDuplicatesOfTwoProcesses(t0 *testing.T) {
	t := newTrial(t0)
	a, b := t.worker("a"), t.worker("b")
	held := t.acquire(a, 1)
	t.made(a, second, held.FirstNode, 0, 1000)
	t.made(b, second, held.FirstNode, 990, 1000)
	r := t.result()
	t.wantFaults(r, "duplicates", "outside")
	if r.Duplicates != 10 || len(r.FirstDuplicates) != few {
		t.Fatalf("%d duplicates, %d shown, want 10, all shown: %+v", r.Duplicates, len(r.FirstDuplicates), r)
	}
	if r.LastDuplicate != second {
		t.Errorf("the latest duplicate is of second %d, want %d", r.LastDuplicate, second)
	}
	got := r.FirstDuplicates[3]
	if got.Second != second || got.Node != held.FirstNode || got.Sequence != 993 || got.First.Worker != "a" || got.Again.Worker != "b" || got.First.Segment == got.Again.Segment {
		t.Errorf("fourth duplicate %+v, want sequence 993 of node %d in second %d, made by a and again by b", got, held.FirstNode, second)
	}
}

func TestDuplicatesOfOneProcess(t0 *testing.T) {
	for name, gap := range map[string]int{"at once": 0, "in one segment": 100_000, "in two segments": journal.SegmentIDs} {
		t0.Run(name, func(t0 *testing.T) {
			t := newTrial(t0)
			a := t.worker("a")
			held := t.acquire(a, 16)
			t.made(a, second, held.FirstNode, 5, 1)
			for node := held.FirstNode + 1; gap > 0; node++ {
				n := min(gap, 1<<randflake.SequenceBits)
				t.made(a, second, node, 0, n)
				gap -= n
			}
			t.made(a, second, held.FirstNode, 5, 1)
			r := t.result()
			t.wantFaults(r, "duplicates")
			if r.Duplicates != 1 || r.FirstDuplicates[0].First.Worker != "a" || r.FirstDuplicates[0].Again.Worker != "a" {
				t.Errorf("%+v, want 1 duplicate, both by a", r)
			}
		})
	}
}

// TestRunsAgainstMaps compares with a plain search, on values with runs, holes and repetitions.
func TestRunsAgainstMaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var raw []randflake.Raw
		counts := make(map[uint64]int)
		for range 1 + rng.IntN(6) {
			first := []uint64{0, rng.Uint64N(300), 1 << 40, math.MaxUint64 - 100}[rng.IntN(4)]
			step := 1 + rng.Uint64N(3)
			for i := range 1 + rng.Uint64N(200) {
				raw = append(raw, randflake.Raw(first+i*step))
			}
		}
		if rng.IntN(2) == 0 {
			rng.Shuffle(len(raw), func(i, j int) { raw[i], raw[j] = raw[j], raw[i] })
		}
		for _, v := range raw {
			counts[uint64(v)]++
		}
		words, again := pack(nil, raw)
		words, more := merge(words)
		var got []uint64
		for i, r := range runsOf(nil, words) {
			for v := r.first; ; v++ {
				got = append(got, v)
				if v == r.last {
					break
				}
			}
			if i > 0 && slices.Contains(got[:len(got)-int(r.count())], r.first-1) {
				t.Fatalf("run %+v goes on from the one before", r)
			}
		}
		for _, v := range append(again, more...) {
			counts[v]--
		}
		for _, v := range got {
			counts[v]--
		}
		for v, n := range counts {
			if n != 0 {
				t.Fatalf("value %d: counted %d times too few", v, n)
			}
		}
		if !slices.IsSorted(got) {
			t.Fatal("runs are not in order")
		}
	}
}

func TestSeen(t *testing.T) {
	s := newSeen()
	origins := []Origin{{Segment: "1"}, {Segment: "2"}, {Segment: "3"}}
	for i, tt := range []struct {
		runs  []run
		again []uint64
	}{
		{[]run{{0, 10}, {1 << 40, 1<<40 + 1<<20}}, nil},
		{[]run{{11, 20}, {math.MaxUint64 - 5, math.MaxUint64}}, nil},
		{[]run{{10, 12}, {1<<40 + 1<<20, 1<<40 + 1<<20 + 9}, {math.MaxUint64, math.MaxUint64}}, []uint64{10, 11, 12, 1<<40 + 1<<20, math.MaxUint64}},
	} {
		if again := s.add(origins[i], tt.runs).ToArray(); !slices.Equal(again, tt.again) {
			t.Errorf("adding %v found %v again, want %v", tt.runs, again, tt.again)
		}
	}
	if got := s.find(11); got != origins[1] {
		t.Errorf("11 was found in %v, want %v", got, origins[1])
	}
}

// BenchmarkCheck takes in segments as a generator fills them.
func BenchmarkCheck(b *testing.B) {
	for name, order := range map[string]func([]randflake.Raw){
		"blocks": func([]randflake.Raw) {},
		"shuffled blocks": func(raw []randflake.Raw) {
			for block := range slices.Chunk(raw[37:], 64) {
				rand.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			c := New(Config{Secret: secret})
			p := c.process("")
			p.leases.grant(leaseOnAll, 0)
			raw := make([]randflake.Raw, journal.SegmentIDs)
			ids := make([]randflake.ID, len(raw))
			var marks []journal.Mark
			for made := uint64(1024); made <= uint64(len(raw)); made += 1024 {
				marks = append(marks, journal.Mark{Made: made, At: 1})
			}
			next := randflake.Raw(second-randflake.Epoch) << (randflake.NodeBits + randflake.SequenceBits)
			for b.Loop() {
				b.StopTimer()
				for i := range raw {
					raw[i] = next
					if next++; next%4096 == 0 && next%3 == 0 {
						next += 4096 // somebody else's run
					}
				}
				order(raw)
				cipher.EncryptSlice(ids, raw)
				b.StartTimer()
				c.checkSegment(p, &journal.Segment{IDs: ids, Marks: marks})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/journal.SegmentIDs, "ns/ID")
			b.ReportMetric(float64(c.seen.all.GetSizeInBytes())/float64(b.N), "B/segment")
			if c.result.Duplicates+c.result.Outside > 0 {
				b.Errorf("%+v", c.result)
			}
		})
	}
}
