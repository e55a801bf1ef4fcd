package prove

import (
	"errors"
	"fmt"
	"slices"
)

// A value is a sequence of words, the least significant first. It is never changed in place.
type value []word

// A machine executes machine code on words. Addresses, and what branches depend on, must be
// constants: no time and no address depends on a key or a block.
type machine struct {
	*terms
	code      *code
	registers []value
	flags     flags
	pc        uint64
	memory    []*region
	patched   map[uint64]operation            // instead of those of code
	calls     map[string]func(*machine) error // instead of functions outside the package
	executed  int
	before    func(*machine) // is called before each instruction, if not nil
}

// flags are unknown after instructions that don't set all of them, and if they depend on variables.
// carry is set by a subtraction that borrows.
type flags struct{ known, carry, zero, sign, overflow bool }

// A region is memory from an address on.
type region struct {
	name     string
	address  uint64
	words    []word
	writable bool
}

// unset are words of memory and registers whose content is a variable of its own, made when first read.
const unset = ^word(0)

// returned is where a program goes at its end.
const returned = 0x7fff_dead_0000

const maxExecuted = 20_000

var errForeign = errors.New("a sum that the cipher does not have")

// An operation is an instruction that is ready to be executed. It may change pc, which is that of the next one.
type operation struct {
	instruction
	next uint64
	do   func(*machine) error
}

// run executes from pc to the end.
func (m *machine) run() error {
	for ; m.pc != returned; m.executed++ {
		if m.before != nil {
			m.before(m)
		}
		op, ok := m.patched[m.pc]
		if !ok {
			var err error
			if op, err = m.code.at(m.pc); err != nil {
				return err
			}
		}
		m.pc = op.next
		err := op.do(m)
		switch {
		case err != nil:
		case m.foreign: // terms.apply has met a new one
			err = errForeign
		case m.executed > maxExecuted:
			err = errors.New("no end")
		}
		if err != nil {
			return fmt.Errorf("%x: %s %s: %w", op.address, op.mnemonic, op.operands, err)
		}
	}
	return nil
}

// fork returns a machine in the same state, on the same terms.
func (m *machine) fork() *machine {
	n := *m
	n.registers = slices.Clone(m.registers)
	n.memory = slices.Clone(m.memory)
	for i, r := range n.memory {
		if r.writable {
			c := *r
			c.words = slices.Clone(r.words)
			n.memory[i] = &c
		}
	}
	n.before = nil
	return &n
}

// add adds a region. Words that are not given are unset.
func (m *machine) add(name string, address uint64, writable bool, size int, words ...word) {
	r := &region{name, address, words, writable}
	for len(r.words) < size/2 {
		r.words = append(r.words, unset)
	}
	m.memory = append(m.memory, r)
}

func (m *machine) find(address uint64, words int) ([]word, *region, error) {
	for _, r := range m.memory {
		if at := address - r.address; at < uint64(2*len(r.words)) && at+uint64(2*words) <= uint64(2*len(r.words)) {
			if at%2 != 0 {
				return nil, nil, fmt.Errorf("odd address %x in %s", address, r.name)
			}
			return r.words[at/2:][:words], r, nil
		}
	}
	return nil, nil, fmt.Errorf("no memory at %x for %d bytes", address, 2*words)
}

func (m *machine) load(address uint64, words int) (value, error) {
	at, _, err := m.find(address, words)
	if err != nil {
		if v, ok := m.code.constant(address, words); ok {
			return v, nil
		}
		return nil, err
	}
	for i, w := range at {
		if w == unset {
			at[i] = m.variable()
		}
	}
	return slices.Clone(value(at)), nil
}

func (m *machine) store(address uint64, v value) error {
	at, r, err := m.find(address, len(v))
	if err != nil {
		return err
	}
	sp, ok := constant(m.registers[m.code.arch.sp])
	belowStack := r.name == "stack" && ok && address < sp && !m.code.arch.framesFirst
	if !r.writable || belowStack {
		return fmt.Errorf("%x in %s is not to be written", address, r.name)
	}
	copy(at, v)
	return nil
}

