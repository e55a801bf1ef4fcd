package numbers_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/numbers"
)

func secret(t testing.TB) randflake.Secret {
	t.Helper()
	s, err := randflake.ParseSecret("dffd6021000000000000000000000000")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func encrypted(t testing.TB, name, pattern string) *numbers.Format {
	t.Helper()
	f, err := numbers.NewFormat(name, pattern, numbers.Encrypted(secret(t)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Texts are pinned: what was printed once must open for ever.
func TestEncryptedTexts(t *testing.T) {
	for _, c := range []struct{ name, pattern, text string }{
		{"orders", "ORD-{date:20060102}-{n:6}", "ORD-20261123-961689"},
		{"tickets", "{n:6}", "081138"},
		{"tickets", "{n:8:crockford}{check:mod37-36}", "5N3A6RAN6"},
	} {
		n, err := encrypted(t, c.name, c.pattern).Number(midnight, 1)
		if n.String() != c.text || err != nil {
			t.Errorf("%s %s: %s, %v; want %s", c.name, c.pattern, n, err, c.text)
		}
	}
}

// Names and periods have permutations of their own, also where one after the other they make the same text.
func TestEncryptedApart(t *testing.T) {
	one := encrypted(t, "orders", "{date:2006}{n:6}")
	for name, other := range map[string]*numbers.Format{
		"name":   encrypted(t, "order", "{date:2006}{n:6}"),
		"period": encrypted(t, "orders/2", "{date:2006}{n:6}"),
	} {
		same := 0
		for n := range int64(1000) {
			a, errA := one.Number(midnight, n+1)
			b, errB := other.Number(midnight, n+1)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if a.String() == b.String() {
				same++
			}
		}
		if same > 3 {
			t.Errorf("another %s: %d of 1000 numbers are the same", name, same)
		}
	}
	same := 0
	for n := range int64(1000) {
		a, _ := one.Number(midnight, n+1)
		b, _ := one.Number(midnight.AddDate(1, 0, 0), n+1)
		if a.String()[4:] == b.String()[4:] {
			same++
		}
	}
	if same > 3 {
		t.Errorf("another year: %d of 1000 numbers are the same", same)
	}
}

// valueOf returns what the last six digits of a number show.
func valueOf(t testing.TB, n numbers.Number) int64 {
	t.Helper()
	text := n.String()
	value, err := strconv.ParseInt(text[len(text)-6:], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

const (
	observed = 50
	trials   = 200
)

// estimates plays somebody who sees a few of the numbers that were made in a day, the first total ones, and estimates how
// many there are from the largest, as the Allies did with German tanks: m + m/k - 1. Each trial is another day.
func estimates(random *rand.Rand, total int64, show func(day int, n int64) int64) []float64 {
	all := make([]float64, trials)
	for i := range all {
		largest := int64(0)
		seen := map[int64]bool{}
		for len(seen) < observed {
			n := 1 + random.Int64N(total)
			seen[n] = true
			largest = max(largest, show(i, n))
		}
		all[i] = float64(largest) + float64(largest)/observed - 1
	}
	return all
}

// within returns the share of estimates that are off by no more than a tenth.
func within(estimates []float64, total int64) float64 {
	good := 0
	for _, e := range estimates {
		if math.Abs(e-float64(total)) <= float64(total)/10 {
			good++
		}
	}
	return float64(good) / float64(len(estimates))
}

// apart returns the greatest distance of two empirical distributions: Kolmogorov and Smirnov's D.
func apart(a, b []float64) (d float64) {
	slices.Sort(a)
	slices.Sort(b)
	for _, x := range slices.Concat(a, b) {
		i, _ := slices.BinarySearch(a, math.Nextafter(x, math.Inf(1)))
		j, _ := slices.BinarySearch(b, math.Nextafter(x, math.Inf(1)))
		d = max(d, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return d
}

// Plain numbers tell how many there are. Encrypted ones tell what random ones do, however many there are: nothing.
func TestGermanTanks(t *testing.T) {
	random := rand.New(rand.NewPCG(1944, 11))
	plain, err := numbers.NewFormat("orders", "{date:20060102}{n:6}")
	if err != nil {
		t.Fatal(err)
	}
	hidden := encrypted(t, "orders", "{date:20060102}{n:6}")
	showing := func(f *numbers.Format) func(day int, n int64) int64 {
		return func(day int, n int64) int64 {
			number, err := f.Number(midnight.AddDate(0, 0, day), n)
			if err != nil {
				t.Fatal(err)
			}
			return valueOf(t, number)
		}
	}
	const far = 1.95 * 0.1 // sqrt(2/trials): one in a thousand pairs of samples of one distribution is further apart
	chance := estimates(random, 999_999, func(int, int64) int64 { return random.Int64N(1_000_000) })
	for _, total := range []int64{1000, 300_000} {
		known := estimates(random, total, showing(plain))
		if share := within(known, total); share < 0.95 {
			t.Errorf("%d plain numbers: %.0f%% of the estimates are within a tenth", total, 100*share)
		}
		if d := apart(known, chance); d < 0.9 {
			t.Errorf("%d plain numbers: estimates differ from those of random numbers by %.2f only", total, d)
		}
		guessed := estimates(random, total, showing(hidden))
		if share := within(guessed, total); share > 0 {
			t.Errorf("%d encrypted numbers: %.0f%% of the estimates are within a tenth", total, 100*share)
		}
		if d := apart(guessed, chance); d > far {
			t.Errorf("%d encrypted numbers: estimates differ from those of random numbers by %.2f, more than %.2f", total, d, far)
		}
	}
}
