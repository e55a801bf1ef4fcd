package prove

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// arm64 reads GNU syntax: the destination comes first, memory is in brackets. Registers 0 to 30 are x0 to x30, and w0
// to w30 in their lower halves.
const (
	arm64SP     = 31
	arm64Vector = 32 // v0, and z0, whose low 128 bits v0 is
	arm64Zero   = 64 // xzr
)

// A vector of NEON has so many words. What NEON writes leaves zero in the rest of a register of SVE.
const neonWords = 8

var arm64Operand = regexp.MustCompile(`^(?:([xw])(\d+|zr)|(w?sp)|([vz])(\d+)\.(\w+))$`)

var arm64 = onARM64("arm64", 128)

func init() {
	for _, bits := range []int{256, 512} {
		arm64.longer = append(arm64.longer, onARM64(fmt.Sprintf("arm64 with vectors of %d bits", bits), bits))
	}
}

func onARM64(name string, vectorBits int) *architecture {
	return &architecture{
		name:        name,
		objdump:     []string{"aarch64-linux-gnu-objdump"},
		registers:   slices.Concat(slices.Repeat([]int{4}, arm64Vector), slices.Repeat([]int{vectorBits / 16}, 32)),
		arguments:   []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
		sp:          arm64SP,
		g:           28,
		kept:        []int{18, 29}, // the platform's, and the frame's pointer
		framesFirst: true,
		decode:      decodeARM,
		enter:       func(m *machine, back uint64) error { m.registers[30] = number(back, 4); return nil },
		kernels:     6,
	}
}

// A registerARM is an operand.
type registerARM struct {
	number  int
	words   int    // of a general register
	arrange string // of a vector
}

func parseARM(operand string) (r registerARM, ok bool) {
	m := arm64Operand.FindStringSubmatch(operand)
	if m == nil {
		return r, false
	}
	n, _ := strconv.Atoi(m[2] + m[5])
	switch {
	case m[3] != "":
		r = registerARM{number: arm64SP, words: 4}
	case m[2] == "zr":
		r = registerARM{number: arm64Zero, words: 4}
	case m[1] != "":
		r = registerARM{number: n, words: 4}
	default:
		return registerARM{arm64Vector + n, 0, m[4] + "." + m[6]}, n < 32
	}
	if m[1] == "w" || m[3] == "wsp" {
		r.words = 2
	}
	return r, n < 31
}

func (r registerARM) get(m *machine) value {
	switch {
	case r.number == arm64Zero:
		return number(0, r.words)
	case r.number >= arm64Vector:
		return m.registers[r.number]
	}
	return m.registers[r.number][:r.words]
}

// set writes a register, and zero into what v doesn't fill.
func (r registerARM) set(m *machine, v value) {
	if r.number != arm64Zero {
		all := make(value, len(m.registers[r.number]))
		copy(all, v)
		m.registers[r.number] = all
	}
}

func immediate(operand string) (uint64, bool) {
	text, ok := strings.CutPrefix(operand, "#")
	if !ok {
		return 0, false
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return uint64(n), true
	}
	n, err := strconv.ParseUint(text, 0, 64)
	return n, err == nil
}

// arm64Binary are functions of two values, or of a value and a constant; those of three operands.
var arm64Binary = map[string]func(t *terms, a, b value) value{
	"add": func(t *terms, a, b value) value { sum, _ := t.addWide(a, b, 0); return sum },
	"sub": func(t *terms, a, b value) value { rest, _ := t.subWide(a, b, 0); return rest },
	"eor": func(t *terms, a, b value) value { return zip(a, b, t.xor) },
	"eon": func(t *terms, a, b value) value { return each(zip(a, b, t.xor), t.not) },
	"and": func(t *terms, a, b value) value { return zip(a, b, t.and) },
	"orr": func(t *terms, a, b value) value { return zip(a, b, t.or) },
	"bic": func(t *terms, a, b value) value { return zip(a, each(b, t.not), t.and) },
}

