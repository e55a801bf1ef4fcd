package dieharder

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake/bench/internal/report"
)

const sample = `   diehard_birthdays,   0,       100,     100,0.75959029,  PASSED  
        diehard_runs,   0,    100000,     100,0.00270857,  WEAK    
#=============================================================================#
Preparing to run test 207.  ntuple = 0
          sts_serial,  16,    100000,     100,0.00000000,  FAILED  
`

func TestParse(t *testing.T) {
	got, err := parse([]byte(sample))
	want := []finding{
		{"diehard_birthdays", 0, 100, 100, 0.75959029, passed},
		{"diehard_runs", 0, 100_000, 100, 0.00270857, weak},
		{"sts_serial", 16, 100_000, 100, 0, failed},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("read %v, %v", got, err)
	}
	for _, bad := range []string{"", "one,2,3", strings.Replace(sample, "WEAK", "SO SO", 1), strings.Replace(sample, "100000", "many", 1)} {
		if _, err := parse([]byte(bad)); err == nil {
			t.Errorf("%q is read without an error", bad)
		}
	}
}

func TestAllowed(t *testing.T) {
	for n, want := range map[int]int{2: 1, 10: 1, 114: 4} {
		if got := allowed(n); got != want {
			t.Errorf("of %d p-values %d may be weak, not %d", n, got, want)
		}
	}
}

func repeat(n int, assessment string) []finding {
	return slices.Repeat([]finding{{Test: "test", Assessment: assessment}}, n)
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		found []finding
		want  bool
	}{
		{nil, false},
		{repeat(114, passed), true},
		{slices.Concat(repeat(110, passed), repeat(4, weak)), true},
		{slices.Concat(repeat(109, passed), repeat(5, weak)), false},
		{slices.Concat(repeat(113, passed), repeat(1, failed)), false},
	} {
		if got := judge(c.found); got.Pass != c.want {
			t.Errorf("%s: passes: %v", got.Statistic, got.Pass)
		}
	}
}

// TestProgram runs one fast test, twice: the same stream gives the same p-value, and raw values fail.
func TestProgram(t *testing.T) {
	if _, err := exec.LookPath("dieharder"); err != nil {
		t.Skip("dieharder is not installed")
	}
	const monobit = "100"
	one, err := dieharder(t.Context(), monobit, streamOf(1))
	if err != nil {
		t.Fatal(err)
	}
	two, err := dieharder(t.Context(), monobit, streamOf(1))
	if err != nil || !slices.Equal(one, two) {
		t.Errorf("the same stream has %v and %v, %v", one, two, err)
	}
	if !judge(one).Pass {
		t.Errorf("IDs have %v", one)
	}
	control, err := dieharder(t.Context(), monobit, rawStream())
	if err != nil || judge(control).Pass {
		t.Errorf("raw values have %v, %v", control, err)
	}
}

func TestProgramIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := dieharder(t.Context(), "0", streamOf(1)); err == nil || !strings.Contains(err.Error(), "install the package dieharder") {
		t.Errorf("the error is %v", err)
	}
}

// TestRender makes findings up: the last attempt decides, and all are told.
func TestRender(t *testing.T) {
	r, err := report.Open(t.TempDir(), "dieharder", report.NewMeta(false, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	try := func(ofControl string, ofIDs ...string) error {
		all := []tested{{raw, 1, 1, repeat(1, ofControl)[0]}}
		attempts := []attempt{{Source: raw, Attempt: 1}}
		for i, assessment := range ofIDs {
			all = append(all, tested{ids, i + 1, uint64(i + 1), repeat(1, assessment)[0]})
			attempts = append(attempts, attempt{Source: ids, Attempt: i + 1, description: describe(uint64(i + 1)), Tests: "[all]"})
		}
		if err := r.CSV("dieharder", all); err != nil {
			t.Fatal(err)
		}
		if err := r.CSV("attempts", attempts); err != nil {
			t.Fatal(err)
		}
		return render(r)
	}
	for _, good := range []error{try(failed, passed), try(failed, failed, passed)} {
		if good != nil {
			t.Error(good)
		}
	}
	if list := checks([]tested{{ids, 1, 1, repeat(1, failed)[0]}, {ids, 2, 2, repeat(1, passed)[0]}}, []attempt{{Source: ids, Attempt: 1}, {Source: ids, Attempt: 2}}); len(list) != 2 {
		t.Errorf("of two attempts %d are told", len(list))
	}
	for _, bad := range []error{try(passed, passed), try(failed, failed, failed)} {
		if bad == nil {
			t.Error("it should have failed")
		}
	}
}
