package prove

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// An evaluation has the values of variables, by atom, and of what depends on nothing else, as it is asked for.
type evaluation map[int]uint16

// set makes a variable with a value.
func (e evaluation) set(t *terms, v uint16) word {
	e[len(t.atoms)] = v
	return t.variable()
}

// word returns the value of w. ok is false if it depends on other variables.
func (e evaluation) word(t *terms, w word) (v uint16, ok bool) {
	f := t.form(w)
	v, ok = f.constant, true
	for _, p := range f.parts {
		a, known := e.atom(t, p.atom())
		v, ok = v^bits.RotateLeft16(a, p.rotation())&p.mask(), ok && known
	}
	return v, ok
}

func (e evaluation) atom(t *terms, n int) (v uint16, ok bool) {
	v, ok = e[n]
	if ok || t.atoms[n].kind == isVariable {
		return v, ok
	}
	operands := t.atoms[n].operands
	ok = true
	get := func(i int) int {
		v, known := e.word(t, word(operands[i]))
		ok = ok && known
		return int(v)
	}
	switch t.atoms[n].kind {
	case isSum:
		v = uint16(operands[0]) + uint16(get(1))
		for i := 2; i < len(operands); i += 2 {
			v += uint16(operands[i]) * uint16(get(i+1))
		}
	case isCarry:
		v = uint16((get(0) + get(1) + get(2)) >> 16)
	case isBorrow:
		v = uint16((get(0)-get(1)-get(2))>>16) & 1
	case isAnd:
		v = uint16(get(0) & get(1))
	}
	if ok {
		e[n] = v
	}
	return v, ok
}

// TestTerms compares random expressions with their values, for a few values of the variables.
func TestTerms(t *testing.T) {
	type expression struct {
		word   word
		values [4]uint16
	}
	var (
		rng   = rand.New(rand.NewPCG(1, 2))
		terms *terms
		n     int
		m     uint16
	)
	operations := []struct {
		word  func(x, y, z word) word
		value func(x, y, z uint16) uint16
	}{
		{func(x, y, _ word) word { return terms.xor(x, y) }, func(x, y, _ uint16) uint16 { return x ^ y }},
		{func(x, y, _ word) word { return terms.add(x, y) }, func(x, y, _ uint16) uint16 { return x + y }},
		{func(x, y, _ word) word { return terms.sub(x, y) }, func(x, y, _ uint16) uint16 { return x - y }},
		{func(x, y, _ word) word { return terms.and(x, y) }, func(x, y, _ uint16) uint16 { return x & y }},
		{func(x, y, _ word) word { return terms.or(x, y) }, func(x, y, _ uint16) uint16 { return x | y }},
		{func(x, _, _ word) word { return terms.rol(x, n) }, func(x, _, _ uint16) uint16 { return bits.RotateLeft16(x, n) }},
		{func(x, _, _ word) word { return terms.shl(x, n) }, func(x, _, _ uint16) uint16 { return x << n }},
		{func(x, _, _ word) word { return terms.shr(x, n) }, func(x, _, _ uint16) uint16 { return x >> n }},
		{func(x, _, _ word) word { return terms.mul(x, m) }, func(x, _, _ uint16) uint16 { return x * m }},
		{
			func(x, y, z word) word { return terms.carry(x, y, terms.mask(z, 1)) },
			func(x, y, z uint16) uint16 { return uint16((uint32(x) + uint32(y) + uint32(z&1)) >> 16) },
		},
		{
			func(x, y, z word) word { return terms.borrow(x, y, terms.mask(z, 1)) },
			func(x, y, z uint16) uint16 { return uint16((uint32(x)-uint32(y)-uint32(z&1))>>16) & 1 },
		},
	}
	for range 2000 {
		terms = newTerms()
		var evaluations [4]evaluation
		for i := range evaluations {
			evaluations[i] = evaluation{}
		}
		var pool []expression
		for range 4 {
			max := []uint16{0xffff, 0xffff, 0x7fff, 3}[rng.IntN(4)]
			x := expression{word: terms.bounded(max)}
			for i := range evaluations {
				x.values[i] = uint16(rng.IntN(int(max) + 1))
				evaluations[i][len(terms.atoms)-1] = x.values[i]
			}
			pool = append(pool, x)
		}
		for range 40 {
			any := func() expression { return pool[rng.IntN(len(pool))] }
			x, y, z := any(), any(), any()
			n = []int{1, 2, 7, 8, 9, 14, 15}[rng.IntN(7)]
			m = []uint16{1, 0x8000, 0x7fff, 0x00ff, 0xff00, uint16(rng.Uint32())}[rng.IntN(6)]
			if rng.IntN(4) == 0 {
				y.word, y.values = word(m), [4]uint16{m, m, m, m}
			}
			do := operations[rng.IntN(len(operations))]
			made := expression{word: do.word(x.word, y.word, z.word)}
			for i, e := range evaluations {
				made.values[i] = do.value(x.values[i], y.values[i], z.values[i])
				got, ok := e.word(terms, made.word)
				require.Must(t, ok && got == made.values[i], "got %#x, %t, want %#x", got, ok, made.values[i])
			}
			pool = append(pool, made)
		}
	}
}
