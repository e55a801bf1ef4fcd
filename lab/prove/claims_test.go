package prove

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// A claim is what is proven of a function: for all keys and blocks it computes what the paper does,
// it writes nothing but its output and its stack, and it leaves the registers that it must.
// terms_test.go says what words and atoms are, machine_test.go what a value is.
type claim struct {
	function string
	does     work
	blocks   int
	abi0     bool // arguments on the stack
	slices   bool // its blocks are slices, not pointers to arrays
	value    bool // its block is a number, and so is its result
	inPlace  bool // source and output are the same
}

type work string

const (
	encrypts  work = "encrypt"
	decrypts  work = "decrypt"
	runs      work = "run" // encrypts consecutive raw values
	schedules work = "schedule"
)

var kernelName = regexp.MustCompile(`^(encrypt|decrypt|run)([0-9]+)(AVX512|AVX2|NEON|SVE2)\.abi0$`)

// helpers are functions of the package that others call.
var helpers = map[string]bool{"encryptStepLanes": true, "decryptStepLanes": true, "loadLanes": true, "storeLanes": true, "permuteKey": true}

// claimed returns the claims of a function of the package: nil if nothing is claimed.
func claimed(name string) []claim {
	if m := kernelName.FindStringSubmatch(name); m != nil {
		n, _ := strconv.Atoi(m[2])
		c := claim{function: name, does: work(m[1]), blocks: n, abi0: true}
		if c.does == runs {
			return []claim{c}
		}
		return withInPlace(c)
	}
	switch name {
	case "encryptBlock", "decryptBlock":
		return []claim{{function: name, does: work(name[:7]), blocks: 1, value: true}}
	case "encryptBlocksGeneric", "decryptBlocksGeneric": // without and with a part that goes four by four
		c := claim{function: name, does: work(name[:7]), slices: true}
		c.blocks = 7
		d := c
		d.blocks = 13
		return slices.Concat(withInPlace(c), withInPlace(d))
	case "expandKey":
		return []claim{{function: name, does: schedules}}
	}
	return nil
}

func withInPlace(c claim) []claim {
	d := c
	d.inPlace = true
	return []claim{c, d}
}

func (c claim) String() string {
	s := c.function
	if c.slices {
		s += fmt.Sprintf(" of %d blocks", c.blocks)
	}
	if c.inPlace {
		s += " in place"
	}
	return s
}

// inputs are what a claim is about: variables, or constants to try.
type inputs struct {
	key    [8]word // of the schedule
	keys   keys
	blocks []value // of a run, the first raw value
}

// input makes inputs of the words that next returns, none of them above max.
func (c claim) input(next func(max uint16) word) *inputs {
	in := new(inputs)
	for i := range in.key {
		in.key[i] = next(0xffff)
	}
	for i := range in.keys {
		in.keys[i] = next(0xffff)
	}
	n := c.blocks
	if c.does == runs {
		n = 1
	}
	for range n {
		b := make(value, 4)
		for i := range b {
			b[i] = next(0xffff)
		}
		in.blocks = append(in.blocks, b)
	}
	if c.does == runs { // no carry leaves the lowest word
		in.blocks[0][0] = next(uint16(0xffff - c.blocks + 1))
	}
	return in
}

// paper returns the output by the paper: values of each block, or of each round key as roundKeys
// has them. It calls done after each step of a block.
func (c claim) paper(t *terms, in *inputs, done func(lane, step int)) (out []value) {
	if c.does == schedules {
		k := t.schedule(in.key, func(step int) { done(0, step) })
		out = slices.Repeat([]value{{0, 0}}, roundKeyWords)
		for i, w := range k {
			out[roundKeyAt(i)] = value{w, w}
		}
		return out
	}
	for i := range c.blocks {
		var v value
		if c.does == runs {
			v, _ = t.addWide(in.blocks[0], number(uint64(i), 4), 0)
		} else {
			v = in.blocks[i]
		}
		b := block(each(v, func(w word) word { return t.rol(w, 8) })) // words are big-endian in memory
		step := func(step int) { done(i, step) }
		if c.does == decrypts {
			b = t.decrypt(&in.keys, b, step)
		} else {
			b = t.encrypt(&in.keys, b, step)
		}
		out = append(out, each(b[:], func(w word) word { return t.rol(w, 8) }))
	}
	return out
}

// The layout of roundKeys: the last four keys lie as if they opened a ninth step.
const (
	roundKeyWords = 104
	finalKeys     = branches * steps * 2 * roundsPerStep
)

func roundKeyAt(i int) int {
	if i >= finalKeys+2 {
		return i + 4
	}
	return i
}

// Where things are. No address is aligned to more than 8 bytes, but that of the stack, and most sums of one and a
// number carry, some past 32 bits, so that nothing else passes for an addition of 64 bits.
const (
	stackTop    = 0x7ffe_0001_0008 // where arguments begin
	stackSize   = 8192
	keysAddress = 0xc0_ffff_fff8
	sourceAt    = 0xc1_ffff_fff8
	outputAt    = 0xc2_ffff_ffe8
	heapAt      = 0xc3_ffff_fff8
	gAt         = 0xc5_0000_0008
)

// start returns a machine at the beginning of the function.
func (c claim) start(t *terms, code *code, in *inputs) (*machine, error) {
	f, ok := code.functions[c.function]
	if !ok {
		return nil, errors.New("not in the binary")
	}
	m := &machine{terms: t, code: code, pc: f.instructions[0].address}
	m.calls = map[string]func(*machine) error{"runtime.newobject": newObject}
	c.registers(m)
	arguments := c.place(m, in)
	if c.abi0 {
		m.add("arguments", stackTop, false, 8*len(arguments), slices.Concat(arguments...)...)
	} else {
		m.add("spilled arguments", stackTop, true, 8*len(arguments))
		for i, v := range arguments {
			m.registers[code.arch.arguments[i]] = v
		}
	}
	return m, code.arch.enter(m, returned)
}

