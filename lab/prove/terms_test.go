package prove

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A word is a 16-bit value as a function of variables: of the key and the block. Equal words are
// equal functions. Those below 1<<16 are constants; the others are forms in a table.
//
// A form is the exclusive or of a constant and some parts: atoms that are rotated, and then masked. Each function that is
// linear over bits has one such form, so exclusive or, rotations, shifts, masks and permutations of bits need no
// rules. An atom is a variable, or what isn't linear: a sum, a carry or an and, of words.
type word uint32

const (
	constants = 1 << 16
	top       = 0x8000
)

// A part is rotl(atom, rotation) & mask: the atom in the upper 32 bits, the rotation from bit 16
// on, the mask below. Parts are sorted.
type part uint64

func (p part) atom() int             { return int(p >> 32) }
func (p part) rotation() int         { return int(p >> 16 & 15) }
func (p part) mask() uint16          { return uint16(p) }
func (p part) key() part             { return p >> 16 }
func (p part) with(mask uint16) part { return p&^0xffff | part(mask) }

type form struct {
	constant uint16
	varying  uint16 // the bits that aren't constant
	parts    []part
}

// An atom's operands depend on its kind.
type atom struct {
	kind     kind
	max      uint16 // no value is larger
	operands []uint32
}

type kind uint32

const (
	isVariable kind = iota

	// isSum is a constant, a word of which only the top bit varies, and pairs of factor and word,
	// without top bits. It is their sum, each word times its factor, modulo 1<<16.
	isSum
	isCarry  // out of the sum of two words and a carry
	isBorrow // out of a word minus a word and a borrow
	isAnd    // of two words
)

// terms is a table of words and atoms.
type terms struct {
	forms   []form
	atoms   []atom
	arena   []part         // of new forms
	index   map[string]int // of forms and atoms, by what they are
	key     []byte
	scratch []part
	xors    answers
	masks   answers
	rols    answers
	sums    answers

	closed  bool // a new atom that isn't a variable is foreign
	foreign bool // there was one
}

func newTerms() *terms {
	return &terms{index: map[string]int{}, xors: answers{}, masks: answers{}, rols: answers{}, sums: answers{}}
}

// answers are what an operation returned for two words, one in the upper 32 bits.
type answers map[uint64]word

// answer returns what do says of a and b. A mutant asks mostly what the unchanged code has asked, of which answers are kept.
func (t *terms) answer(known answers, a, b word, do func(t *terms, a, b word) word) word {
	question := uint64(a)<<32 | uint64(b)
	out, ok := known[question]
	if !ok {
		out = do(t, a, b)
		if !t.closed {
			known[question] = out
		}
	}
	return out
}

// variable returns a new variable.
func (t *terms) variable() word { return t.bounded(0xffff) }

// bounded returns a new variable that max bounds.
func (t *terms) bounded(max uint16) word {
	t.atoms = append(t.atoms, atom{kind: isVariable, max: max})
	return t.single(len(t.atoms) - 1)
}

func (t *terms) single(atom int) word {
	return t.intern(0, []part{part(atom)<<32 | 0xffff})
}

// apply returns the atom of a kind for its operands.
func (t *terms) apply(k kind, max uint16, operands ...uint32) word {
	key := t.atomKey(k, operands)
	if at, ok := t.index[string(key)]; ok {
		t.atoms[at].max = min(t.atoms[at].max, max)
		return t.single(at)
	}
	if t.closed {
		t.foreign = true
	}
	t.index[string(key)] = len(t.atoms)
	t.atoms = append(t.atoms, atom{k, max, slices.Clone(operands)})
	return t.single(len(t.atoms) - 1)
}

// atomKey and formKey return keys of the index. None is both: their lengths differ, modulo 4.
func (t *terms) atomKey(k kind, operands []uint32) []byte {
	t.key = binary.LittleEndian.AppendUint32(t.key[:0], uint32(k))
	for _, o := range operands {
		t.key = binary.LittleEndian.AppendUint32(t.key, o)
	}
	return t.key
}

