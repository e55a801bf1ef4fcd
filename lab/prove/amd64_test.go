package prove

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// amd64 reads the AT&T syntax: the destination comes last, memory is displacement(base,index,scale). Registers 0 to 15
// are the general ones in the order of their encoding, 16 to 47 the vectors.
var amd64 = &architecture{
	name:      "amd64",
	objdump:   []string{"x86_64-linux-gnu-objdump", "objdump"},
	registers: slices.Concat(slices.Repeat([]int{4}, 16), slices.Repeat([]int{32}, 32)),
	arguments: []int{0, 3, 1, 7, 6, 8, 9, 10, 11},
	sp:        rsp,
	g:         14,
	kept:      []int{rbp},
	zero:      vector + 15,
	pushed:    8,
	decode:    decodeAMD64,
	processor: onThisCPU,
	kernels:   9,
	alike: []string{
		"mov add sub xor and or cmp", "inc dec neg not bswap", "shl shr rol ror sar", "movzwl lea", "jne je jmp jl jge jb jbe",
		"vpxor vpor vpand vpaddw vpsubw", "vpxord vpord vpandd", "vpsllw vpsrlw", "vpshldw vpshrdw",
		"vpunpcklwd vpunpckhwd vpunpckldq vpunpckhdq vpunpcklqdq vpunpckhqdq", "vpbroadcastw vpbroadcastd", "push pop", "ret vzeroupper nop",
	},
	wrong: []wrongKernel{
		{"decrypt32AVX2", "RET", "BYTE $0xc2; BYTE $8; BYTE $0"}, // ret $8
		{"encrypt32AVX2", "RET", "PUSHQ AX; POPQ AX; BYTE $0xc3"},
		{"encrypt64AVX512", "ADDQ", "ADDW"}, // to an address
		{"decrypt64AVX512", "RET", "MOVQ AX, BP; BYTE $0xc3"},
		{"decrypt128AVX512", "RET", "MOVQ AX, 1024(DI); BYTE $0xc3"},
		{"run32AVX2", "VZEROUPPER", "NOP"},
		{"encrypt128AVX512", "RET", "QUAD $0; QUAD $0; BYTE $0xc3"}, // two zero bytes are ADDB AL, (AX), which writes to the keys
	},
}

const (
	rsp    = 4
	rbp    = 5
	rip    = -2
	vector = 16
)

func init() {
	amd64.enter = func(m *machine, back uint64) error { return push(m, number(back, 4)) }
	for _, form := range []string{"%%r%s", "%%e%s", "%%%s"} {
		var names []string
		for _, name := range generalNames {
			names = append(names, fmt.Sprintf(form, name))
		}
		amd64.names = append(amd64.names, names)
	}
	for _, form := range []string{"%%xmm%d", "%%ymm%d", "%%zmm%d", "%%r%d", "%%r%dd", "%%r%dw"} {
		var names []string
		for i := range 32 {
			if strings.Contains(form, "mm") || i >= 8 && i < 16 {
				names = append(names, fmt.Sprintf(form, i))
			}
		}
		amd64.names = append(amd64.names, names)
	}
	amd64.start, amd64.left = startAMD64, leftAMD64
}

// startAMD64 and leftAMD64 are about the upper halves of vectors. While they are in use, each
// instruction of SSE costs hundreds of cycles.
func startAMD64(m *machine) {
	for i := vector; i < vector+16; i++ {
		m.registers[i] = slices.Concat(m.registers[i][:8], make(value, 24))
	}
}

func leftAMD64(m *machine) error {
	for i := vector; i < vector+16; i++ {
		if slices.ContainsFunc(m.registers[i][8:], func(w word) bool { return w != 0 }) {
			return fmt.Errorf("the upper half of vector %d is in use", i-vector)
		}
	}
	return nil
}

type operandKind int

const (
	isRegister operandKind = iota
	isImmediate
	isMemory
)

type operandAMD64 struct {
	kind        operandKind
	register    int
	words       int // of a register; 0 is a byte, or unknown
	number      uint64
	base, index int // -1 is none
	scale       int
	broadcast   bool
}

