package prove

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The program runs single instructions on states of the machine, and writes the states that they leave.
//
//go:embed testdata/arm64.s
var arm64Program string

// The layout of a state, and where the program has it. It begins with the general registers and sp.
const (
	stateNZCV    = 8 * 32
	stateStub    = 8 * 33
	stateVectors = 8 * 34
	stateMemory  = stateVectors + 32*64
	stateSize    = stateMemory + 4096
	stateAt      = 0x200000
)

// TestARM64Models compares what an instruction does by its model with what it does on qemu's processor, for all
// instructions of what is proven and random operands.
func TestARM64Models(t *testing.T) {
	for _, tool := range []string{"qemu-aarch64", "aarch64-linux-gnu-as", "aarch64-linux-gnu-ld"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v: make tools installs it", err)
		}
	}
	c, err := arm64.built()
	if err != nil {
		t.Fatal(err)
	}
	operations, stubs := arm64Trials(t, c)
	defer func() { c.arch = arm64 }()
	for _, c.arch = range append(arm64.longer, arm64) {
		t.Run(c.arch.name, func(t *testing.T) {
			different := c.runARM64(t, operations, stubs)
			for i, at := range different {
				if at >= 0 {
					t.Errorf("%s %s: byte %d of the state is not as in the model", operations[i].mnemonic, operations[i].operands, at)
				}
			}
		})
	}

	// A wrong model is found.
	planted := map[int]bool{}
	for mnemonic, other := range map[string]string{"sli": "shl", "usra": "ushr", "mla": "add", "ror": "lsr", "cbnz": "cbz", "ld4": "st4"} {
		i := slices.IndexFunc(operations, func(op operation) bool { return op.mnemonic == mnemonic })
		op := operations[i]
		op.mnemonic = other
		if op, err = c.decode(op); err != nil {
			t.Fatal(err)
		}
		operations[i] = op
		planted[i] = true
	}
	for i, at := range c.runARM64(t, operations, stubs) {
		if at >= 0 != planted[i] {
			t.Errorf("%s %s with a wrong model: no difference", operations[i].mnemonic, operations[i].operands)
		}
	}
}

// arm64Trials returns all instructions of what is proven, and their words in the binary as lines of the program; then
// those on vectors that only mutants have. Left out are adrp, which depends on where it stands, calls and returns.
func arm64Trials(t *testing.T, c *code) (operations []operation, stubs string) {
	seen, forms := map[string]bool{}, map[string]bool{}
	form := func(i instruction) string {
		r, _ := parseARM64(split(i.operands)[0])
		return i.mnemonic + r.lanes
	}
	for _, name := range slices.Sorted(maps.Keys(c.functions)) {
		for _, in := range c.functions[name].instructions {
			text := in.mnemonic + " " + in.operands
			if claimed(name) == nil && !helpers[name] || seen[text] || slices.Contains([]string{"adrp", "bl", "ret", "udf", "..."}, in.mnemonic) {
				continue
			}
			seen[text] = true
			op, err := c.at(in.address)
			raw, ok := c.bytes(in.address, 4)
			if err != nil || !ok {
				t.Fatal(err)
			}
			word, distance := nearARM64(binary.LittleEndian.Uint32(raw))
			if to := fmt.Sprintf("%x", in.address+distance); distance != 0 && !strings.HasSuffix(in.operands, to) {
				t.Errorf("%s goes to %s", text, to)
			}
			operations = append(operations, op)
			stubs += fmt.Sprintf("\tstub <.word %#x>\n", word)
			forms[form(in)] = true
		}
	}
	for _, op := range operations {
		for _, mutant := range c.arch.mutants(op.instruction) {
			changed, err := c.decode(operation{instruction: mutant, next: op.next})
			if r, _ := parseARM64(split(op.operands)[0]); err == nil && r.lanes != "" && !forms[form(mutant)] {
				forms[form(mutant)] = true
				operations = append(operations, changed)
				stubs += fmt.Sprintf("\tstub <%s %s>\n", mutant.mnemonic, mutant.operands)
			}
		}
	}
	return operations, stubs
}

// nearARM64 returns the word of a branch that goes two instructions ahead, and how far it went. It returns words of
// other instructions as they are.
func nearARM64(word uint32) (near uint32, distance uint64) {
	from, size := 5, 19 // where the distance is in the word
	switch {
	case word>>26 == 0b000101: // b
		from, size = 0, 26
	case word>>24 == 0b01010100, word>>25&0x3f == 0b011010: // b.cond, cbz, cbnz
	case word>>25&0x3f == 0b011011: // tbz, tbnz
		size = 14
	default:
		return word, 0
	}
	distance = uint64(int32(word<<(32-from-size)) >> (32 - size) * 4)
	return word&^((1<<size-1)<<from) | 2<<from, distance
}

