package ulid

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// words is a source of the given 32-bit words, in the order in which a state uses them, and of
// zeros after them.
func words(list ...uint32) func([]byte) {
	return func(p []byte) {
		clear(p)
		for _, word := range list {
			p = p[:len(p)-4]
			binary.LittleEndian.PutUint32(p[len(p):][:4], word)
		}
		list = nil
	}
}

func TestStateIsMadeOfItsRandomWords(t *testing.T) {
	s := newState(words(0x0123_ffff, 0x456789ab, 0xcdef0123, 0, 0xffffffff, 0x8000_0000, 1, 2), false)
	for i, want := range []string{
		"00000000000a" + "0123456789abcdef0123",
		"00000000000a" + "0123456789abcdef0124", // a step is at least 1
		"00000000000a" + "0123456789accdef0124", // and at most 2^32
		"00000000000b" + "80000000000100000002"[:4] + "0000000100000002",
	} {
		ms := int64(10)
		if i == 3 {
			ms = 11
		}
		id, err := s.next(ms)
		if err != nil {
			t.Fatal(err)
		}
		if got := hexOf(id); got != want {
			t.Errorf("ID %d is %s, want %s", i, got, want)
		}
	}
}

func hexOf(id ID) string {
	var digits []byte
	for _, b := range id {
		digits = append(digits, "0123456789abcdef"[b>>4], "0123456789abcdef"[b&15])
	}
	return string(digits)
}

// What a state makes at the end of its 80 bits is an error, and never a smaller ID.
func TestStateOverflows(t *testing.T) {
	const full = 0xffff_ffff
	for _, c := range []struct {
		name  string
		start [3]uint32
		steps []uint32
		fails []bool
	}{
		{"at the maximum", [3]uint32{full, full, full}, []uint32{0}, []bool{true}},
		{"one below it", [3]uint32{full, full, full - 1}, []uint32{0, 0}, []bool{false, true}},
		{"the step too large", [3]uint32{full, full, 5}, []uint32{full, full - 6, full - 7, 0, 0}, []bool{true, false, true, true, true}},
		{"the low half alone", [3]uint32{full &^ 0x10000, full, full}, []uint32{0, full}, []bool{false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newState(words(append(c.start[:], c.steps...)...), true)
			last, err := s.next(7)
			if err != nil {
				t.Fatal(err)
			}
			for i, fails := range c.fails {
				id, err := s.next(7)
				if fails {
					if !errors.Is(err, ErrMonotonicOverflow) || id != (ID{}) {
						t.Fatalf("step %d: %v, %v after %v, want an overflow", i, id, err, last)
					}
					continue
				}
				if err != nil || id.Compare(last) <= 0 {
					t.Fatalf("step %d: %v, %v after %v", i, id, err, last)
				}
				last = id
			}
			if id, err := s.next(8); err != nil || id.Compare(last) <= 0 {
				t.Errorf("in the next millisecond: %v, %v after %v", id, err, last)
			}
		})
	}
}

// Whatever clock and random numbers say, the IDs of one state grow within a millisecond, have the
// clock's time and never repeat; those of a state that holds grow always.
func TestStateGrows(t *testing.T) {
	for _, hold := range []bool{false, true} {
		random := rand.New(rand.NewPCG(1, 2))
		s := newState(func(p []byte) {
			for i := range p {
				p[i] = byte(random.Uint32())
			}
		}, hold)
		var last ID
		ms, newest := int64(1000), int64(0)
		seen := map[ID]bool{}
		for range 100_000 {
			ms += int64([]int{-1, 0, 0, 0, 1}[random.IntN(5)])
			ms = max(ms, 0)
			newest = max(newest, ms)
			id, err := s.next(ms)
			if err != nil {
				t.Fatal(err)
			}
			want := ms
			if hold {
				want = newest
			}
			if got := id.milliseconds(); got != want {
				t.Fatalf("hold %v: the time is %d, want %d", hold, got, want)
			}
			if (hold || id.milliseconds() == last.milliseconds()) && id.Compare(last) <= 0 {
				t.Fatalf("hold %v: %v after %v", hold, id, last)
			}
			if seen[id] {
				t.Fatalf("hold %v: %v twice", hold, id)
			}
			seen[id], last = true, id
		}
	}
}

// A state uses each random byte once and keeps none that it used.
func TestStateErasesWhatItUsed(t *testing.T) {
	reads := 0
	s := newState(func(p []byte) {
		if len(p) != bufferSize || bytes.ContainsFunc(p, func(r rune) bool { return r != 0 }) {
			t.Errorf("read %d into %d bytes, not all of them erased", reads, len(p))
		}
		reads++
		for i := range p {
			p[i] = 0xa5
		}
	}, false)
	const start, step = 12, 4
	for i := range 1000 {
		if _, err := s.next(1); err != nil {
			t.Fatal(err)
		}
		used := start + i*step
		if want := (used + bufferSize - 1) / bufferSize; reads != want {
			t.Fatalf("%d reads for %d bytes, want %d", reads, used, want)
		}
		if n := bytes.Count(s.buffer[:], []byte{0xa5}); n != reads*bufferSize-used {
			t.Fatalf("%d bytes kept after %d of %d, want %d", n, used, reads*bufferSize, reads*bufferSize-used)
		}
	}
}

func TestStatesShareNoCacheLine(t *testing.T) {
	const line = 64
	var s ownedState
	if end := unsafe.Offsetof(s.lock) + unsafe.Sizeof(s.lock); unsafe.Sizeof(s)-end < line {
		t.Errorf("%d bytes after a state's last field, want %d", unsafe.Sizeof(s)-end, line)
	}
}

// evenness compares how often each byte occurred with how often it should have: by chi-square, in
// standard deviations from what randomness gives.
func evenness(data []byte) float64 {
	var counts [256]float64
	for _, b := range data {
		counts[b]++
	}
	want := float64(len(data)) / 256
	var chi float64
	for _, n := range counts {
		chi += (n - want) * (n - want) / want
	}
	return (chi - 255) / 22.58 // the square root of 2 * 255
}

// entropyColumns returns the bytes of the entropy of n IDs, column by column: first those of IDs
// of a millisecond each, then those of the steps between IDs of one millisecond.
func entropyColumns(t *testing.T, s *state, n int) (starts [10][]byte, steps [4][]byte) {
	t.Helper()
	for ms := range int64(n) {
		first, err := s.next(ms)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range first[6:] {
			starts[i] = append(starts[i], b)
		}
		second, err := s.next(ms)
		if err != nil {
			continue // a start within 2^32 of the end
		}
		step := binary.BigEndian.Uint64(second[8:]) - binary.BigEndian.Uint64(first[8:]) - 1
		for i := range steps {
			steps[i] = append(steps[i], byte(step>>(8*i)))
		}
	}
	return starts, steps
}

// uneven returns which columns are not what random bytes are; one in 10^9 random ones is among them.
func uneven(t *testing.T, s *state) (columns []int) {
	const n = 200_000
	starts, steps := entropyColumns(t, s, n)
	for i, column := range slices.Concat(starts[:], steps[:]) {
		if e := evenness(column); e < -6 || e > 7 {
			columns = append(columns, i)
		}
	}
	return columns
}

func TestEntropyIsEven(t *testing.T) {
	if columns := uneven(t, &mustNew().own().state); columns != nil {
		t.Errorf("columns %d of the entropy are uneven", columns)
	}
}