var (
	generalNames = strings.Fields("ax cx dx bx sp bp si di")
	memoryAMD64  = regexp.MustCompile(`^(-?0x[0-9a-f]+)?(?:\((%\w+)?(?:,(%\w+),(\d))?\))(\{1to\d+\})?$`)
	generalAMD64 = regexp.MustCompile(`^%(?:([er]?)([abcd]x|[sb]p|[sd]i)|r(\d+)([dw]?))$`)
	vectorAMD64  = regexp.MustCompile(`^%([xyz])mm(\d+)$`)
)

func registerAMD64(text string) (operandAMD64, bool) {
	if m := generalAMD64.FindStringSubmatch(text); m != nil {
		if m[3] != "" {
			n, _ := strconv.Atoi(m[3])
			return operandAMD64{register: n, words: map[string]int{"": 4, "d": 2, "w": 1}[m[4]]}, n < 16
		}
		return operandAMD64{register: slices.Index(generalNames, m[2]), words: map[string]int{"r": 4, "e": 2, "": 1}[m[1]]}, true
	}
	if m := vectorAMD64.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[2])
		return operandAMD64{register: vector + n, words: map[string]int{"x": 8, "y": 16, "z": 32}[m[1]]}, n < 32
	}
	return operandAMD64{register: rip}, text == "%rip"
}

func operandsAMD64(op operation) ([]operandAMD64, error) {
	var all []operandAMD64
	texts := split(op.operands)
	for _, text := range texts {
		o, ok := operandOf(op, text)
		if !ok {
			return nil, fmt.Errorf("operand %q is not modelled", text)
		}
		all = append(all, o)
	}
	ofDoubleWords := strings.HasSuffix(op.mnemonic, "d")
	wholeWidth := fmt.Sprintf("{1to%d}", all[len(all)-1].words/2)
	for i, o := range all {
		if o.broadcast && !(ofDoubleWords && strings.HasSuffix(texts[i], wholeWidth)) {
			return nil, fmt.Errorf("the broadcast in %q is not modelled", op.operands)
		}
	}
	return all, nil
}

func operandOf(op operation, text string) (operandAMD64, bool) {
	if number, found := strings.CutPrefix(text, "$"); found {
		n, err := strconv.ParseUint(number, 0, 64)
		fits := n < 1<<8 || !strings.HasPrefix(op.mnemonic, "v")
		return operandAMD64{kind: isImmediate, number: n}, err == nil && fits
	}
	if m := memoryAMD64.FindStringSubmatch(text); m != nil {
		return memoryOperand(op, m[1], m[2], m[3], m[4], m[5])
	}
	return registerAMD64(text)
}

func memoryOperand(op operation, displacement, base, index, scale, broadcast string) (operandAMD64, bool) {
	number, _ := strconv.ParseInt(cmp.Or(displacement, "0"), 0, 64)
	o := operandAMD64{kind: isMemory, number: uint64(number), broadcast: broadcast != ""}
	var ok1, ok2 bool
	o.base, ok1 = addressRegister(base)
	o.index, ok2 = addressRegister(index)
	o.scale = strings.Index("1248", scale) // its logarithm
	if o.base == rip {
		o.number += op.next
		o.base = -1
	}
	return o, ok1 && ok2 && o.scale >= 0
}

// addressRegister returns a register of an address, or -1 for none.
func addressRegister(name string) (register int, ok bool) {
	if name == "" {
		return -1, true
	}
	r, ok := registerAMD64(name)
	return r.register, ok && r.words != 1 && r.words != 2
}

// address returns the value of an address, which lea computes too.
func (o operandAMD64) address(m *machine) value {
	v := number(o.number, 4)
	if o.base >= 0 {
		v, _ = m.addWide(v, m.registers[o.base], 0)
	}
	if o.index >= 0 {
		v, _ = m.addWide(v, m.shlWide(m.registers[o.index], o.scale), 0)
	}
	return v
}

func (o operandAMD64) read(m *machine, words int) (value, error) {
	switch o.kind {
	case isRegister:
		return m.registers[o.register][:words], nil
	case isImmediate:
		return number(o.number, words), nil
	}
	address, ok := constant(o.address(m))
	if !ok {
		return nil, errVariable
	}
	if o.broadcast {
		v, err := m.load(address, 2)
		return slices.Repeat(v, words/2), err
	}
	return m.load(address, words)
}

