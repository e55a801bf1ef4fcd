package ulid

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
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

func (s *state) newID(ms int64) (id ID) {
	s.next(ms, &id)
	return id
}

func TestStateIsMadeOfItsRandomWords(t *testing.T) {
	for version7, wants := range map[bool][]string{
		false: {
			"00000000000a" + "0123456789abcdef0123",
			"00000000000a" + "0123456789abcdef0124", // a step is at least 1
			"00000000000a" + "0123456789accdef0124", // and at most 2^32
			"00000000000b" + "80000000000100000002",
		},
		true: {
			"00000000000a" + "7123856789abcdef0123",
			"00000000000a" + "7123856789abcdef0124",
			"00000000000a" + "7123856789accdef0124",
			"00000000000b" + "70008000000100000002",
		},
	} {
		s := newState(words(0x0123_ffff, 0x456789ab, 0xcdef0123, 0, 0xffffffff, 0x8000_0000, 1, 2), false, version7)
		for i, want := range wants {
			id := s.newID(10 + int64(i/3))
			require.Equal(t, fmt.Sprintf("%x", [16]byte(id)), want, "version 7 %v: ID %d is", version7, i)
		}
	}
}

// A state without room above its newest ID starts again: in the next millisecond if the order is strict.
func TestStateOverflows(t *testing.T) {
	const full = 0xffff_ffff
	again := []uint32{1, 2, 3} // the words of another start
	for _, c := range []struct {
		name  string
		start [3]uint32
		steps []uint32
		over  int // the step without room, or -1
	}{
		{"at the maximum", [3]uint32{full, full, full}, []uint32{0}, 0},
		{"one below it", [3]uint32{full, full, full - 1}, []uint32{0, 0}, 1},
		{"the step too large", [3]uint32{full, full, 5}, []uint32{full - 6, full}, 1},
		{"the low half alone", [3]uint32{full &^ 0x10000, full, full}, []uint32{0, full}, -1},
	} {
		for i := range 4 {
			hold, version7 := i&1 == 1, i&2 == 2
			s := newState(words(slices.Concat(c.start[:], c.steps, again)...), hold, version7)
			last := s.newID(7)
			for i := range c.steps {
				id := s.newID(7)
				want := int64(7)
				if hold && i == c.over {
					want++
				}
				require.That(t, id.milliseconds() == want && (id.Compare(last) <= 0) == (!hold && i == c.over),
					"%s, hold %v: step %d: %v after %v", c.name, hold, i, id, last)
				if version7 && isVersion7(id) != nil {
					t.Errorf("%s, hold %v: step %d: %v", c.name, hold, i, isVersion7(id))
				}
				last = id
			}
			if id := s.newID(7); id.Compare(last) <= 0 || id.milliseconds() != last.milliseconds() {
				t.Errorf("%s, hold %v: %v after %v", c.name, hold, id, last)
			}
		}
	}
}

// A state uses each random byte once and keeps none that it used.
func TestStateErasesWhatItUsed(t *testing.T) {
	reads := 0
	s := newState(func(p []byte) {
		require.That(t, len(p) == bufferSize && !bytes.ContainsFunc(p, func(r rune) bool { return r != 0 }),
			"read %d into %d bytes, not all of them erased", reads, len(p))
		reads++
		for i := range p {
			p[i] = 0xa5
		}
	}, false, false)
	const start, step = 12, 4
	for i := range 1000 {
		s.newID(1)
		used := start + i*step
		want := (used + bufferSize - 1) / bufferSize
		require.Must(t, reads == want, "%d reads for %d bytes, want %d", reads, used, want)
		if n := bytes.Count(s.buffer[:], []byte{0xa5}); n != reads*bufferSize-used {
			t.Fatalf("%d bytes kept after %d of %d, want %d", n, used, reads*bufferSize, reads*bufferSize-used)
		}
	}
}
