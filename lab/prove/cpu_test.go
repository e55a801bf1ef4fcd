package prove

import (
	"bytes"
	"embed"
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

	"github.com/randflake/randflake/internal/test/require"
)

// A processor executes single instructions for comparison with their models.
type processor struct {
	tools   []string // assembler, linker and, if it has one, emulator
	vectors int      // the first vector among the registers
	flags   func(flags) uint64

	// stub returns the line of the program that has an instruction as it stands in the binary, and the operation that
	// it is there; "" for what can't be compared. Branches go to the label branched.
	stub func(t *testing.T, c *code, op operation) (string, operation)

	// prepare has the registers of an operation's addresses hold addresses near the middle, and small indexes.
	prepare func(m *machine, op operation, rng *rand.Rand)

	planted map[string]string // wrong models: those of other instructions
}

// The programs run single instructions on states of the machine, and write the states that they leave.
//
//go:embed testdata/*.s
var programs embed.FS

// The layout of a state, and where the programs have it. It begins with the general registers and sp.
const (
	stateFlags   = 8 * 32
	stateStub    = 8 * 33
	stateVectors = 8 * 34
	stateMemory  = stateVectors + 32*64
	stateSize    = stateMemory + 4096
	stateAt      = 0x200000
	stateMiddle  = stateAt + stateMemory + 2048
)

// TestModels compares what an instruction does by its model with what it does on a processor, for
// all instructions of what is proven and random operands.
func TestModels(t *testing.T) {
	eachArchitecture(t, func(t *testing.T, c *code) {
		c.arch.processor(t, func(p processor) {
			operations, stubs := p.trials(t, c)
			for i, at := range p.run(t, c, operations, stubs) {
				op := operations[i]
				require.That(t, at < 0, "%s %s: byte %d of the state is not as in the model", op.mnemonic, op.operands, at)
			}
			// A wrong model is found.
			planted := map[int]bool{}
			for mnemonic, other := range p.planted {
				i := slices.IndexFunc(operations, func(op operation) bool { return op.mnemonic == mnemonic })
				op := operations[i]
				op.mnemonic = other
				op, err := c.decode(op)
				must(t, err)
				operations[i] = op
				planted[i] = true
			}
			for i, at := range p.run(t, c, operations, stubs) {
				op := operations[i]
				require.That(t, at >= 0 == planted[i], "%s %s, with a wrong model %t: byte %d differs", op.mnemonic, op.operands, planted[i], at)
			}
		})
	})
}

// trials returns all instructions of what is proven that can be compared, and them as lines of the program.
func (p processor) trials(t *testing.T, c *code) (operations []operation, stubs string) {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.functions)) {
		for _, in := range c.functions[name].instructions {
			if claimed(name) == nil && !helpers[name] {
				continue
			}
			line, op := p.stub(t, c, c.listed[in.address])
			if line == "" || seen[line] {
				continue
			}
			seen[line] = true
			op, err := c.decode(op)
			must(t, err)
			operations = append(operations, op)
			stubs += "\tstub " + line + "\n"
		}
	}
	return operations, stubs
}

// tries is in how many states each operation is tried.
const tries = 4

// run tries operations by their models, and their stubs on the processor. It returns for each operation where in a state
// they first differed, or -1.
func (p processor) run(t *testing.T, c *code, operations []operation, stubs string) (different []int) {
	states, want := p.byModel(t, c, operations)
	got := p.byProcessor(t, c.arch.goarch(), stubs, states)
	require.Must(t, len(got) == len(want), "%d bytes of states came back of %d", len(got), len(want))
	different = slices.Repeat([]int{-1}, len(operations))
	for i := range want {
		op, at := i/stateSize/tries, i%stateSize
		isUnknown := at/8 == stateFlags/8 && want[i] == unknownFlags
		if got[i] != want[i] && !isUnknown && different[op] < 0 {
			different[op] = at
		}
	}
	return different
}