// write sets a register as its width demands, or memory.
func (o operandAMD64) write(m *machine, v value) error {
	switch {
	case o.kind == isMemory:
		address, ok := constant(o.address(m))
		if !ok {
			return errVariable
		}
		return m.store(address, v)
	case len(v) == 1:
		m.registers[o.register] = slices.Concat(v, m.registers[o.register][1:])
	default:
		m.registers[o.register] = slices.Concat(v, make(value, m.code.arch.registers[o.register]-len(v)))
	}
	return nil
}

func push(m *machine, v value) error {
	m.registers[rsp], _ = m.subWide(m.registers[rsp], number(8, 4), 0)
	sp, _ := constant(m.registers[rsp])
	return m.store(sp, v)
}

func pop(m *machine) (value, error) {
	sp, _ := constant(m.registers[rsp])
	v, err := m.load(sp, 4)
	m.registers[rsp] = number(sp+8, 4)
	return v, err
}

// arithmetic is what general instructions make of a, the destination, and b, the source. Some leave the flags as they are.
var arithmetic = map[string]func(m *machine, a, b value) value{
	"mov":    func(m *machine, a, b value) value { return b },
	"movabs": func(m *machine, a, b value) value { return b },
	"add":    func(m *machine, a, b value) value { return m.plus(a, b, false) },
	"sub":    func(m *machine, a, b value) value { return m.minus(a, b, false) },
	"inc":    func(m *machine, a, _ value) value { return m.plus(a, number(1, len(a)), true) },
	"dec":    func(m *machine, a, _ value) value { return m.minus(a, number(1, len(a)), true) },
	"neg":    func(m *machine, a, _ value) value { return m.minus(number(0, len(a)), a, false) },
	"not":    func(m *machine, a, _ value) value { return each(a, m.not) },
	"xor":    func(m *machine, a, b value) value { return m.flagsOfLogic(zip(a, b, m.xor)) },
	"and":    func(m *machine, a, b value) value { return m.flagsOfLogic(zip(a, b, m.and)) },
	"or":     func(m *machine, a, b value) value { return m.flagsOfLogic(zip(a, b, m.or)) },
	"bswap":  func(m *machine, a, _ value) value { return m.reversed(a) },
}

// shifts are general instructions with a constant count.
var shifts = map[string]func(t *terms, v value, n int) value{
	"shl": (*terms).shlWide, "shr": (*terms).shrWide, "sar": arm64Shift["asr"], "rol": (*terms).rolWide, "ror": arm64Shift["ror"],
}

// plus and minus set the flags, but may keep the carry.
func (m *machine) plus(a, b value, keepCarry bool) value {
	v, _ := m.addWide(a, b, 0)
	return m.flagsOfSum(a, b, v, false, keepCarry)
}

func (m *machine) minus(a, b value, keepCarry bool) value {
	v, _ := m.subWide(a, b, 0)
	return m.flagsOfSum(a, b, v, true, keepCarry)
}

// flagsOfSum sets the flags of a + b = v or a - b = v, and returns v.
func (m *machine) flagsOfSum(a, b, v value, subtract, keepCarry bool) value {
	carry, known := m.flags.carry, !keepCarry || m.flags.known
	m.flags = flags{}
	x, ok1 := constant(a)
	y, ok2 := constant(b)
	if z, ok := constant(v); ok && ok1 && ok2 && known {
		sign := func(n uint64) bool { return n>>(16*len(v)-1)&1 == 1 }
		f := flags{known: true, carry: z < x, zero: z == 0, sign: sign(z), overflow: sign((x ^ z) & (y ^ z))}
		if subtract {
			f.carry, f.overflow = x < y, sign((x^y)&(x^z))
		}
		if keepCarry {
			f.carry = carry
		}
		m.flags = f
	}
	return v
}

func (m *machine) flagsOfLogic(v value) value {
	z, ok := constant(v)
	m.flags = flags{known: ok, zero: z == 0, sign: z>>(16*len(v)-1)&1 == 1}
	if !ok {
		m.flags = flags{}
	}
	return v
}

var conditions = map[string]func(f flags) bool{
	"je":  func(f flags) bool { return f.zero },
	"jne": func(f flags) bool { return !f.zero },
	"jb":  func(f flags) bool { return f.carry },
	"jae": func(f flags) bool { return !f.carry },
	"jbe": func(f flags) bool { return f.carry || f.zero },
	"ja":  func(f flags) bool { return !f.carry && !f.zero },
	"jl":  func(f flags) bool { return f.sign != f.overflow },
	"jge": func(f flags) bool { return f.sign == f.overflow },
	"jle": func(f flags) bool { return f.zero || f.sign != f.overflow },
	"jg":  func(f flags) bool { return !f.zero && f.sign == f.overflow },
	"jmp": func(f flags) bool { return true },
}

