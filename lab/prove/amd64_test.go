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

// amd64 reads the AT&T syntax: the destination comes last, memory is
// displacement(base,index,scale). Registers 0 to 15 are the general ones in the order of their
// encoding, 16 to 47 the vectors.
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
	for _, text := range split(op.operands) {
		o, ok := registerAMD64(text)
		if m := memoryAMD64.FindStringSubmatch(text); m != nil {
			o = operandAMD64{kind: isMemory, base: -1, index: -1, broadcast: m[5] != ""}
			displacement, _ := strconv.ParseInt(cmp.Or(m[1], "0"), 0, 64)
			o.number, ok = uint64(displacement), true
			for i, at := range []*int{&o.base, &o.index} {
				if m[2+i] != "" {
					r, known := registerAMD64(m[2+i])
					*at, ok = r.register, ok && known && r.words != 1 && r.words != 2
				}
			}
			o.scale = strings.Index("1248", m[4]) // its logarithm
			ok = ok && (m[4] == "" || o.scale >= 0)
			if o.base == rip {
				o.number, o.base = o.number+op.next, -1
			}
		} else if number, found := strings.CutPrefix(text, "$"); found {
			n, err := strconv.ParseUint(number, 0, 64)
			o, ok = operandAMD64{kind: isImmediate, number: n}, err == nil && (n < 1<<8 || !strings.HasPrefix(op.mnemonic, "v"))
		}
		if !ok {
			return nil, fmt.Errorf("operand %q is not modelled", text)
		}
		all = append(all, o)
	}
	for i, o := range all { // of double words, to the whole width
		words := all[len(all)-1].words
		if o.broadcast && (!strings.HasSuffix(op.mnemonic, "d") || !strings.HasSuffix(split(op.operands)[i], fmt.Sprintf("{1to%d}", words/2))) {
			return nil, fmt.Errorf("the broadcast in %q is not modelled", op.operands)
		}
	}
	return all, nil
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

// arithmetic is what general instructions with the same operands for source and destination do to
// b, the source, and a, the destination. Those that do not return flags leave them unknown.
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
	if strings.HasPrefix(op.mnemonic, "nop") || op.mnemonic == "xchg" && op.operands == "%ax,%ax" {
		return func(*machine) error { return nil }, nil
	}
	if condition := conditions[op.mnemonic]; condition != nil || op.mnemonic == "call" {
		target, err := strconv.ParseUint(op.operands, 16, 64)
		if err != nil {
			return nil, errModel
		}
		return func(m *machine) error {
			switch {
			case condition == nil:
				return m.call(target)
			case !m.flags.known && op.mnemonic != "jmp":
				return errVariable
			case condition(m.flags):
				m.pc = target
			}
			return nil
		}, nil
	}
	switch op.mnemonic {
	case "ret":
		if op.operands != "" {
			return nil, errModel
		}
		return func(m *machine) error {
			v, err := pop(m)
			back, ok := constant(v)
			m.pc = back
			if err == nil && !ok {
				return errVariable
			}
			return err
		}, nil
	case "vzeroupper":
		return func(m *machine) error {
			startAMD64(m)
			return nil
		}, nil
	}
	if op.operands == "%al,(%rax)" && op.mnemonic == "test" { // a check for nil
		return func(m *machine) error {
			address, ok := constant(m.registers[0])
			if !ok {
				return errVariable
			}
			m.flags = flags{}
			_, err := m.load(address, 1)
			return err
		}, nil
	}
	o, err := operandsAMD64(op)
	if err != nil {
		return nil, err
	}
	if do := vectorInstruction(op.mnemonic, o); do != nil {
		return do, nil
	}
	return generalInstruction(op.mnemonic, o)
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
		return func(m *machine) error {
			v, err := source.read(m, 1)
			if err != nil {
				return err
			}
			return to.write(m, slices.Concat(v, make(value, words-1)))
		}, nil
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
	do, writes := arithmetic[mnemonic], true
	if like := map[string]string{"cmp": "sub", "test": "and"}[mnemonic]; like != "" {
		do, writes = arithmetic[like], false
	}
	if shift := shifts[mnemonic]; shift != nil {
		n := int(source.number)
		if len(o) != 2 || source.kind != isImmediate || source.number >= uint64(16*words) {
			return nil, errModel
		}
		do = func(m *machine, a, _ value) value {
			m.flags = flags{}
			return shift(m.terms, a, n)
		}
		source = to
	}
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
		if v := do(m, a, b); writes {
			return to.write(m, v)
		}
		return nil
	}, nil
}

// lanewise are instructions on vectors of words, in Intel's order of operands: a is the first source.
var lanewise = map[string]func(t *terms, a, b word) word{
	"vpxor":  (*terms).xor,
	"vpxord": (*terms).xor,
	"vpor":   (*terms).or,
	"vpord":  (*terms).or,
	"vpand":  (*terms).and,
	"vpandd": (*terms).and,
	"vpaddw": (*terms).add,
	"vpsubw": (*terms).sub,
}

// moved are instructions that interleave words of a and b, size by size, from the low or the high
// half of each 128 bits.
var moved = map[string]struct{ size, half int }{
	"vpunpcklwd": {1, 0}, "vpunpckhwd": {1, 4},
	"vpunpckldq": {2, 0}, "vpunpckhdq": {2, 4},
	"vpunpcklqdq": {4, 0}, "vpunpckhqdq": {4, 4},
}