// constant returns the number that v is.
func constant(v value) (n uint64, ok bool) {
	for i, w := range v {
		if w >= constants {
			return 0, false
		}
		n |= uint64(w) << (16 * i)
	}
	return n, true
}

// number returns n as a value of a number of words.
func number(n uint64, words int) value {
	v := make(value, words)
	for i := range v {
		v[i] = word(uint16(n >> (16 * i)))
	}
	return v
}

var errVariable = errors.New("an address or a branch depends on the key or on data")

// unsets returns new variables.
func (t *terms) unsets(words int) value {
	return each(make(value, words), func(word) word { return t.variable() })
}

func each(a value, f func(word) word) value {
	out := make(value, len(a))
	for i := range a {
		out[i] = f(a[i])
	}
	return out
}

func zip(a, b value, f func(a, b word) word) value {
	out := make(value, len(a))
	for i := range a {
		out[i] = f(a[i], b[i])
	}
	return out
}

// addWide returns a + b + carry and the carry out of it.
func (t *terms) addWide(a, b value, carry word) (value, word) {
	out := make(value, len(a))
	for i := range a {
		out[i] = t.sum(addend{1, a[i]}, addend{1, b[i]}, addend{1, carry})
		carry = t.carry(a[i], b[i], carry)
	}
	return out, carry
}

// subWide returns a - b - borrow and the borrow out of it.
func (t *terms) subWide(a, b value, borrow word) (value, word) {
	out := make(value, len(a))
	for i := range a {
		out[i] = t.sum(addend{1, a[i]}, addend{0xffff, b[i]}, addend{0xffff, borrow})
		borrow = t.borrow(a[i], b[i], borrow)
	}
	return out, borrow
}

// shlWide shifts to the left, or to the right if n is negative.
func (t *terms) shlWide(v value, n int) value {
	at := func(i int) word {
		if i < 0 || i >= len(v) {
			return 0
		}
		return v[i]
	}
	words, bits := n>>4, n&15
	out := make(value, len(v))
	for i := range out {
		out[i] = t.xor(t.shl(at(i-words), bits), t.shr(at(i-words-1), 16-bits))
	}
	return out
}

func (t *terms) shrWide(v value, n int) value { return t.shlWide(v, -n) }

func (t *terms) rolWide(v value, n int) value {
	n %= 16 * len(v)
	if len(v) == 1 {
		return value{t.rol(v[0], n)}
	}
	return zip(t.shlWide(v, n), t.shrWide(v, 16*len(v)-n), t.xor)
}

// reversed returns v with its bytes in the opposite order.
func (t *terms) reversed(v value) value {
	out := each(v, func(w word) word { return t.rol(w, 8) })
	slices.Reverse(out)
	return out
}

// byteOf returns byte i of v.
func (t *terms) byteOf(v value, i int) word {
	if i%2 == 0 {
		return t.mask(v[i/2], 0xff)
	}
	return t.shr(v[i/2], 8)
}

// call goes to a function of the package and has the architecture keep the address to return to, or
// does what stands for a function outside of it.
func (m *machine) call(target uint64) error {
	if _, ok := m.code.listed[target]; ok {
		back := m.pc
		m.pc = target
		return m.code.arch.enter(m, back)
	}
	name := m.code.names[target]
	do, ok := m.calls[name]
	if !ok {
		return fmt.Errorf("call of %s", name)
	}
	return do(m)
}

// newObject is runtime.newobject.
func newObject(m *machine) error {
	argument := m.code.arch.arguments[0]
	typ, ok := constant(m.registers[argument])
	if !ok {
		return errVariable
	}
	size, ok := m.code.constant(typ, 4)
	n, _ := constant(size)
	if !ok || n > 1<<16 {
		return errors.New("an unknown type")
	}
	m.add("heap", heapAt, true, int(n), make(value, n/2)...)
	arch := m.code.arch
	for i, words := range arch.registers {
		if i != arch.sp && i != arch.g && (i != arch.zero || i == 0) && !slices.Contains(arch.kept, i) {
			m.registers[i] = m.unsets(words)
		}
	}
	if arch.start != nil {
		arch.start(m)
	}
	m.registers[argument] = number(heapAt, 4)
	return nil
}