var errModel = errors.New("the instruction is not modelled")

func decodeAMD64(op operation) (func(*machine) error, error) {
	switch {
	case strings.HasPrefix(op.mnemonic, "nop"), op.mnemonic == "xchg" && op.operands == "%ax,%ax":
		return func(*machine) error { return nil }, nil
	case op.mnemonic == "call", conditions[op.mnemonic] != nil:
		return branchAMD64(op)
	case op.mnemonic == "ret" && op.operands == "":
		return returnAMD64, nil
	case op.mnemonic == "vzeroupper":
		return func(m *machine) error { startAMD64(m); return nil }, nil
	case op.mnemonic == "test" && op.operands == "%al,(%rax)":
		return checkForNil, nil
	}
	o, err := operandsAMD64(op)
	if err != nil {
		return nil, err
	}
	if do := vectorMove(op.mnemonic, o); do != nil {
		return do, nil
	}
	if do := vectorInstruction(op.mnemonic, o); do != nil {
		return do, nil
	}
	return generalInstruction(op.mnemonic, o)
}

func branchAMD64(op operation) (func(*machine) error, error) {
	target, err := strconv.ParseUint(op.operands, 16, 64)
	if err != nil {
		return nil, errModel
	}
	if op.mnemonic == "call" {
		return func(m *machine) error { return m.call(target) }, nil
	}
	return func(m *machine) error { return m.branch(op.mnemonic, target) }, nil
}

// branch goes to the target if a condition holds, named as on amd64.
func (m *machine) branch(condition string, target uint64) error {
	if !m.flags.known && condition != "jmp" {
		return errVariable
	}
	if conditions[condition](m.flags) {
		m.pc = target
	}
	return nil
}

func returnAMD64(m *machine) error {
	v, err := pop(m)
	back, ok := constant(v)
	m.pc = back
	if err == nil && !ok {
		return errVariable
	}
	return err
}

func checkForNil(m *machine) error {
	address, ok := constant(m.registers[0])
	if !ok {
		return errVariable
	}
	m.flags = flags{}
	_, err := m.load(address, 1)
	return err
}

func generalInstruction(mnemonic string, o []operandAMD64) (func(*machine) error, error) {
	source, to := o[0], o[len(o)-1]
	words := to.words
	if to.kind != isRegister {
		words = source.words
	}
	if words == 0 || words > 4 || len(o) > 2 {
		return nil, errModel
	}
	switch mnemonic {
	case "movzwl", "movzwq":
		return compute(to, o[:1], 1, func(_ *machine, v []value) (value, error) {
			return slices.Concat(v[0], make(value, words-1)), nil
		}), nil
	case "lea":
		if source.kind != isMemory {
			return nil, errModel
		}
		return func(m *machine) error { return to.write(m, source.address(m)[:words]) }, nil
	case "push":
		return func(m *machine) error { return push(m, m.registers[to.register]) }, nil
	case "pop":
		return func(m *machine) error {
			v, err := pop(m)
			m.registers[to.register] = v
			return err
		}, nil
	}
	if shift := shifts[mnemonic]; shift != nil {
		if len(o) != 2 || source.kind != isImmediate || source.number >= uint64(16*words) {
			return nil, errModel
		}
		return compute(to, o[1:], words, func(m *machine, v []value) (value, error) {
			m.flags = flags{}
			return shift(m.terms, v[0], int(source.number)), nil
		}), nil
	}
	onlyFlags := map[string]string{"cmp": "sub", "test": "and"}[mnemonic]
	do := arithmetic[cmp.Or(onlyFlags, mnemonic)]
	if do == nil {
		return nil, errModel
	}
	return func(m *machine) error {
		a, err := to.read(m, words)
		if err != nil {
			return err
		}
		b, err := source.read(m, words)
		if err != nil {
			return err
		}
		v := do(m, a, b)
		if onlyFlags != "" {
			return nil
		}
		return to.write(m, v)
	}, nil
}