// arm64Shift are functions of a value and a number of bits.
var arm64Shift = map[string]func(t *terms, v value, n int) value{
	"lsl": (*terms).shlWide,
	"lsr": (*terms).shrWide,
	"ror": func(t *terms, v value, n int) value { return t.rolWide(v, 16*len(v)-n) },
	"asr": func(t *terms, v value, n int) value {
		sign := number(0, len(v))
		for i := range sign {
			sign[i] = t.spread(v[len(v)-1], 15)
		}
		return zip(t.shrWide(v, n), t.shlWide(sign, 16*len(v)-n), t.xor)
	},
}

// spread returns a word of which each bit is that bit of w.
func (t *terms) spread(w word, bit int) word {
	out := word(0)
	for i := range 16 {
		out = t.xor(out, t.rol(t.mask(w, 1<<bit), i))
	}
	return out
}

var arm64Unary = map[string]func(t *terms, v value) value{
	"mov":   func(_ *terms, v value) value { return v },
	"neg":   func(t *terms, v value) value { rest, _ := t.subWide(number(0, len(v)), v, 0); return rest },
	"rev":   (*terms).reversed,
	"rev16": func(t *terms, v value) value { return each(v, func(w word) word { return t.rol(w, 8) }) },
}

// arm64Lanes are functions of the lanes of d, n and m.
var arm64Lanes = map[string]func(t *terms, d, n, m word) (word, error){
	"add v.8h":  func(t *terms, _, n, m word) (word, error) { return t.add(n, m), nil },
	"sub v.8h":  func(t *terms, _, n, m word) (word, error) { return t.sub(n, m), nil },
	"eor v.16b": func(t *terms, _, n, m word) (word, error) { return t.xor(n, m), nil },
	"and v.16b": func(t *terms, _, n, m word) (word, error) { return t.and(n, m), nil },
	"orr v.16b": func(t *terms, _, n, m word) (word, error) { return t.or(n, m), nil },
	"mla v.8h": func(t *terms, d, n, m word) (word, error) {
		if m >= constants {
			n, m = m, n
		}
		if m >= constants {
			return 0, errors.New("a product of two variables")
		}
		return t.add(d, t.mul(n, uint16(m))), nil
	},
}

// arm64LaneShifts are functions of the lanes of d and n, and of a number.
var arm64LaneShifts = map[string]func(t *terms, d, n word, i int) word{
	"ushr": func(t *terms, _, n word, i int) word { return t.shr(n, i) },
	"usra": func(t *terms, d, n word, i int) word { return t.add(d, t.shr(n, i)) },
	"sli":  func(t *terms, d, n word, i int) word { return t.xor(t.mask(d, 1<<i-1), t.shl(n, i)) },
	"sri":  func(t *terms, d, n word, i int) word { return t.xor(t.mask(d, ^uint16(0xffff>>i)), t.shr(n, i)) },
	"shl":  func(t *terms, _, n word, i int) word { return t.shl(n, i) },
}

// decodeARM returns what an instruction does.
func decodeARM(op operation) (func(*machine) error, error) {
	parts := split(op.operands)
	for _, decode := range []func(string, []string) func(*machine) error{
		arm64Moves, arm64Arithmetic, arm64Vectors, arm64Memory, arm64Branches,
	} {
		if do := decode(op.mnemonic, parts); do != nil {
			return do, nil
		}
	}
	return nil, errModel
}

func arm64Moves(mnemonic string, parts []string) func(*machine) error {
	if mnemonic == "nop" {
		return func(*machine) error { return nil }
	}
	d, ok := parseARM(parts[0])
	if !ok || d.words == 0 || len(parts) < 2 {
		return nil
	}
	if n, ok := immediate(parts[1]); ok {
		switch shift := 0; {
		case mnemonic == "mov" && len(parts) == 2:
			return func(m *machine) error { d.set(m, number(n, d.words)); return nil }
		case mnemonic == "movk" && len(parts) == 3:
			if _, err := fmt.Sscanf(parts[2], "lsl #%d", &shift); err != nil || shift%16 != 0 || shift/16 >= d.words {
				return nil
			}
			return func(m *machine) error {
				v := slices.Clone(d.get(m))
				v[shift/16] = word(uint16(n))
				d.set(m, v)
				return nil
			}
		}
		return nil
	}
	f, n := arm64Unary[mnemonic], registerARM{}
	if n, ok = parseARM(parts[1]); f == nil || !ok || n.words != d.words || len(parts) != 2 {
		return nil
	}
	return func(m *machine) error { d.set(m, f(m.terms, n.get(m))); return nil }
}

