package prove

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// arm64 reads GNU syntax: the destination comes first, memory is in brackets. Registers 0 to 30 are
// x0 to x30, and w0 to w30 in their lower halves; then sp; then the vectors: v0 is the low 128 bits
// of z0, and what writes v0 leaves zero in the rest.
var arm64 = onARM64("arm64", 128)

const (
	arm64SP     = 31
	arm64Vector = 32
	arm64Zero   = 64 // xzr
	neonWords   = 8
)

func init() {
	for _, kind := range "xwvz" {
		var names []string
		for i := range 31 {
			names = append(names, fmt.Sprintf("%c%d", kind, i))
		}
		arm64.names = append(arm64.names, names)
	}
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
		decode:      decodeARM64,
		enter: func(m *machine, back uint64) error {
			m.registers[30] = number(back, 4)
			return nil
		},
		processor: onQEMU(vectorBits),
		kernels:   6,
		alike: []string{
			"add sub mla eor and orr eon cmp", "mov neg rev rev16", "lsl lsr asr ror", "ushr usra sri sli shl", "ld4 st4", "cbz cbnz", "tbz tbnz",
			"ldr str ldrh strh", "ldp stp", "b b.eq b.ne b.lt b.ge b.le b.gt b.cc b.cs b.ls b.hi", "ret nop",
		},
		wrong: []wrongKernel{
			{"encrypt32NEON", "RET", "WORD $0; WORD $0; WORD $0; WORD $0; WORD $0xd65f03c0"}, // udf
			{"decrypt32NEON", "RET", "MOVD R4, R18_PLATFORM; WORD $0xd65f03c0"},
			{"run32NEON", "RET", "MOVD R4, -16(RSP); WORD $0xd65f03c0"},
		},
	}
}

type registerARM64 struct {
	number int
	words  int    // of a general register
	lanes  string // of a vector: "v.8h"
}

var arm64Register = regexp.MustCompile(`^(?:([xw])(\d+|zr)|(sp)|([vz])(\d+)\.(\w+))$`)

func parseARM64(operand string) (r registerARM64, ok bool) {
	m := arm64Register.FindStringSubmatch(operand)
	if m == nil {
		return r, false
	}
	r.number, _ = strconv.Atoi(m[2] + m[5])
	switch {
	case m[4] != "":
		return registerARM64{arm64Vector + r.number, 0, m[4] + "." + m[6]}, r.number < 32
	case r.number > 30:
		return r, false
	case m[3] != "":
		r.number = arm64SP
	case m[2] == "zr":
		r.number = arm64Zero
	}
	r.words = 4
	if m[1] == "w" {
		r.words = 2
	}
	return r, true
}

// get returns the words that instructions see: of a vector those of NEON, unless they are of SVE.
func (r registerARM64) get(m *machine) value {
	switch {
	case r.number == arm64Zero:
		return number(0, r.words)
	case r.lanes == "z.h":
		return m.registers[r.number]
	case r.number >= arm64Vector:
		return m.registers[r.number][:neonWords]
	}
	return m.registers[r.number][:r.words]
}

// set writes a register, and zero into what v doesn't fill.
func (r registerARM64) set(m *machine, v value) {
	if r.number != arm64Zero {
		m.registers[r.number] = slices.Concat(v, make(value, len(m.registers[r.number])-len(v)))
	}
}

// immediate returns the number of an operand, below a bound unless it is 0.
func immediate(operand string, below int) (uint64, bool) {
	text, ok := strings.CutPrefix(operand, "#")
	n, err := strconv.ParseUint(text, 0, 64)
	if strings.HasPrefix(text, "-") {
		var signed int64
		signed, err = strconv.ParseInt(text, 0, 64)
		n = uint64(signed)
	}
	return n, ok && err == nil && (below == 0 || n < uint64(below))
}