// compute returns an operation that sets the destination to what f makes of the sources, which it gets in Intel's order.
func compute(to operandAMD64, sources []operandAMD64, words int, f func(m *machine, v []value) (value, error)) func(*machine) error {
	return func(m *machine) error {
		v := make([]value, len(sources))
		for i, s := range sources {
			var err error
			if v[len(v)-1-i], err = s.read(m, words); err != nil {
				return err
			}
		}
		out, err := f(m, v)
		if err != nil {
			return err
		}
		return to.write(m, out)
	}
}

// vectorMove returns what an instruction does if it moves words to or from a vector, and otherwise nil.
func vectorMove(mnemonic string, o []operandAMD64) func(*machine) error {
	if len(o) != 2 || o[0].kind == isImmediate {
		return nil
	}
	from, to := o[0], o[1]
	move := func(words, times int) func(*machine) error {
		return compute(to, o[:1], words, func(_ *machine, v []value) (value, error) { return slices.Repeat(v[0], times), nil })
	}
	wide := max(from.words, to.words) // memory has the width of the register
	switch mnemonic {
	case "vmovq":
		if from.words == 4 && to.words == 8 {
			return move(4, 1)
		}
	case "vpbroadcastw", "vpbroadcastd":
		words := map[string]int{"vpbroadcastw": 1, "vpbroadcastd": 2}[mnemonic]
		if to.words >= 8 && !from.broadcast {
			return move(words, to.words/words)
		}
	case "vmovdqa64":
		if from.words == wide && to.words == wide && wide >= 8 {
			return move(wide, 1)
		}
	case "vmovdqu", "vmovdqu64":
		fits := func(o operandAMD64) bool { return o.kind == isMemory || o.words == wide }
		if fits(from) && fits(to) && wide >= 8 {
			return move(wide, 1)
		}
	case "movups": // it is slow while the upper halves of vectors are in use, which it keeps
		if from.words == 8 && to.kind == isMemory {
			store := move(8, 1)
			return func(m *machine) error { return errors.Join(leftAMD64(m), store(m)) }
		}
		if from.kind == isMemory && to.words == 8 {
			return func(m *machine) error {
				v, err := from.read(m, 8)
				if err != nil {
					return err
				}
				m.registers[to.register] = slices.Concat(v, m.registers[to.register][8:])
				return leftAMD64(m)
			}
		}
	}
	return nil
}

// A vectorFunction computes a vector from n, the immediate operand, and the sources in Intel's order.
type vectorFunction func(m *machine, n int, v []value) (value, error)

// vectorFunctions are instructions on vectors of one width. Each operand but the last may be in memory.
var vectorFunctions = map[string]struct {
	operands  int
	immediate bool // is the first one
	f         vectorFunction
}{
	"vpxor":       {3, false, lanewise((*terms).xor)},
	"vpxord":      {3, false, lanewise((*terms).xor)},
	"vpor":        {3, false, lanewise((*terms).or)},
	"vpord":       {3, false, lanewise((*terms).or)},
	"vpand":       {3, false, lanewise((*terms).and)},
	"vpandd":      {3, false, lanewise((*terms).and)},
	"vpaddw":      {3, false, lanewise((*terms).add)},
	"vpsubw":      {3, false, lanewise((*terms).sub)},
	"vpmulhuw":    {3, false, multiply},
	"vpshufb":     {3, false, shuffleBytes},
	"vpunpcklwd":  {3, false, interleave(1, 0)},
	"vpunpckhwd":  {3, false, interleave(1, 4)},
	"vpunpckldq":  {3, false, interleave(2, 0)},
	"vpunpckhdq":  {3, false, interleave(2, 4)},
	"vpunpcklqdq": {3, false, interleave(4, 0)},
	"vpunpckhqdq": {3, false, interleave(4, 4)},
	"vpsllw":      {3, true, shiftLanes((*terms).shl)},
	"vpsrlw":      {3, true, shiftLanes((*terms).shr)},
	"vpshldw":     {4, true, shiftLanesIn((*terms).shl, (*terms).shr)},
	"vpshrdw":     {4, true, shiftLanesIn((*terms).shr, (*terms).shl)},
	"vpternlogd":  {4, true, ternary},
}

