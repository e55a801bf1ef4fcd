package randomness

import (
	"math"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/randflake/randflake/bench/internal/report"
	"github.com/randflake/randflake/bench/internal/source"
)

// small is what the tests get: the negative controls fail on as little.
var small = amounts{counted: 1 << 16, compared: 1 << 16, ent: 1 << 16, trials: 1 << 14}

func made(t *testing.T) *report.Results {
	t.Helper()
	if _, err := exec.LookPath("ent"); err != nil {
		t.Skip("ent is not installed")
	}
	r, err := report.Open(t.TempDir(), "randomness", report.NewMeta(true, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := runAmounts(t.Context(), r, small); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestChapter runs all checks: IDs pass, and every negative control fails.
func TestChapter(t *testing.T) {
	r := made(t)
	if err := render(r); err != nil {
		t.Error(err)
	}
	d, err := load(r)
	if err != nil {
		t.Fatal(err)
	}
	checks, err := d.checks()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if c.Control == "" || c.OfControl.Pass {
			t.Errorf("%s has no negative control that fails", c.Test)
		}
	}
}

// TestFailure hands raw values in as IDs: every check that looks at a stream finds out.
func TestFailure(t *testing.T) {
	r := made(t)
	d, err := load(r)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.frequencies {
		d.frequencies[i].Source = ids
	}
	for i := range d.serials {
		d.serials[i].Source = ids
	}
	if err := r.CSV("chi-square", d.frequencies); err != nil {
		t.Fatal(err)
	}
	if err := r.CSV("serial", d.serials); err != nil {
		t.Fatal(err)
	}
	err = render(r)
	for _, want := range []string{"the 8 bytes: smallest", "modulo 2 to 1,024: smallest", "correlation of values", "agreement of each bit", "runs up and down"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not tell of %q: %v", want, err)
		}
	}
}

func TestTally(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var sum tally
	var want [64]int64
	for range 10_000 {
		word := random.Uint64() & random.Uint64()
		sum.add(word)
		for bit := range want {
			want[bit] += int64(word >> bit & 1)
		}
	}
	if got := sum.counts(); got != want {
		t.Errorf("counted %v, not %v", got, want)
	}
}

// TestModuli compares what is counted by the larger moduli and folded with counting outright.
func TestModuli(t *testing.T) {
	const n = 1 << 15
	list, err := frequencies(t.Context(), ids, source.IDs(3), n)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]uint64, n)
	source.IDs(3).Fill(values)
	checked := 0
	for _, f := range list {
		if f.Kind != kindModulo {
			continue
		}
		counts := make([]int64, f.Which)
		for _, v := range values {
			counts[v%uint64(f.Which)]++
		}
		if want := chiSquare(counts, n); math.Abs(f.ChiSquare-want) > 1e-6 {
			t.Fatalf("modulo %d has chi-square %v, not %v", f.Which, f.ChiSquare, want)
		}
		checked++
	}
	if checked != lastModulus-1 {
		t.Errorf("there are %d moduli", checked)
	}
}

func TestChiSquareStatistic(t *testing.T) {
	// (10-8)² + (6-8)² + (8-8)² over 8.
	if got := chiSquare([]int64{10, 6, 8}, 24); math.Abs(got-1) > 1e-12 {
		t.Errorf("chi-square is %v, not 1", got)
	}
}

func TestTurns(t *testing.T) {
	// Up, up, down, up: two turns, and two are expected of five values, with a variance of 51/90.
	if got := turns([]uint64{1, 2, 3, 0, 4}); math.Abs(got) > 1e-12 {
		t.Errorf("it is %v sigma off", got)
	}
	if got, want := turns([]uint64{5, 4, 3, 2, 1}), -2/math.Sqrt(51.0/90); math.Abs(got-want) > 1e-12 {
		t.Errorf("it is %v sigma off, not %v", got, want)
	}
}

func TestCorrelation(t *testing.T) {
	zero, half, all := uint64(0), uint64(1<<63), uint64(math.MaxUint64)
	for _, c := range []struct {
		values, later []uint64
		want          float64
	}{
		{[]uint64{zero, all}, []uint64{zero, all}, 12 * 0.5 / math.Sqrt2},
		{[]uint64{zero, all}, []uint64{all, zero}, -12 * 0.5 / math.Sqrt2},
		{[]uint64{zero, all}, []uint64{half, half}, 0},
	} {
		if got := correlation(c.values, c.later); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%x and %x correlate by %v, not %v", c.values, c.later, got, c.want)
		}
	}
}

func TestAgreement(t *testing.T) {
	values, later := make([]uint64, 100), make([]uint64, 100)
	for i := range later {
		later[i] = 1 // differs in bit 0 always
	}
	z := agreement(values, later)
	if z[0] != -10 || z[1] != 10 {
		t.Errorf("bits 0 and 1 agree by %v and %v sigma", z[0], z[1])
	}
}

func TestTheSameSeedGivesTheSameFlips(t *testing.T) {
	count := func(seed uint64) flips {
		f, err := countFlips(t.Context(), source.Library, seed, 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		return *f
	}
	if one := count(1); one != count(1) || one == count(2) {
		t.Error("the counts are not the seed's")
	}
}

func TestAvalancheRow(t *testing.T) {
	var counts [64]int64
	for i := range counts {
		counts[i] = 128 + int64(i)
	}
	row := avalancheRow{Trials: 256, Flips: beyondHalf(counts, 256)}
	z, err := row.sigmas()
	if err != nil || z[0] != 0 || z[63] != 63.0/8 {
		t.Errorf("read %v, %v", z, err)
	}
	row.Flips = "1 2 3"
	if _, err := row.sigmas(); err == nil {
		t.Error("cells are missing, and there is no error")
	}
}

func TestParseEnt(t *testing.T) {
	const sample = "0,File-bytes,Entropy,Chi-square,Mean,Monte-Carlo-Pi,Serial-Correlation\n" +
		"1,1000000,7.999828,238.12,127.416372,3.147013,-0.000012\n"
	e, err := parseEnt(ids, []byte(sample))
	if want := (entRow{ids, 1e6, 7.999828, 238.12, 127.416372, 3.147013, -0.000012}); err != nil || e != want {
		t.Errorf("read %v, %v", e, err)
	}
	p := e.p()
	// Of the chi-square ent says that chance exceeds it in 76.88 of 100 cases.
	for name, want := range map[string]float64{"chi-square": 2 * (1 - 0.7688), "mean": 0.2578, "pi": 0.1775, "serial correlation": 0.9904} {
		if math.Abs(p[name]-want) > 0.003 {
			t.Errorf("%s has p = %v, not %v", name, p[name], want)
		}
	}
	if entCheck(entRow{}, entRow{}).Tested.Pass {
		t.Error("no row at all passes")
	}
	for _, bad := range []string{"", "1,2,3", strings.Replace(sample, "7.9", "x", 1), strings.Replace(sample, "Entropy", "Other", 1)} {
		if _, err := parseEnt(ids, []byte(bad)); err == nil {
			t.Errorf("%q is read without an error", bad)
		}
	}
}

func TestEntIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := ent(t.Context(), ids, source.IDs(1)); err == nil || !strings.Contains(err.Error(), "install the package ent") {
		t.Errorf("the error is %v", err)
	}
}