// decodeARM64 returns what an instruction does.
func decodeARM64(op operation) (func(*machine) error, error) {
	parts := split(op.operands)
	if op.mnemonic == "nop" {
		return func(*machine) error { return nil }, nil
	}
	if do := branchARM64(op.mnemonic, parts); do != nil {
		return do, nil
	}
	if do := memoryARM64(op.mnemonic, parts); do != nil {
		return do, nil
	}
	d, ok := parseARM64(parts[0])
	compute := generalARM64
	switch {
	case op.mnemonic == "cmp":
		parts = append([]string{"xzr"}, parts...)
		d = registerARM64{number: arm64Zero, words: 4}
	case d.lanes != "":
		compute = vectorARM64
	}
	f := compute(op.mnemonic, d, parts)
	if f == nil || !ok {
		return nil, errModel
	}
	return func(m *machine) error { d.set(m, f(m)); return nil }, nil
}

var arm64Unary = map[string]func(t *terms, v value) value{
	"mov":   func(_ *terms, v value) value { return v },
	"neg":   func(t *terms, v value) value { rest, _ := t.subWide(number(0, len(v)), v, 0); return rest },
	"rev":   (*terms).reversed,
	"rev16": func(t *terms, v value) value { return each(v, func(w word) word { return t.rol(w, 8) }) },
}

var arm64Binary = map[string]func(m *machine, a, b value) value{
	"add": func(m *machine, a, b value) value { sum, _ := m.addWide(a, b, 0); return sum },
	"sub": func(m *machine, a, b value) value { rest, _ := m.subWide(a, b, 0); return rest },
	"eor": func(m *machine, a, b value) value { return zip(a, b, m.xor) },
	"eon": func(m *machine, a, b value) value { return each(zip(a, b, m.xor), m.not) },
	"and": func(m *machine, a, b value) value { return zip(a, b, m.and) },
	"orr": func(m *machine, a, b value) value { return zip(a, b, m.or) },
	"cmp": func(m *machine, a, b value) value { return m.minus(a, b, false) },
}

var arm64Shift = map[string]func(t *terms, v value, n int) value{
	"lsl": (*terms).shlWide,
	"lsr": (*terms).shrWide,
	"ror": func(t *terms, v value, n int) value { return t.rolWide(v, 16*len(v)-n) },
	"asr": func(t *terms, v value, n int) value {
		sign := slices.Repeat(value{t.spread(v[len(v)-1], 15)}, len(v))
		return zip(t.shrWide(v, n), t.shlWide(sign, 16*len(v)-n), t.xor)
	},
}

// spread returns a word of which each bit is that bit of w.
func (t *terms) spread(w word, bit int) (out word) {
	for i := range 16 {
		out = t.xor(out, t.rol(t.mask(w, 1<<bit), i))
	}
	return out
}

// generalARM64 returns what an instruction computes of general registers, or nil if it doesn't know it.
func generalARM64(mnemonic string, d registerARM64, parts []string) func(*machine) value {
	if f := arm64Unary[mnemonic]; f != nil && len(parts) == 2 {
		if last := lastARM64(parts[1:], d.words); last != nil {
			return func(m *machine) value { return f(m.terms, last(m)) }
		}
	}
	if len(parts) < 3 {
		return nil
	}
	if shift, ok := immediate(strings.TrimPrefix(parts[2], "lsl "), 16*d.words); mnemonic == "movk" && ok && shift%16 == 0 {
		n, _ := immediate(parts[1], 1<<16)
		return func(m *machine) value {
			v := slices.Clone(d.get(m))
			v[shift/16] = word(n)
			return v
		}
	}
	n, ok := parseARM64(parts[1])
	if !ok || n.words != d.words {
		return nil
	}
	amount, ok := immediate(parts[2], 16*d.words)
	if f := arm64Shift[mnemonic]; f != nil && ok && len(parts) == 3 {
		return func(m *machine) value { return f(m.terms, n.get(m), int(amount)) }
	}
	if mnemonic == "ubfx" && ok && len(parts) == 4 {
		width, ok := immediate(parts[3], 16*d.words-int(amount)+1)
		rest := 16*d.words - int(width)
		if !ok || width == 0 {
			return nil
		}
		return func(m *machine) value { return m.shrWide(m.shlWide(n.get(m), rest-int(amount)), rest) }
	}
	f, last := arm64Binary[mnemonic], lastARM64(parts[2:], d.words)
	if f == nil || last == nil {
		return nil
	}
	return func(m *machine) value { return f(m, n.get(m), last(m)) }
}