func arm64Arithmetic(mnemonic string, parts []string) func(*machine) error {
	if mnemonic == "cmp" {
		mnemonic, parts = "subs", append([]string{"xzr"}, parts...)
	}
	if len(parts) < 3 {
		return nil
	}
	d, okD := parseARM(parts[0])
	n, okN := parseARM(parts[1])
	if !okD || !okN || d.words == 0 || n.words == 0 {
		return nil
	}
	set := func(f func(m *machine, v value) value) func(*machine) error {
		return func(m *machine) error { d.set(m, f(m, n.get(m))); return nil }
	}
	amount, isNumber := immediate(parts[2])
	if f := arm64Shift[mnemonic]; f != nil && isNumber && len(parts) == 3 && amount < uint64(16*d.words) {
		return set(func(m *machine, v value) value { return f(m.terms, v, int(amount)) })
	}
	if mnemonic == "ubfx" && len(parts) == 4 {
		width, _ := immediate(parts[3])
		all := 16 * d.words
		if width == 0 || amount+width > uint64(all) {
			return nil
		}
		return set(func(m *machine, v value) value {
			return m.shrWide(m.shlWide(v, all-int(amount+width)), all-int(width))
		})
	}
	second, ok := arm64Second(parts[2:], n.words)
	switch f := arm64Binary[mnemonic]; {
	case !ok:
		return nil
	case f != nil:
		return set(func(m *machine, v value) value { return f(m.terms, v, second(m)) })
	case mnemonic == "subs":
		return func(m *machine) error {
			a, b := n.get(m), second(m)
			d.set(m, m.flagsOfSum(a, b, arm64Binary["sub"](m.terms, a, b), true, false))
			return nil
		}
	}
	return nil
}

// arm64Second returns the second value of an operation: a number, or a register that may be shifted.
func arm64Second(parts []string, words int) (func(*machine) value, bool) {
	if n, ok := immediate(parts[0]); ok {
		v := number(n, words)
		return func(*machine) value { return v }, len(parts) == 1
	}
	r, ok := parseARM(parts[0])
	if !ok || r.words != words {
		return nil, false
	}
	if len(parts) == 1 {
		return r.get, true
	}
	name, amount, _ := strings.Cut(parts[1], " ")
	shift, n := arm64Shift[name], uint64(0)
	n, ok = immediate(amount)
	return func(m *machine) value { return shift(m.terms, r.get(m), int(n)) }, ok && shift != nil && n < uint64(16*words)
}

var arm64List = regexp.MustCompile(`^\{v(\d+)\.(8h|16b)(?:-v(\d+)\.8h)?\}$`)