// vectorInstruction returns nil if it does not know the instruction.
func vectorInstruction(mnemonic string, o []operandAMD64) func(*machine) error {
	known := vectorFunctions[mnemonic]
	if len(o) != known.operands || known.immediate != (o[0].kind == isImmediate) {
		return nil
	}
	to, sources, n := o[len(o)-1], o[:len(o)-1], 0
	if known.immediate {
		n = int(o[0].number)
		sources = sources[1:]
	}
	for _, s := range sources {
		if s.kind != isMemory && s.words != to.words {
			return nil
		}
	}
	if to.words < 8 {
		return nil
	}
	if mnemonic == "vpternlogd" {
		sources = o[1:] // the destination is one
	}
	return compute(to, sources, to.words, func(m *machine, v []value) (value, error) { return known.f(m, n, v) })
}

func lanewise(f func(t *terms, a, b word) word) vectorFunction {
	return func(m *machine, _ int, v []value) (value, error) {
		return zip(v[0], v[1], func(a, b word) word { return f(m.terms, a, b) }), nil
	}
}

func shiftLanes(f func(t *terms, w word, n int) word) vectorFunction {
	return func(m *machine, n int, v []value) (value, error) {
		return each(v[0], func(w word) word { return f(m.terms, w, n) }), nil
	}
}

// shiftLanesIn shifts words of v[0], and fills them up with bits of v[1], which the opposite shift brings there.
func shiftLanesIn(f, opposite func(t *terms, w word, n int) word) vectorFunction {
	return func(m *machine, n int, v []value) (value, error) {
		n &= 15
		return zip(v[0], v[1], func(a, b word) word { return m.xor(f(m.terms, a, n), opposite(m.terms, b, 16-n)) }), nil
	}
}

// interleave takes words of v[0] and v[1] in turn, size by size, from the half of each 128 bits that begins there.
func interleave(size, half int) vectorFunction {
	return func(_ *machine, _ int, v []value) (out value, err error) {
		for quarter := 0; quarter < len(v[0]); quarter += 8 {
			for at := quarter + half; at < quarter+half+4; at += size {
				out = slices.Concat(out, v[0][at:at+size], v[1][at:at+size])
			}
		}
		return out, nil
	}
}

// multiply is vpmulhuw, the upper halves of products, by powers of 2, which makes it a shift.
func multiply(m *machine, _ int, v []value) (out value, err error) {
	for i, factor := range v[1] {
		if factor >= constants || bits.OnesCount16(uint16(factor)) != 1 {
			return nil, fmt.Errorf("factor %d is no power of 2", factor)
		}
		out = append(out, m.shr(v[0][i], 16-bits.TrailingZeros16(uint16(factor))))
	}
	return out, nil
}

// shuffleBytes is vpshufb: byte i becomes the one of v[0], in the same 128 bits, that byte i of v[1] numbers.
func shuffleBytes(m *machine, _ int, v []value) (value, error) {
	out := make(value, len(v[0]))
	for i := range out {
		if v[1][i] >= constants {
			return nil, errModel
		}
		if from := i &^ 7 * 2; v[1][i] == word((2*i+1-from)|(2*i-from)<<8) {
			out[i] = m.rol(v[0][i], 8) // as below, but quicker
			continue
		}
		for half, number := range []int{int(v[1][i] & 0xff), int(v[1][i] >> 8)} {
			if number < 0x80 {
				out[i] = m.xor(out[i], m.shl(m.byteOf(v[0], i&^7*2+number&15), 8*half))
			}
		}
	}
	return out, nil
}

// ternary is vpternlogd, by the polynomial of its table over the field of two elements: the sum of those products of a, b and c
// that have the coefficient 1.
func ternary(m *machine, table int, v []value) (value, error) {
	out := make(value, len(v[0]))
	for i := range out {
		a, b, c := v[0][i], v[1][i], v[2][i]
		for factors := range 8 { // which of a, b and c: 4, 2 and 1
			if coefficient(table, factors) == 0 {
				continue
			}
			product := word(0xffff)
			for bit, w := range []word{c, b, a} {
				if factors>>bit&1 == 1 {
					product = m.and(product, w)
				}
			}
			out[i] = m.xor(out[i], product)
		}
	}
	return out, nil
}

// coefficient is that of a product in the polynomial: the table's sum over all choices among its factors.
func coefficient(table, factors int) (sum int) {
	for at := range 8 {
		if at&^factors == 0 {
			sum ^= table >> at & 1
		}
	}
	return sum
}