// lastARM64 returns the last operand: a number, or a register that may be shifted.
func lastARM64(parts []string, words int) func(*machine) value {
	if n, ok := immediate(parts[0], 0); ok && len(parts) == 1 {
		v := number(n, words)
		return func(*machine) value { return v }
	}
	r, ok := parseARM64(parts[0])
	if !ok || r.words != words {
		return nil
	}
	if len(parts) == 1 {
		return r.get
	}
	name, amount, _ := strings.Cut(parts[1], " ")
	n, ok := immediate(amount, 16*words)
	shift := arm64Shift[name]
	if !ok || shift == nil {
		return nil
	}
	return func(m *machine) value { return shift(m.terms, r.get(m), int(n)) }
}

// arm64Lanes are functions of the lanes of the destination and both sources.
var arm64Lanes = map[string]func(t *terms, d, n, m word) word{
	"add v.8h":  func(t *terms, _, n, m word) word { return t.add(n, m) },
	"sub v.8h":  func(t *terms, _, n, m word) word { return t.sub(n, m) },
	"eor v.16b": func(t *terms, _, n, m word) word { return t.xor(n, m) },
	"and v.16b": func(t *terms, _, n, m word) word { return t.and(n, m) },
	"orr v.16b": func(t *terms, _, n, m word) word { return t.or(n, m) },
	"mla v.8h": func(t *terms, d, n, m word) word {
		if n < constants {
			n, m = m, n
		}
		if m >= constants {
			return t.variable() // a product of variables, of which nothing is known
		}
		return t.add(d, t.mul(n, uint16(m)))
	},
}

// arm64LaneShifts are functions of the lanes of the destination and the source, and of an amount.
var arm64LaneShifts = map[string]struct {
	least, most uint64
	f           func(t *terms, d, n word, amount int) word
}{
	"ushr": {1, 16, func(t *terms, _, n word, i int) word { return t.shr(n, i) }},
	"usra": {1, 16, func(t *terms, d, n word, i int) word { return t.add(d, t.shr(n, i)) }},
	"sri":  {1, 16, func(t *terms, d, n word, i int) word { return t.xor(t.mask(d, ^uint16(0xffff>>i)), t.shr(n, i)) }},
	"sli":  {0, 15, func(t *terms, d, n word, i int) word { return t.xor(t.mask(d, 1<<i-1), t.shl(n, i)) }},
	"shl":  {0, 15, func(t *terms, _, n word, i int) word { return t.shl(n, i) }},
}

// vectorARM64 returns what an instruction computes of vectors, or nil if it doesn't know it.
func vectorARM64(mnemonic string, d registerARM64, parts []string) func(*machine) value {
	if len(parts) < 2 {
		return nil
	}
	n, ok := parseARM64(parts[1])
	if words := map[string]int{"v.8h": 1, "v.4s": 2}[d.lanes]; mnemonic == "dup" && ok && n.words == 2 && words > 0 {
		return func(m *machine) value { return slices.Repeat(n.get(m)[:words], neonWords/words) }
	}
	if !ok || n.lanes != d.lanes {
		return nil
	}
	last, isVector := parseARM64(parts[len(parts)-1])
	amount, isNumber := immediate(parts[len(parts)-1], 17)
	shift := arm64LaneShifts[mnemonic]
	lane := arm64Lanes[mnemonic+" "+d.lanes]
	switch {
	case len(parts) == 2 && mnemonic == "rev16" && d.lanes == "v.16b":
		return func(m *machine) value { return arm64Unary["rev16"](m.terms, n.get(m)) }
	case len(parts) == 3 && isNumber && d.lanes == "v.8h" && shift.f != nil && shift.least <= amount && amount <= shift.most:
		return func(m *machine) value {
			return zip(d.get(m), n.get(m), func(d, n word) word { return shift.f(m.terms, d, n, int(amount)) })
		}
	case len(parts) == 3 && isVector && last.lanes == d.lanes && lane != nil:
		return func(m *machine) value {
			out := make(value, neonWords)
			for i := range out {
				out[i] = lane(m.terms, d.get(m)[i], n.get(m)[i], last.get(m)[i])
			}
			return out
		}
	case len(parts) == 4 && mnemonic == "xar" && d.lanes == "z.h" && d == n && isNumber && amount > 0:
		return xarSVE2(d, parts[2], int(amount))
	}
	return nil
}