func arm64Vectors(mnemonic string, parts []string) func(*machine) error {
	d, ok := parseARM(parts[0])
	if !ok || d.arrange == "" || len(parts) < 2 {
		return nil
	}
	n, ok := parseARM(parts[1])
	amount, isNumber := immediate(parts[len(parts)-1])
	switch {
	case mnemonic == "dup" && ok && n.words == 2 && (d.arrange == "v.8h" || d.arrange == "v.4s"):
		return func(m *machine) error {
			from := n.get(m)
			if d.arrange == "v.8h" {
				from = from[:1]
			}
			d.set(m, slices.Repeat(from, neonWords/len(from)))
			return nil
		}
	case !ok || n.arrange != d.arrange:
		return nil
	case mnemonic == "rev16" && d.arrange == "v.16b" && len(parts) == 2:
		return func(m *machine) error {
			d.set(m, each(n.get(m)[:neonWords], func(w word) word { return m.rol(w, 8) }))
			return nil
		}
	case isNumber && len(parts) == 3 && d.arrange == "v.8h":
		f := arm64LaneShifts[mnemonic]
		left := mnemonic == "sli" || mnemonic == "shl"
		if f == nil || left && amount > 15 || !left && (amount < 1 || amount > 16) {
			return nil
		}
		return func(m *machine) error {
			d.set(m, zip(d.get(m)[:neonWords], n.get(m), func(d, n word) word { return f(m.terms, d, n, int(amount)) }))
			return nil
		}
	case len(parts) < 3:
		return nil
	}
	o, ok := parseARM(parts[2])
	if !ok || o.arrange != d.arrange {
		return nil
	}
	if mnemonic == "xar" && d == n && d.arrange == "z.h" && isNumber && len(parts) == 4 && amount >= 1 && amount <= 16 {
		return func(m *machine) error {
			d.set(m, zip(d.get(m), o.get(m), func(a, b word) word { return m.rol(m.xor(a, b), -int(amount)) }))
			return nil
		}
	}
	f := arm64Lanes[mnemonic+" "+d.arrange]
	if f == nil || len(parts) != 3 {
		return nil
	}
	return func(m *machine) (err error) {
		out := make(value, neonWords)
		for i := range out {
			if out[i], err = f(m.terms, d.get(m)[i], n.get(m)[i], o.get(m)[i]); err != nil {
				return err
			}
		}
		d.set(m, out)
		return nil
	}
}

var arm64Address = regexp.MustCompile(`^\[(x\d+|sp)(?:, (?:#(-?\w+)|(x\d+)(?:, lsl #(\d))?))?\](!?)$`)

// arm64At returns the address of a memory operand. after is a number to be added to its register afterwards, if any.
func arm64At(operand string, after []string) func(*machine) (uint64, error) {
	parts := arm64Address.FindStringSubmatch(operand)
	if parts == nil {
		return nil
	}
	base, _ := parseARM(parts[1])
	index, indexed := parseARM(parts[3])
	offset, _ := immediate("#" + parts[2])
	shift, _ := strconv.Atoi(parts[4])
	step := uint64(0)
	if len(after) == 1 {
		step, _ = immediate(after[0])
	}
	if parts[5] == "!" {
		step = offset
	}
	return func(m *machine) (uint64, error) {
		address, known := constant(base.get(m))
		at := address + offset
		if indexed {
			i, ok := constant(index.get(m))
			known = known && ok
			at += i << shift
		}
		if !known {
			return 0, errVariable
		}
		if step != 0 {
			base.set(m, number(address+step, 4))
		}
		return at, nil
	}
}

// arm64Sizes are the words that an instruction loads or stores for one register; 0 is that of the register.
var arm64Sizes = map[string]int{"ldr": 0, "ldur": 0, "str": 0, "stur": 0, "ldp": 0, "stp": 0, "ldrh": 1, "strh": 1}

func arm64Memory(mnemonic string, parts []string) func(*machine) error {
	last := slices.IndexFunc(parts, func(p string) bool { return strings.HasPrefix(p, "[") })
	if last < 1 {
		return nil
	}
	at := arm64At(parts[last], parts[last+1:])
	if at == nil {
		return nil
	}
	if list := arm64List.FindStringSubmatch(parts[0]); list != nil && last == 1 {
		first, _ := strconv.Atoi(list[1])
		switch {
		case mnemonic == "ld1" && list[2] == "16b" && list[3] == "":
			return arm64Structures(at, true, first, 1)
		case (mnemonic == "ld4" || mnemonic == "st4") && list[3] == strconv.Itoa(first+3):
			return arm64Structures(at, mnemonic == "ld4", first, 4)
		}
		return nil
	}
	r, ok := parseARM(parts[0])
	if !ok || r.words == 0 {
		return nil
	}
	if mnemonic == "ldrsb" {
		return func(m *machine) error {
			address, err := at(m)
			if err != nil {
				return err
			}
			v, err := m.load(address&^1, 1)
			if err != nil {
				return err
			}
			b := m.byteOf(v, int(address&1))
			v = slices.Repeat(value{m.spread(b, 7)}, r.words)
			v[0] = m.xor(m.mask(v[0], 0xff00), b)
			r.set(m, v)
			return nil
		}
	}
	words, ok := arm64Sizes[mnemonic]
	if !ok || strings.HasSuffix(mnemonic, "p") != (last == 2) {
		return nil
	}
	if words == 0 {
		words = r.words
	}
	var registers []registerARM
	for _, part := range parts[:last] {
		if r, ok = parseARM(part); !ok {
			return nil
		}
		registers = append(registers, r)
	}
	return func(m *machine) error {
		var all value
		for _, r := range registers { // a store reads its registers before the address's steps
			all = append(all, r.get(m)[:words]...)
		}
		address, err := at(m)
		if err != nil {
			return err
		}
		if strings.HasPrefix(mnemonic, "st") {
			return m.store(address, all)
		}
		if all, err = m.load(address, len(all)); err != nil {
			return err
		}
		for i, r := range registers {
			r.set(m, all[i*words:][:words])
		}
		return nil
	}
}