func (t *terms) formKey(constant uint16, parts []part) []byte {
	t.key = binary.LittleEndian.AppendUint16(t.key[:0], constant)
	for _, p := range parts {
		t.key = binary.LittleEndian.AppendUint64(t.key, uint64(p))
	}
	return t.key
}

// intern returns the word with the form. It keeps no reference to parts.
func (t *terms) intern(constant uint16, parts []part) word {
	if len(parts) == 0 {
		return word(constant)
	}
	key := t.formKey(constant, parts)
	at, ok := t.index[string(key)]
	if !ok {
		at = len(t.forms)
		t.index[string(key)] = at
		varying := uint16(0)
		for _, p := range parts {
			varying |= p.mask()
		}
		if cap(t.arena)-len(t.arena) < len(parts) {
			t.arena = make([]part, 0, max(1<<16, len(parts)))
		}
		from := len(t.arena)
		t.arena = append(t.arena, parts...)
		t.forms = append(t.forms, form{constant, varying, t.arena[from:len(t.arena):len(t.arena)]})
	}
	return word(constants + at)
}

func (t *terms) form(w word) form {
	if w < constants {
		return form{constant: uint16(w)}
	}
	return t.forms[w-constants]
}

// alone returns the atom that w is.
func (t *terms) alone(w word) (*atom, bool) {
	if w < constants {
		return nil, false
	}
	f := t.forms[w-constants]
	if f.constant != 0 || len(f.parts) != 1 || f.parts[0]&0xffff_ffff != 0xffff {
		return nil, false
	}
	return &t.atoms[f.parts[0].atom()], true
}

// limits returns bounds of the values of w.
func (t *terms) limits(w word) (low, high int) {
	if a, ok := t.alone(w); ok {
		return 0, int(a.max)
	}
	f := t.form(w)
	return int(f.constant &^ f.varying), int(f.constant | f.varying)
}

// possible returns the bits that can be 1.
func (t *terms) possible(w word) uint16 {
	f := t.form(w)
	return f.constant | f.varying
}

func (t *terms) xor(a, b word) word {
	switch {
	case a < constants && b < constants:
		return a ^ b
	case a == 0:
		return b
	case b == 0:
		return a
	case a == b:
		return 0
	}
	return t.answer(t.xors, a, b, (*terms).xorForms)
}

func (t *terms) xorForms(a, b word) word {
	for range 2 { // what changes the top bit of a sum belongs to the sum
		if s, ok := t.alone(a); ok && s.kind == isSum && t.possible(b)&^top == 0 {
			operands := slices.Clone(s.operands)
			operands[1] = uint32(t.xor(word(operands[1]), b))
			return t.apply(isSum, 0xffff, operands...)
		}
		a, b = b, a
	}
	f, g := t.form(a), t.form(b)
	out := t.scratch[:0]
	p, q := f.parts, g.parts
	for len(p) > 0 && len(q) > 0 {
		switch {
		case p[0].key() < q[0].key():
			out, p = append(out, p[0]), p[1:]
		case p[0].key() > q[0].key():
			out, q = append(out, q[0]), q[1:]
		default:
			if m := p[0].mask() ^ q[0].mask(); m != 0 {
				out = append(out, p[0].with(m))
			}
			p, q = p[1:], q[1:]
		}
	}
	out = append(append(out, p...), q...)
	t.scratch = out
	return t.intern(f.constant^g.constant, out)
}

func (t *terms) not(a word) word { return t.xor(a, 0xffff) }

// mask returns w & m.
func (t *terms) mask(w word, m uint16) word {
	if w < constants {
		return w & word(m)
	}
	return t.answer(t.masks, w, word(m), (*terms).maskForm)
}

