package dudect

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/bench/internal/report"
)

func momentsOf(values ...float64) (m moments) {
	for _, v := range values {
		m.add(v)
	}
	return m
}

// TestWelch has the example of Welch's test with unequal variances, worked by hand.
func TestWelch(t *testing.T) {
	a := momentsOf(1, 2, 3, 4, 5)  // mean 3, variance 2.5
	b := momentsOf(2, 4, 6, 8, 10) // mean 6, variance 10
	if a.mean() != 3 || a.variance() != 2.5 || b.variance() != 10 {
		t.Errorf("mean %v, variances %v and %v", a.mean(), a.variance(), b.variance())
	}
	if got, want := welch(a, b), -3/math.Sqrt(2.5); math.Abs(got-want) > 1e-12 {
		t.Errorf("t is %v, not %v", got, want)
	}
	if got := momentsOf(1, 2).plus(momentsOf(3, 4, 5)); got != a {
		t.Errorf("the sum of parts is %v, not %v", got, a)
	}
}

// synthetic makes measurements as a machine does, in steps of the clock and with a long tail, and adds
// delay to those of the random class.
func synthetic(delay float64) []cropped {
	source := rand.New(rand.NewPCG(1, 2))
	draw := func(class uint64) float64 {
		v := 500 + 20*source.NormFloat64() + delay*float64(class)
		if source.IntN(50) == 0 {
			v += 5000 * source.ExpFloat64()
		}
		return 41 * math.Round(v/41)
	}
	var calibration []float64
	for range 4000 {
		calibration = append(calibration, draw(source.Uint64()>>63))
	}
	s := newSorter(calibration)
	for range 200_000 {
		class := source.Uint64() >> 63
		s.add(class, draw(class))
	}
	return s.compare()
}

func worst(list []cropped) float64 {
	t := 0.0
	for _, c := range list {
		t = max(t, math.Abs(c.T))
	}
	return t
}

// TestCrops plants a difference that is lost in the tail: t of all measurements does not show it, that
// of a crop does.
func TestCrops(t *testing.T) {
	if same := worst(synthetic(0)); same >= threshold {
		t.Errorf("equal classes have t = %v", same)
	}
	list := synthetic(1)
	last := list[len(list)-1]
	if last.Kept != 1 || last.N0+last.N1 != 200_000 {
		t.Errorf("the last of them has %v of %v measurements", last.Kept, last.N0+last.N1)
	}
	if math.Abs(last.T) >= threshold || worst(list) < threshold {
		t.Errorf("t of all is %v, and at worst %v", last.T, worst(list))
	}
	if !slices.IsSortedFunc(list, func(a, b cropped) int { return int(a.N0 - b.N0) }) {
		t.Error("crops do not grow")
	}
}

// TestLimits has measurements that lie on the limits: a crop has those below its own.
func TestLimits(t *testing.T) {
	s := &sorter{}
	for i := range crops {
		s.limits = append(s.limits, float64(i/2)) // each of them twice
	}
	s.add(fixed, 7)
	for i, part := range s.parts[fixed] {
		if want := i == 16; (part.n == 1) != want { // limits 14 and 15 are 7, and 16 is 8
			t.Errorf("part %d has %v measurements", i, part.n)
		}
	}
}

// TestControls finds each planted fault, which saves most of the work, with few measurements.
func TestControls(t *testing.T) {
	for _, s := range subjects() {
		list, err := compareClasses(t.Context(), s.control(s), 1, 1<<15)
		if err != nil {
			t.Fatal(err)
		}
		if got := worst(list); got < threshold {
			t.Errorf("%s: with a planted fault t is %v", s.name, got)
		}
	}
}

// TestSubjects has each subject, and each control, encrypt as the library does.
func TestSubjects(t *testing.T) {
	for _, s := range subjects() {
		for _, v := range []subject{s, s.control(s)} {
			for seed := range byte(3) {
				secret := secretOf([16]byte{seed / 2, 15: 1})
				c := randflake.NewCipher(secret)
				if v.expand != nil {
					c = v.expand(secret)
				}
				src, dst, want := make([]randflake.Raw, v.blocks), make([]randflake.ID, v.blocks), make([]randflake.ID, v.blocks)
				src[0] = randflake.Raw(seed) / 2
				v.encrypt(c, dst, src)
				randflake.NewCipher(secret).EncryptSlice(want, src)
				if !slices.Equal(dst, want) {
					t.Errorf("%s encrypts differently", v.name)
				}
			}
		}
	}
}

// TestPrepare looks at the inputs: fixed ones are all the same, random ones are not.
func TestPrepare(t *testing.T) {
	for _, s := range subjects() {
		b := newBatch(s, 1)
		b.prepare()
		var count [2]int
		for i, class := range b.classes {
			count[class]++
			for j := range s.calls {
				secret, blocks := b.input(i*s.calls + j)
				byKey := s.expand != nil
				sameKey, sameBlocks := secret.Equal(secretOf(b.key)), !slices.ContainsFunc(blocks, func(v randflake.Raw) bool { return v != b.block })
				if sameKey != (!byKey || class == fixed) || sameBlocks != (!byKey && class == fixed) {
					t.Fatalf("%s: measurement %d of class %d has the fixed key: %v, the fixed plaintext: %v", s.name, i, class, sameKey, sameBlocks)
				}
			}
		}
		if count[0] < batchLength/3 || count[1] < batchLength/3 {
			t.Errorf("%s: the classes have %v measurements", s.name, count)
		}
	}
}

// TestRender makes up measurements, so that nothing hangs on the machine: a leak is an error, and so is
// a control that does not leak.
func TestRender(t *testing.T) {
	r, err := report.Open(t.TempDir(), "dudect", report.NewMeta(true, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CSV("clock", []clock{{"a clock", 4, 40, 1000}}); err != nil {
		t.Fatal(err)
	}
	try := func(ofLibrary, ofControl float64) error {
		var rows []row
		for _, s := range subjects() {
			rows = append(rows,
				row{s.name, library, s.calls, s.blocks, cropped{Kept: 1, N0: 500, N1: 500, T: ofLibrary, Error: 1}},
				row{s.name, control, s.calls, s.blocks, cropped{Kept: 1, N0: 500, N1: 500, T: ofControl, Error: 1}})
		}
		if err := r.CSV("dudect", rows); err != nil {
			t.Fatal(err)
		}
		return render(r)
	}
	if err := try(-4.4, 5); err != nil {
		t.Error(err)
	}
	if try(-4.6, 5) == nil {
		t.Error("a leak is no error")
	}
	if try(1, 1) == nil {
		t.Error("a control that passes is no error")
	}
}