// runARM64 executes operations by their models, and their stubs on the processor, in a few random states each. It
// returns where in the state they first differed, or -1.
func (c *code) runARM64(t *testing.T, operations []operation, stubs string) (different []int) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "program.s"), []byte(arm64Program+stubs), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(command string) []byte {
		words := strings.Fields(command)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", command, err, stderr.Bytes())
		}
		return out
	}
	run("aarch64-linux-gnu-as -o program.o program.s")
	run(fmt.Sprintf("aarch64-linux-gnu-ld -o program -Ttext=%#x -Tdata=%#x program.o", stateAt-0x40000, stateAt))
	rng := rand.New(rand.NewPCG(1, 2))
	const tries = 4
	var input, want []byte
	symbolic := 0
	for i, op := range operations {
		for try := range tries {
			state := bytes.Repeat([]byte{0xa5}, stateSize)
			m := c.randomARM64(rng, op)
			writeARM64(state, m, nil, uint64(1+i))
			input = append(input, state...)
			if try%2 == 1 && symbolicARM64(state, m.fork(), op, uint64(1+i)) {
				symbolic++
			} else if err := executeARM64(state, m, nil, op, uint64(1+i)); err != nil {
				t.Fatalf("%s %s: %v", op.mnemonic, op.operands, err)
			}
			want = append(want, state...)
		}
	}
	if symbolic < len(operations) {
		t.Errorf("only %d of %d trials are with variables", symbolic, tries*len(operations))
	}
	if err := os.WriteFile(filepath.Join(dir, "states"), input, 0o600); err != nil {
		t.Fatal(err)
	}
	out := run(fmt.Sprintf("qemu-aarch64 -cpu max,sve-max-vq=%d ./program states", c.arch.registers[arm64Vector]/neonWords))
	if len(out) != len(want) {
		t.Fatalf("%d bytes of states came back of %d", len(out), len(want))
	}
	different = slices.Repeat([]int{-1}, len(operations))
	for i := range want {
		if op := i / stateSize / tries; out[i] != want[i] && different[op] < 0 {
			different[op] = i % stateSize
		}
	}
	return different
}

// randomARM64 returns a machine in a random state, but that registers in addresses hold addresses and small indexes.
func (c *code) randomARM64(rng *rand.Rand, op operation) *machine {
	random := func(words int) value {
		if rng.IntN(8) == 0 {
			return number(uint64(rng.IntN(2)), words)
		}
		v := make(value, words)
		for i := range v {
			if v[i] = word(rng.Uint32N(1 << 16)); rng.IntN(4) == 0 {
				v[i] = []word{0, 1, 0x7fff, 0x8000, 0xff80, 0xffff}[rng.IntN(6)]
			}
		}
		return v
	}
	m := &machine{terms: newTerms(), code: c}
	for _, words := range c.arch.registers {
		m.registers = append(m.registers, random(words))
	}
	middle := uint64(stateAt + stateMemory + 2048)
	m.registers[arm64SP] = number(middle, 4)
	for _, part := range split(op.operands) {
		if parts := arm64Address.FindStringSubmatch(part); parts != nil {
			if index, ok := parseARM64(parts[3]); ok {
				m.registers[index.number] = number(rng.Uint64N(8), 4)
			}
			base, _ := parseARM64(parts[1])
			m.registers[base.number] = number(middle+16*rng.Uint64N(8), 4)
		}
	}
	bit := func() bool { return rng.IntN(2) == 0 }
	m.flags = flags{true, bit(), bit(), bit(), bit()}
	m.add("memory", stateAt+stateMemory, true, 4096, random(2048)...)
	return m
}

// executeARM64 executes op in m, and writes the state after it. stub stands for a branch.
func executeARM64(state []byte, m *machine, e evaluation, op operation, stub uint64) error {
	m.pc = op.next
	err := op.do(m)
	if m.pc == op.next {
		stub = 0
	}
	if err == nil && !writeARM64(state, m, e, stub) {
		err = errVariable
	}
	return err
}

// symbolicARM64 is executeARM64 with variables in the registers that op names, but those of addresses. It reports
// whether the model takes variables there.
func symbolicARM64(state []byte, m *machine, op operation, stub uint64) bool {
	e := evaluation{}
	_, address, _ := strings.Cut(op.operands, "[")
	for _, part := range split(op.operands) {
		if r, ok := parseARM64(part); ok && r.number < arm64Zero && r.number != arm64SP && !strings.Contains(address, part) {
			m.registers[r.number] = each(m.registers[r.number], func(w word) word {
				if w < constants { // it is not set for another operand
					w = e.set(m.terms, uint16(w))
				}
				return w
			})
		}
	}
	return len(e) > 0 && executeARM64(state, m, e, op, stub) == nil
}

// writeARM64 writes the state of m. It reports whether it is known for values of variables.
func writeARM64(state []byte, m *machine, e evaluation, stub uint64) (known bool) {
	known = m.flags.known
	write := func(at int, v value) {
		for i, w := range v {
			n, ok := e.word(m.terms, w)
			known = known && ok
			binary.LittleEndian.PutUint16(state[at+2*i:], n)
		}
	}
	for i, v := range m.registers {
		if at := 8 * i; i < arm64Vector {
			write(at, v)
		} else {
			write(stateVectors+64*(i-arm64Vector), v)
		}
	}
	nzcv := uint64(0)
	for _, flag := range []bool{m.flags.sign, m.flags.zero, !m.flags.carry, m.flags.overflow} {
		if nzcv *= 2; flag {
			nzcv++
		}
	}
	write(stateNZCV, number(nzcv<<28, 4))
	write(stateStub, number(stub, 4))
	write(stateMemory, m.memory[0].words)
	return known
}