// xarSVE2 returns what xar computes: the exclusive or with another vector, rotated to the right.
func xarSVE2(d registerARM64, operand string, amount int) func(*machine) value {
	other, ok := parseARM64(operand)
	if !ok || other.lanes != d.lanes {
		return nil
	}
	return func(m *machine) value {
		return zip(d.get(m), other.get(m), func(a, b word) word { return m.rol(m.xor(a, b), -amount) })
	}
}

var (
	arm64Address = regexp.MustCompile(`^\[(x\d+|sp)(?:, (?:(#-?\w+)|(x\d+)(?:, lsl #(\d))?))?\](!?)$`)
	arm64List    = regexp.MustCompile(`^\{v(\d+)\.(8h|16b)(?:-v(\d+)\.8h)?\}$`)
)

// addressARM64 returns the address of a memory operand, and steps its register. after is a number to be added to it.
func addressARM64(operand string, after []string) func(*machine) (uint64, error) {
	parts := arm64Address.FindStringSubmatch(operand)
	if parts == nil {
		return nil
	}
	base, _ := parseARM64(parts[1])
	index, indexed := parseARM64(parts[3])
	shift, _ := strconv.Atoi(parts[4])
	offset, ok := immediate(parts[2], 0)
	step := uint64(0)
	switch {
	case !ok && parts[2] != "":
		return nil
	case parts[5] == "!":
		step = offset
	case len(after) > 0:
		step, ok = immediate(after[0], 0)
		if !ok {
			return nil
		}
	}
	return func(m *machine) (uint64, error) {
		from, known := constant(base.get(m))
		at := from + offset
		if indexed {
			i, ok := constant(index.get(m))
			known = known && ok
			at += i << shift
		}
		if !known {
			return 0, errVariable
		}
		base.set(m, number(from+step, 4))
		return at, nil
	}
}

// A transfer moves words between registers and memory, which has the first words of each register, then the next ones of each,
// and so on.
type transfer struct {
	load      bool
	registers []registerARM64
	words     int // of each register at a time
	times     int
	at        func(*machine) (uint64, error) // the address, which it steps
}

// memoryARM64 returns what a load or a store does, or nil if it doesn't know it.
func memoryARM64(mnemonic string, parts []string) func(*machine) error {
	last := slices.IndexFunc(parts, func(p string) bool { return strings.HasPrefix(p, "[") })
	if last < 1 || len(parts) > last+2 {
		return nil
	}
	t, ok := vectorTransfer(mnemonic, parts)
	if !ok {
		t, ok = generalTransfer(mnemonic, parts[:last])
	}
	t.load = strings.HasPrefix(mnemonic, "ld")
	t.at = addressARM64(parts[last], parts[last+1:])
	if !ok || t.at == nil {
		return nil
	}
	if mnemonic == "ldrsb" {
		return t.loadByte
	}
	return t.do
}

// arm64Words are the words that an instruction moves from or to each register; 0 is those of the register.
var arm64Words = map[string]int{"ldr": 0, "ldur": 0, "str": 0, "stur": 0, "ldp": 0, "stp": 0, "ldrh": 1, "strh": 1, "ldrsb": 1}

func generalTransfer(mnemonic string, operands []string) (t transfer, ok bool) {
	t.times = 1
	t.words, ok = arm64Words[mnemonic]
	isPair := strings.HasSuffix(mnemonic, "p")
	if !ok || isPair != (len(operands) == 2) {
		return t, false
	}
	for _, operand := range operands {
		r, known := parseARM64(operand)
		if !known || r.words == 0 {
			return t, false
		}
		t.registers = append(t.registers, r)
	}
	t.words = cmp.Or(t.words, t.registers[0].words)
	return t, true
}