// arm64Structures deals memory out to so many vectors, word by word, or gathers it from them.
func arm64Structures(at func(*machine) (uint64, error), load bool, first, vectors int) func(*machine) error {
	return func(m *machine) error {
		address, err := at(m)
		if err != nil {
			return err
		}
		all := make(value, vectors*neonWords)
		if load {
			if all, err = m.load(address, len(all)); err != nil {
				return err
			}
		}
		for i := range vectors {
			r := registerARM{number: arm64Vector + (first+i)%32}
			v := slices.Clone(r.get(m)[:neonWords])
			for lane := range v {
				if load {
					v[lane] = all[lane*vectors+i]
				} else {
					all[lane*vectors+i] = v[lane]
				}
			}
			if load {
				r.set(m, v)
			}
		}
		if load {
			return nil
		}
		return m.store(address, all)
	}
}

// arm64Conditions are those of amd64, where the carry of a subtraction is the opposite: it is a borrow.
var arm64Conditions = map[string]string{
	"eq": "je", "ne": "jne", "lt": "jl", "ge": "jge", "le": "jle", "gt": "jg", "cc": "jb", "cs": "jae", "ls": "jbe", "hi": "ja",
}

func arm64Branches(mnemonic string, parts []string) func(*machine) error {
	if mnemonic == "ret" {
		return func(m *machine) error {
			to, ok := constant(m.registers[30])
			if !ok {
				return errVariable
			}
			m.pc = to
			return nil
		}
	}
	to, err := strconv.ParseUint(parts[len(parts)-1], 16, 64)
	if err != nil {
		return nil
	}
	if mnemonic == "adrp" {
		d, _ := parseARM(parts[0])
		return func(m *machine) error { d.set(m, number(to, 4)); return nil }
	}
	name, condition, _ := strings.Cut(mnemonic, ".")
	switch test := conditions[arm64Conditions[condition]]; {
	case mnemonic == "b":
		return func(m *machine) error { m.pc = to; return nil }
	case mnemonic == "bl":
		return func(m *machine) error {
			m.registers[30] = number(m.pc, 4)
			return m.call(to)
		}
	case name == "b" && test != nil:
		return func(m *machine) error {
			if !m.flags.known {
				return errVariable
			}
			if test(m.flags) {
				m.pc = to
			}
			return nil
		}
	}
	r, ok := parseARM(parts[0])
	if !ok || r.words == 0 {
		return nil
	}
	bits, isZero := uint64(1<<(16*r.words-1))<<1-1, mnemonic == "cbz" || mnemonic == "tbz"
	switch mnemonic {
	case "cbz", "cbnz":
	case "tbz", "tbnz":
		bit, _ := immediate(parts[1])
		bits = 1 << bit
	default:
		return nil
	}
	mask := number(bits, r.words)
	return func(m *machine) error {
		n, ok := constant(zip(r.get(m), mask, m.and))
		if !ok {
			return errVariable
		}
		if n == 0 == isZero {
			m.pc = to
		}
		return nil
	}
}