func (t *terms) maskForm(w, mask word) word {
	m := uint16(mask)
	f := t.form(w)
	if (f.constant|f.varying)&^m == 0 {
		return w
	}
	out := t.scratch[:0]
	for _, p := range f.parts {
		if left := p.mask() & m; left != 0 {
			out = append(out, p.with(left))
		}
	}
	t.scratch = out
	return t.intern(f.constant&m, out)
}

func (t *terms) rol(w word, n int) word {
	n &= 15
	if w < constants {
		return word(bits.RotateLeft16(uint16(w), n))
	}
	if n == 0 {
		return w
	}
	return t.answer(t.rols, w, word(n), (*terms).rolForm)
}

func (t *terms) rolForm(w, by word) word {
	n := int(by)
	f := t.form(w)
	out := t.scratch[:0]
	for _, p := range f.parts {
		p = part(p.atom())<<32 | part((p.rotation()+n)&15)<<16 | part(bits.RotateLeft16(p.mask(), n))
		out = append(out, p)
		for i := len(out) - 1; i > 0 && out[i] < out[i-1]; i-- {
			out[i], out[i-1] = out[i-1], out[i]
		}
	}
	t.scratch = out
	return t.intern(bits.RotateLeft16(f.constant, n), out)
}

func (t *terms) shl(w word, n int) word {
	if n >= 16 {
		return 0
	}
	return t.rol(t.mask(w, 0xffff>>n), n)
}

func (t *terms) shr(w word, n int) word {
	if n >= 16 {
		return 0
	}
	return t.rol(t.mask(w, uint16(0xffff<<n)), -n)
}

func (t *terms) and(a, b word) word {
	switch {
	case a < constants:
		return t.mask(b, uint16(a))
	case b < constants:
		return t.mask(a, uint16(b))
	case a == b:
		return a
	}
	both := t.possible(a) & t.possible(b)
	a, b = t.mask(a, both), t.mask(b, both)
	if a < constants || b < constants || a == b {
		return t.and(a, b)
	}
	return t.mask(t.apply(isAnd, both, uint32(min(a, b)), uint32(max(a, b))), both)
}

func (t *terms) or(a, b word) word { return t.xor(t.xor(a, b), t.and(a, b)) }

func (t *terms) add(a, b word) word {
	return t.answer(t.sums, a, b, func(t *terms, a, b word) word { return t.sum(addend{1, a}, addend{1, b}) })
}

func (t *terms) sub(a, b word) word { return t.sum(addend{1, a}, addend{0xffff, b}) }

// mul returns w times a constant.
func (t *terms) mul(w word, factor uint16) word {
	if bits.OnesCount16(factor) == 1 {
		return t.shl(w, bits.TrailingZeros16(factor))
	}
	return t.sum(addend{factor, w})
}

type addend struct {
	factor uint16
	word   word
}

// sum returns the sum of words times factors, modulo 1<<16. In it
//   - a sum is replaced by what it adds;
//   - top bits are apart, since there an addition is an exclusive or, times an odd factor;
//   - words that have no bit in common are one, since their addition is an exclusive or.
func (t *terms) sum(addends ...addend) word {
	var buffer [8]addend
	s := flatSum{leaves: buffer[:0]}
	most := 0
	for _, a := range addends {
		_, high := t.limits(a.word)
		most += high * int(a.factor)
		t.flatten(&s, a)
	}
	leaves := t.joinAll(s.leaves)
	if len(leaves) == 0 {
		return t.xor(word(s.constant), s.tops)
	}
	constant, tops := s.constant&^top, t.xor(s.tops, word(s.constant&top))
	if len(leaves) == 1 && leaves[0].factor == 1 && constant&t.possible(leaves[0].word) == 0 {
		return t.xor(t.xor(leaves[0].word, word(constant)), tops)
	}
	slices.SortFunc(leaves, func(a, b addend) int { return int(a.word) - int(b.word) })
	operands := []uint32{uint32(constant), uint32(tops)}
	for _, l := range leaves {
		operands = append(operands, uint32(l.factor), uint32(l.word))
	}
	return t.apply(isSum, uint16(min(most, 0xffff)), operands...)
}