// vectorTransfer is of ld4 and st4, which deal words out to four vectors and back, and of ld1 of one vector.
func vectorTransfer(mnemonic string, parts []string) (t transfer, ok bool) {
	list := arm64List.FindStringSubmatch(parts[0])
	if list == nil {
		return t, false
	}
	first, _ := strconv.Atoi(list[1])
	end, _ := strconv.Atoi(list[3])
	count := 4
	switch mnemonic {
	case "ld4", "st4":
		ok = list[2] == "8h" && end == (first+3)%32
	case "ld1":
		ok = list[2] == "16b" && list[3] == ""
		count = 1
	}
	for i := range count {
		t.registers = append(t.registers, registerARM64{number: arm64Vector + (first+i)%32})
	}
	t.words = 1
	t.times = neonWords
	return t, ok && (len(parts) == 2 || slices.Contains([]string{"#64", "#0x40"}, parts[2]))
}

func (t transfer) do(m *machine) error {
	if !t.load {
		stored := t.stored(m) // before a step of the address, in one of the registers
		address, err := t.at(m)
		if err != nil {
			return err
		}
		return m.store(address, stored)
	}
	address, err := t.at(m)
	if err != nil {
		return err
	}
	loaded, err := m.load(address, t.times*len(t.registers)*t.words)
	if err != nil {
		return err
	}
	for i, r := range t.registers {
		var v value
		for round := range t.times {
			v = append(v, loaded[(round*len(t.registers)+i)*t.words:][:t.words]...)
		}
		r.set(m, v)
	}
	return nil
}

func (t transfer) stored(m *machine) (all value) {
	for round := range t.times {
		for _, r := range t.registers {
			all = append(all, r.get(m)[round*t.words:][:t.words]...)
		}
	}
	return all
}

// loadByte is ldrsb: it extends the sign of a byte.
func (t transfer) loadByte(m *machine) error {
	address, err := t.at(m)
	if err != nil {
		return err
	}
	loaded, err := m.load(address&^1, 1)
	if err != nil {
		return err
	}
	r := t.registers[0]
	low := m.byteOf(loaded, int(address&1))
	v := slices.Repeat(value{m.spread(low, 7)}, r.words)
	v[0] = m.xor(m.mask(v[0], 0xff00), low)
	r.set(m, v)
	return nil
}

// arm64Conditions are those of amd64, where the carry of a subtraction is a borrow, the opposite.
var arm64Conditions = map[string]string{
	"": "jmp", "eq": "je", "ne": "jne", "lt": "jl", "ge": "jge", "le": "jle", "gt": "jg", "cc": "jb", "cs": "jae", "ls": "jbe", "hi": "ja",
}

// branchARM64 returns what a branch or adrp does, or nil if it doesn't know it.
func branchARM64(mnemonic string, parts []string) func(*machine) error {
	if mnemonic == "ret" && parts[0] == "" {
		return returnARM64
	}
	to, err := strconv.ParseUint(parts[len(parts)-1], 16, 64)
	if err != nil {
		return nil
	}
	name, suffix, _ := strings.Cut(mnemonic, ".")
	condition := arm64Conditions[suffix]
	r, ok := parseARM64(parts[0])
	isGeneral := ok && r.words > 0
	switch {
	case mnemonic == "bl":
		return func(m *machine) error {
			m.registers[30] = number(m.pc, 4)
			return m.call(to)
		}
	case name == "b" && condition != "":
		return func(m *machine) error { return m.branch(condition, to) }
	case mnemonic == "adrp" && isGeneral:
		return func(m *machine) error { r.set(m, number(to, 4)); return nil }
	case (mnemonic == "cbz" || mnemonic == "cbnz") && isGeneral:
		return r.branchOn(^uint64(0), mnemonic == "cbz", to)
	case (mnemonic == "tbz" || mnemonic == "tbnz") && isGeneral && len(parts) == 3:
		if bit, ok := immediate(parts[1], 16*r.words); ok {
			return r.branchOn(1<<bit, mnemonic == "tbz", to)
		}
	}
	return nil
}

func returnARM64(m *machine) error {
	back, ok := constant(m.registers[30])
	m.pc = back
	if !ok {
		return errVariable
	}
	return nil
}

// branchOn goes to the target if some bits of the register are all zero, or else if they are not.
func (r registerARM64) branchOn(bits uint64, zero bool, to uint64) func(*machine) error {
	mask := number(bits, r.words)
	return func(m *machine) error {
		n, ok := constant(zip(r.get(m), mask, m.and))
		if !ok {
			return errVariable
		}
		if n == 0 == zero {
			m.pc = to
		}
		return nil
	}
}