// vectorInstruction returns nil if it does not know the instruction.
func vectorInstruction(mnemonic string, o []operandAMD64) func(*machine) error {
	to := o[len(o)-1]
	words := to.words
	// with makes an operation of what computes the destination from the sources, in Intel's order.
	with := func(sources []operandAMD64, words int, f func(m *machine, v []value) (value, error)) func(*machine) error {
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
	move := func(m *machine, v []value) (value, error) { return v[0], nil }
	vectors := true // all operands but a constant are vectors or memory
	for i, operand := range o {
		vectors = vectors && (operand.kind == isMemory || operand.kind == isImmediate && i == 0 ||
			operand.words == max(words, o[0].words) && operand.words >= 8)
	}
	switch {
	case mnemonic == "vmovq" && len(o) == 2 && o[0].words == 4 && words == 8:
		return with(o[:1], 4, move)
	case (mnemonic == "vpbroadcastw" || mnemonic == "vpbroadcastd") && len(o) == 2 && words >= 8 &&
		o[0].kind != isImmediate && !o[0].broadcast:
		n := 1
		if mnemonic == "vpbroadcastd" {
			n = 2
		}
		return with(o[:1], n, func(m *machine, v []value) (value, error) { return slices.Repeat(v[0], words/n), nil })
	case mnemonic == "movups" && len(o) == 2 && o[0].words == 8 && to.kind == isMemory:
		store := with(o[:1], 8, move)
		return func(m *machine) error { return errors.Join(leftAMD64(m), store(m)) }
	case mnemonic == "movups" && len(o) == 2 && o[0].kind == isMemory && words == 8:
		return func(m *machine) error {
			v, err := o[0].read(m, 8)
			if err != nil {
				return err
			}
			m.registers[to.register] = slices.Concat(v, m.registers[to.register][8:])
			return leftAMD64(m)
		}
	case !vectors:
		return nil
	case (mnemonic == "vmovdqu" || mnemonic == "vmovdqu64" || mnemonic == "vmovdqa64" && to.kind == isRegister &&
		o[0].kind == isRegister) && len(o) == 2 && o[0].kind != isImmediate:
		return with(o[:1], max(words, o[0].words), move)
	case to.kind != isRegister:
		return nil
	case len(o) == 3 && lanewise[mnemonic] != nil && o[0].kind != isImmediate:
		f := lanewise[mnemonic]
		return with(o[:2], words, func(m *machine, v []value) (value, error) {
			return zip(v[0], v[1], func(a, b word) word { return f(m.terms, a, b) }), nil
		})
	case len(o) == 3 && mnemonic == "vpmulhuw" && o[0].kind == isRegister:
		return with(o[:2], words, func(m *machine, v []value) (out value, err error) {
			for i, factor := range v[1] { // a power of 2, which makes it a shift
				if factor >= constants || bits.OnesCount16(uint16(factor)) != 1 {
					return nil, fmt.Errorf("factor %d is no power of 2", factor)
				}
				out = append(out, m.shr(v[0][i], 16-bits.TrailingZeros16(uint16(factor))))
			}
			return out, nil
		})
	case len(o) == 3 && moved[mnemonic].size > 0 && o[0].kind != isImmediate:
		move := moved[mnemonic]
		return with(o[:2], words, func(m *machine, v []value) (value, error) {
			var out value
			for quarter := 0; quarter < words; quarter += 8 {
				for at := quarter + move.half; at < quarter+move.half+4; at += move.size {
					out = slices.Concat(out, v[0][at:at+move.size], v[1][at:at+move.size])
				}
			}
			return out, nil
		})
	case len(o) == 3 && mnemonic == "vpshufb" && o[0].kind != isImmediate:
		return with(o[:2], words, shuffleBytes)
	case len(o) == 3 && (mnemonic == "vpsllw" || mnemonic == "vpsrlw") && o[0].kind == isImmediate:
		return with(o[1:2], words, func(m *machine, v []value) (value, error) {
			return each(v[0], func(w word) word {
				if mnemonic == "vpsllw" {
					return m.shl(w, int(o[0].number))
				}
				return m.shr(w, int(o[0].number))
			}), nil
		})
	case len(o) == 4 && (mnemonic == "vpshldw" || mnemonic == "vpshrdw") && o[0].kind == isImmediate:
		n := int(o[0].number & 15)
		return with(o[1:3], words, func(m *machine, v []value) (value, error) {
			return zip(v[0], v[1], func(a, b word) word {
				if mnemonic == "vpshldw" {
					return m.xor(m.shl(a, n), m.shr(b, 16-n))
				}
				return m.xor(m.shr(a, n), m.shl(b, 16-n))
			}), nil
		})
	case len(o) == 4 && mnemonic == "vpternlogd" && o[0].kind == isImmediate:
		return with(o[1:4], words, func(m *machine, v []value) (value, error) {
			return m.ternary(uint8(o[0].number), v[0], v[1], v[2]), nil
		})
	}
	return nil
}

// shuffleBytes is vpshufb: byte i becomes the one of v[0], in the same 128 bits, that byte i of v[1] numbers.
func shuffleBytes(m *machine, v []value) (value, error) {
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

// ternary is vpternlogd, by the polynomial of its table over the field of two elements.
func (t *terms) ternary(table uint8, a, b, c value) value {
	out := make(value, len(a))
	for i := range out {
		for term := range 8 { // of those of a, b and c that are in term: 4, 2 and 1
			coefficient := uint8(0)
			for at := range 8 {
				if at&^term == 0 {
					coefficient ^= table >> at & 1
				}
			}
			if coefficient == 0 {
				continue
			}
			product := word(0xffff)
			for bit, w := range []word{c[i], b[i], a[i]} {
				if term>>bit&1 == 1 {
					product = t.and(product, w)
				}
			}
			out[i] = t.xor(out[i], product)
		}
	}
	return out
}