// A flatSum is a constant, the top bit of tops, and leaves, which are no sums and have no top bits.
type flatSum struct {
	constant uint16
	tops     word
	leaves   []addend
}

// flatten adds a word to s, or what it is the sum of.
func (t *terms) flatten(s *flatSum, a addend) {
	inner, ok := t.alone(a.word)
	if !ok || inner.kind != isSum {
		t.addLeaf(s, a)
		return
	}
	o := inner.operands
	t.addLeaf(s, addend{a.factor, word(o[0])})
	t.addLeaf(s, addend{a.factor, word(o[1])})
	for i := 2; i < len(o); i += 2 {
		t.addLeaf(s, addend{a.factor * uint16(o[i]), word(o[i+1])})
	}
}

func (t *terms) addLeaf(s *flatSum, a addend) {
	if a.factor&1 == 1 {
		s.tops = t.xor(s.tops, t.mask(a.word, top))
	}
	rest := t.mask(a.word, top-1)
	f := t.form(rest)
	s.constant += a.factor * (f.constant &^ f.varying)
	if rest = t.mask(rest, f.varying); rest != 0 {
		s.leaves = append(s.leaves, addend{a.factor, rest})
	}
}

// joinAll joins leaves until no two can be one.
func (t *terms) joinAll(leaves []addend) []addend {
	for joined := true; joined; {
		joined = false
		for i := 0; i < len(leaves); i++ {
			for j := i + 1; j < len(leaves); {
				both, ok := t.join(leaves[i], leaves[j])
				if !ok {
					j++
					continue
				}
				leaves[i] = both
				leaves = slices.Delete(leaves, j, j+1)
				joined = true
			}
			if leaves[i].factor == 0 {
				leaves = slices.Delete(leaves, i, i+1)
				i--
			}
		}
	}
	return leaves
}

// join returns what is two addends in one, if something is.
func (t *terms) join(a, b addend) (both addend, ok bool) {
	switch {
	case a.word == b.word:
		return addend{a.factor + b.factor, a.word}, true
	case a.factor == b.factor && t.possible(a.word)&t.possible(b.word) == 0:
		return addend{a.factor, t.xor(a.word, b.word)}, true
	}
	return addend{}, false
}

// carry returns 1 if a + b + c is above 0xffff.
func (t *terms) carry(a, b, c word) word {
	la, ha := t.limits(a)
	lb, hb := t.limits(b)
	lc, hc := t.limits(c)
	switch {
	case ha+hb+hc <= 0xffff:
		return 0
	case la+lb+lc > 0xffff:
		return 1
	}
	return t.mask(t.apply(isCarry, 1, uint32(min(a, b)), uint32(max(a, b)), uint32(c)), 1)
}

// borrow returns 1 if a - b - c is negative.
func (t *terms) borrow(a, b, c word) word {
	la, ha := t.limits(a)
	lb, hb := t.limits(b)
	lc, hc := t.limits(c)
	switch {
	case la >= hb+hc || a == b && c == 0:
		return 0
	case ha < lb+lc:
		return 1
	}
	return t.mask(t.apply(isBorrow, 1, uint32(a), uint32(b), uint32(c)), 1)
}

// A mark is a state of the table to go back to.
type mark struct{ forms, atoms int }

func (t *terms) mark() mark { return mark{len(t.forms), len(t.atoms)} }

// rollback forgets what is newer than the mark.
func (t *terms) rollback(m mark) {
	for _, f := range t.forms[m.forms:] {
		delete(t.index, string(t.formKey(f.constant, f.parts)))
	}
	for _, a := range t.atoms[m.atoms:] {
		delete(t.index, string(t.atomKey(a.kind, a.operands)))
	}
	t.forms, t.atoms = t.forms[:m.forms], t.atoms[:m.atoms]
	t.foreign = false
}