// byModel returns random states for all operations, and what their models make of these.
func (p processor) byModel(t *testing.T, c *code, operations []operation) (states, want []byte) {
	rng := rand.New(rand.NewPCG(1, 2))
	withVariables := 0
	for i, op := range operations {
		for try := range tries {
			state := bytes.Repeat([]byte{0xa5}, stateSize)
			m, symbolic, values := p.random(c, rng, op)
			p.write(state, m, nil, uint64(1+i))
			states = append(states, state...)
			if try%2 == 1 && p.execute(state, symbolic, values, op, uint64(1+i)) == nil {
				withVariables++
			} else {
				err := p.execute(state, m, nil, op, uint64(1+i))
				require.Must(t, err == nil, "%s %s: %v", op.mnemonic, op.operands, err)
			}
			want = append(want, state...)
		}
	}
	require.That(t, withVariables >= len(operations), "only %d of %d trials have variables", withVariables, tries*len(operations))
	return states, want
}

// byProcessor has the program with these stubs make other states of some.
func (p processor) byProcessor(t *testing.T, goarch, stubs string, states []byte) []byte {
	dir := t.TempDir()
	program, err := programs.ReadFile("testdata/" + goarch + ".s")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "program.s"), append(program, stubs...), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "states"), states, 0o600))
	run := func(command string) []byte {
		words := strings.Fields(command)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.Must(t, err == nil, "%s: %v: %s", command, err, stderr.Bytes())
		return out
	}
	run(p.tools[0] + " -o program.o program.s")
	run(fmt.Sprintf("%s -o program -Ttext=%#x -Tdata=%#x program.o", p.tools[1], stateAt-0x40000, stateAt))
	return run(strings.Join(append(p.tools[2:], "./program states"), " "))
}

// execute executes op in m and writes the state after it. It fails if that is not known for values
// of variables. stub stands for a branch.
func (p processor) execute(state []byte, m *machine, e evaluation, op operation, stub uint64) error {
	m.pc = op.next
	if err := op.do(m); err != nil {
		return err
	}
	if m.pc == op.next {
		stub = 0
	}
	if !p.write(state, m, e, stub) {
		return errVariable
	}
	return nil
}

// random returns a machine in a random state, and the same machine with variables in place of numbers, whose values are
// those numbers. Registers of addresses keep their numbers.
func (p processor) random(c *code, rng *rand.Rand, op operation) (m, symbolic *machine, values evaluation) {
	m = &machine{terms: newTerms(), code: c}
	for _, words := range c.arch.registers {
		m.registers = append(m.registers, randomValue(rng, words))
	}
	before := slices.Clone(m.registers)
	m.registers[c.arch.sp] = number(stateMiddle, 4)
	p.prepare(m, op, rng)
	bit := func() bool { return rng.IntN(2) == 0 }
	m.flags = flags{true, bit(), bit(), bit(), bit()}
	m.add("memory", stateAt+stateMemory, true, 4096, randomValue(rng, 2048)...)
	symbolic = m.fork()
	values = evaluation{}
	for i, v := range m.registers {
		isPrepared := &v[0] != &before[i][0]
		if !isPrepared {
			symbolic.registers[i] = each(v, func(w word) word { return values.set(m.terms, uint16(w)) })
		}
	}
	return m, symbolic, values
}

// randomValue returns many numbers at the edges.
func randomValue(rng *rand.Rand, words int) value {
	if rng.IntN(8) == 0 {
		return number(uint64(rng.IntN(2)), words)
	}
	return each(make(value, words), func(word) word {
		if rng.IntN(4) == 0 {
			return []word{0, 1, 0x7fff, 0x8000, 0xff80, 0xffff}[rng.IntN(6)]
		}
		return word(rng.Uint32N(1 << 16))
	})
}

const unknownFlags = 0xff

// write writes the state of m, if it is known for values of variables.
func (p processor) write(state []byte, m *machine, e evaluation, stub uint64) (known bool) {
	known = true
	write := func(at int, v value) {
		for i, w := range v {
			n, ok := e.word(m.terms, w)
			known = known && ok
			binary.LittleEndian.PutUint16(state[at+2*i:], n)
		}
	}
	for i, v := range m.registers {
		if i < p.vectors {
			write(8*i, v)
		} else {
			write(stateVectors+64*(i-p.vectors), v)
		}
	}
	write(stateFlags, number(^uint64(0), 4))
	if m.flags.known {
		write(stateFlags, number(p.flags(m.flags), 4))
	}
	write(stateStub, number(stub, 4))
	write(stateMemory, m.memory[0].words)
	return known
}