// registers sets the registers as a caller leaves them, and adds the memory to which they point.
func (c claim) registers(m *machine) {
	arch := m.code.arch
	for _, words := range arch.registers {
		m.registers = append(m.registers, m.unsets(words))
	}
	if arch.start != nil {
		arch.start(m)
	}
	if !c.abi0 && arch.zero > 0 {
		m.registers[arch.zero] = make(value, arch.registers[arch.zero])
	}
	m.registers[arch.sp] = number(stackTop-8+arch.pushed, 4)
	m.registers[arch.g] = number(gAt, 4)
	m.add("g", gAt, false, 24, slices.Concat(m.unsets(8), number(stackTop-stackSize, 4))...)
	stack := stackSize
	if c.abi0 { // nothing makes sure that there is room
		stack = 8
	}
	m.add("stack", uint64(stackTop-stack), true, stack-8+int(arch.pushed))
}

// place lays out keys and blocks in memory, and returns the arguments.
func (c claim) place(m *machine, in *inputs) []value {
	if c.does == schedules {
		m.add("key", sourceAt, false, 16, each(in.key[:], func(w word) word { return m.rol(w, 8) })...)
		return []value{number(sourceAt, 4)}
	}
	k := m.unsets(2 * roundKeyWords)
	for i, w := range in.keys {
		k[2*roundKeyAt(i)], k[2*roundKeyAt(i)+1] = w, w
	}
	m.add("keys", keysAddress, false, 4*roundKeyWords, k...)
	arguments := []value{number(keysAddress, 4)}
	if c.value {
		return append(arguments, in.blocks[0])
	}
	blocks := slices.Concat(in.blocks...)
	arguments = append(arguments, c.pointer(outputAt)...)
	switch {
	case c.does == runs:
		m.add("output", outputAt, true, 8*c.blocks)
		return append(arguments, in.blocks[0])
	case c.inPlace:
		m.add("output", outputAt, true, 8*c.blocks, blocks...)
		return append(arguments, c.pointer(outputAt)...)
	default:
		m.add("output", outputAt, true, 8*c.blocks)
		m.add("source", sourceAt, false, 8*c.blocks, blocks...)
		return append(arguments, c.pointer(sourceAt)...)
	}
}

// pointer returns the argument for blocks at an address: a slice is an address, a length and a capacity.
func (c claim) pointer(address uint64) []value {
	if !c.slices {
		return []value{number(address, 4)}
	}
	n := number(uint64(c.blocks), 4)
	return []value{number(address, 4), n, n}
}

// output returns what the function has computed, once it has returned.
func (c claim) output(m *machine) ([]value, error) {
	result := m.registers[m.code.arch.arguments[0]]
	switch c.does {
	case schedules:
		address, ok := constant(result)
		if !ok {
			return nil, errVariable
		}
		v, err := m.load(address, 2*roundKeyWords)
		return slices.Collect(slices.Chunk(v, 2)), err
	default:
		if c.value {
			return []value{result}, nil
		}
		v, err := m.load(outputAt, 4*c.blocks)
		return slices.Collect(slices.Chunk(v, 4)), err
	}
}

// finish runs the function that m is in, and returns its output. started is m at the start.
func (c claim) finish(started, m *machine) ([]value, error) {
	if err := m.run(); err != nil {
		return nil, err
	}
	arch := m.code.arch
	kept := append([]int{arch.g}, arch.kept...)
	if !c.abi0 && arch.zero > 0 {
		kept = append(kept, arch.zero)
	}
	if sp, ok := constant(m.registers[arch.sp]); !ok || sp != stackTop-8+arch.pushed {
		return nil, errors.New("the stack is left at another place")
	}
	for _, r := range kept {
		if !slices.Equal(m.registers[r], started.registers[r]) {
			return nil, fmt.Errorf("register %d changed", r)
		}
	}
	if arch.left != nil {
		if err := arch.left(m); err != nil {
			return nil, err
		}
	}
	return c.output(m)
}

// prove proves the claim on a table of terms that holds nothing else. What is wrong is reported
// with the lane, and with the first of its steps of which the function has not computed all sums.
func (c claim) prove(t *terms, code *code) error { return c.check(t, code, c.input(t.bounded), nil) }

// check runs the function, with a patch, and compares its output with the paper's.
func (c claim) check(t *terms, code *code, in *inputs, patched map[uint64]operation) error {
	m, err := c.start(t, code, in)
	if err != nil {
		return fmt.Errorf("%v: %w", c, err)
	}
	m.patched = patched
	out, err := c.finish(m.fork(), m)
	if err != nil {
		return fmt.Errorf("%v: %w", c, err)
	}
	return c.compare(t, in, out)
}

// compare compares the output with the paper's. If a step of the paper makes a new atom, the function
// never computed that sum.
func (c claim) compare(t *terms, in *inputs, out []value) error {
	atoms, missing := len(t.atoms), make(map[int]int)
	want := c.paper(t, in, func(lane, step int) {
		if len(t.atoms) > atoms && missing[lane] == 0 {
			missing[lane] = step
		}
		atoms = len(t.atoms)
	})
	for i := range want {
		if slices.Equal(out[i], want[i]) {
			continue
		}
		what, lane := "lane", i
		if c.does == schedules {
			what, lane = "word", 0
		}
		if step := missing[lane]; step != 0 {
			return fmt.Errorf("%v: %s %d: step %d: a sum of the paper does not occur", c, what, i, step)
		}
		return fmt.Errorf("%v: %s %d: all steps occur, but the output is another", c, what, i)
	}
	return nil
}
