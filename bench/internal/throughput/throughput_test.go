package throughput

import (
	"strings"
	"testing"

	"github.com/randflake/randflake/bench/internal/peers"
	"github.com/randflake/randflake/bench/internal/report"
)

// samples are made up: each source costs ten times its place in the registry, on two processors half
// of that, and in the third round all cost tenfold.
func samples() (list []sample) {
	for i, p := range peers.All() {
		for round, factor := range []float64{10, 10, 100} {
			for _, n := range []int{1, 2} {
				list = append(list, sample{Source: p.Name, Processors: n, Round: round + 1, IDs: 1, Nanoseconds: factor * float64(i+1) / float64(n)})
			}
		}
	}
	return list
}

func TestMedians(t *testing.T) {
	s := summarize(samples())
	if got := s.medians[at{"randflake Fill", 2}].nanoseconds; got != 10 {
		t.Errorf("the median is %v, not 10", got)
	}
	if got := s.medians[at{peers.Yardstick, 1}].ratio; got != 1 {
		t.Errorf("the yardstick's ratio is %v", got)
	}
	// The bad round does not show in the ratio: the yardstick had it too.
	yardstick := s.medians[at{peers.Yardstick, 1}].nanoseconds
	if got := s.medians[at{"randflake Generate", 1}].ratio; got != 10/yardstick {
		t.Errorf("the ratio is %v, not %v", got, 10/yardstick)
	}
}

func TestTables(t *testing.T) {
	s := summarize(samples())
	all := s.table().Markdown()
	for _, p := range peers.All() {
		if !strings.Contains(all, "| "+p.Name+" |") {
			t.Errorf("%s is missing", p.Name)
		}
	}
	if short := s.short(); len(short.Rows) == 0 || len(short.Rows) >= len(s.table().Rows) {
		t.Errorf("the short table has %d rows", len(short.Rows))
	}
	if n := len(properties().Rows); n != len(peers.All()) {
		t.Errorf("%d peers have properties", n)
	}
}

func TestLimitsAreTold(t *testing.T) {
	p := peers.Peer{PerSecond: 1e6}
	for ns, want := range map[float64]string{1000: "1,000 (at its limit)", 500: "500 (beyond its limit)", 2000: "2,000"} {
		if got := cost(p, ns); got != want {
			t.Errorf("%v ns is told as %q, not %q", ns, got, want)
		}
	}
}

func TestPicture(t *testing.T) {
	r, err := report.Open(t.TempDir(), "throughput", report.NewMeta(true, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := summarize(samples()).picture(r); err != nil {
		t.Fatal(err)
	}
	text, err := r.File("throughput.svg")
	if err != nil {
		t.Fatal(err)
	}
	picture := string(text)
	for _, p := range peers.All() {
		if got, want := strings.Contains(picture, `"`+p.Name+`"`), !p.AtLimit; got != want {
			t.Errorf("%s is in the picture: %v, want %v", p.Name, got, want)
		}
	}
	if !strings.Contains(picture, "at its limit: ") {
		t.Error("the picture doesn't explain what a limit is")
	}
}
