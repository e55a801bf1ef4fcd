package prove

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The program runs single instructions on states of the machine, and writes the states that they leave.
//
//go:embed testdata/arm64.s
var arm64Program string

// The layout of a state.
const (
	stateNZCV    = 8 * 32
	stateStub    = 8 * 33
	stateVectors = 8 * 34
	stateMemory  = stateVectors + 32*64
	stateSize    = stateMemory + 4096
	stateAt      = 0x200000
)

// A trial is an instruction, and how an assembler writes it.
type trial struct {
	op   operation
	stub string
}

// arm64Trials are all instructions of what is proven, as their words stand in the binary. Left out are adrp, which
// depends on where it stands, and calls and returns.
func arm64Trials(t *testing.T, c *code) (all []trial) {
	seen := make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(c.functions)) {
		if claimed(name) == nil && !helpers[name] {
			continue
		}
		for _, in := range c.functions[name].instructions {
			if text := in.mnemonic + " " + in.operands; !seen[text] && !slices.Contains([]string{"adrp", "bl", "ret", "udf", "..."}, in.mnemonic) {
				seen[text] = true
				raw, ok := c.bytes(in.address, 4)
				op, err := c.at(in.address)
				if err != nil || !ok {
					if strings.HasPrefix(in.operands, "x3, x30") {
						continue
					}
					t.Fatal(err, ok)
				}
				word, to := near(binary.LittleEndian.Uint32(raw))
				if to != 0 && !strings.HasSuffix(in.operands, fmt.Sprintf("%x", in.address+to)) {
					t.Fatalf("%s: not to %x", text, in.address+to)
				}
				all = append(all, trial{op, fmt.Sprintf("\tstub %#x\n", word)})
			}
		}
	}
	return all
}

// near returns a branch's word with the target that the program has for it, and how far the branch went. It returns
// other words as they are.
func near(word uint32) (uint32, uint64) {
	at, size := 0, 0
	switch {
	case word>>26 == 0b000101: // b
		size = 26
	case word>>24 == 0b01010100, word>>25&0x3f == 0b011010: // b.cond, cbz
		at, size = 5, 19
	case word>>25&0x3f == 0b011011: // tbz
		at, size = 5, 14
	default:
		return word, 0
	}
	mask := uint32(1)<<size - 1
	far := int64(word>>at&mask) << (64 - size) >> (64 - size)
	return word&^(mask<<at) | 2<<at, uint64(far) * 4
}

// TestARM64Models compares what an instruction does by its model with what it does on qemu's processor, for each
// instruction of the kernels and random operands.
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
	trials := arm64Trials(t, c)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	source := arm64Program
	for _, trial := range trials {
		source += trial.stub
	}
	if err := os.WriteFile(file("program.s"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"as -o program.o program.s", fmt.Sprintf("ld -o program -Ttext=0x1c0000 -Tdata=%#x program.o", stateAt)} {
		words := strings.Fields(command)
		cmd := exec.Command("aarch64-linux-gnu-"+words[0], words[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	for _, arch := range append([]*architecture{arm64}, arm64.longer...) {
		vectorBits := 16 * arch.registers[arm64Vector]
		t.Run(strconv.Itoa(vectorBits), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(vectorBits)))
			var in, want bytes.Buffer
			var of []trial
			for i, trial := range trials {
				for range 4 {
					m := randomARM64(rng, c, arch, trial.op)
					binary := make([]byte, stateSize)
					for i := range binary {
						binary[i] = 0xa5
					}
					writeARM64(binary, m, uint64(i+1))
					in.Write(binary)
					m.pc = trial.op.next
					if err := trial.op.do(m); err != nil {
						t.Fatalf("%s %s: %v", trial.op.mnemonic, trial.op.operands, err)
					}
					branched := uint64(0)
					if m.pc != trial.op.next {
						branched = uint64(i + 1)
					}
					writeARM64(binary, m, branched)
					want.Write(binary)
					of = append(of, trial)
				}
			}
			cmd := exec.Command("qemu-aarch64", "-cpu", fmt.Sprintf("max,sve-max-vq=%d", vectorBits/128), file("program"))
			states, err := os.Create(file("states")) // a pipe would hand them over in pieces
			if err == nil {
				_, err = states.Write(in.Bytes())
			}
			if err == nil {
				_, err = states.Seek(0, io.SeekStart)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer states.Close()
			cmd.Stdin = states
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			got, err := cmd.Output()
			if err != nil {
				t.Fatalf("qemu: %v: %s", err, stderr.Bytes())
			}
			wrong := 0
			for i, trial := range of {
				if at := i * stateSize; len(got) < at+stateSize || !bytes.Equal(got[at:at+stateSize], want.Bytes()[at:at+stateSize]) {
					d := 0
					for len(got) > at+d && got[at+d] == want.Bytes()[at+d] {
						d++
					}
					t.Errorf("%s %s: differs at byte %d of the state", trial.op.mnemonic, trial.op.operands, d)
					if wrong++; wrong > 20 {
						break
					}
				}
			}
			t.Logf("%d instructions, %d trials", len(trials), len(of))
		})
	}
}

// randomARM64 is a machine in a random state, but that the registers in addresses hold addresses and small indexes.
func randomARM64(rng *rand.Rand, c *code, arch *architecture, op operation) *machine {
	on := *c
	on.arch = arch
	m := &machine{terms: newTerms(), code: &on}
	random := func(words int) value {
		v := make(value, words)
		for i := range v {
			if v[i] = word(rng.Uint32N(1 << 16)); rng.IntN(4) == 0 {
				v[i] = []word{0, 1, 0x7fff, 0x8000, 0xff80, 0xffff}[rng.IntN(6)]
			}
		}
		if rng.IntN(4) == 0 {
			return number(uint64(rng.IntN(2)), words)
		}
		return v
	}
	for _, words := range arch.registers {
		m.registers = append(m.registers, random(words))
	}
	middle := uint64(stateAt + stateMemory + 2048)
	m.registers[arch.sp] = number(middle, 4)
	for _, part := range split(op.operands) {
		if parts := arm64Address.FindStringSubmatch(part); parts != nil {
			if index, ok := parseARM64(parts[3]); ok {
				m.registers[index.number] = number(rng.Uint64N(8), 4)
			}
			base, _ := parseARM64(parts[1])
			m.registers[base.number] = number(middle+16*rng.Uint64N(8), 4)
		}
	}
	m.flags = flags{true, rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0}
	m.add("memory", stateAt+stateMemory, true, 4096, random(2048)...)
	return m
}

// writeARM64 writes the state of m.
func writeARM64(state []byte, m *machine, stub uint64) {
	for i, v := range m.registers {
		at := 8 * i
		if i >= arm64Vector {
			at = stateVectors + 64*(i-arm64Vector)
		}
		for _, w := range v {
			binary.LittleEndian.PutUint16(state[at:], uint16(w))
			at += 2
		}
	}
	nzcv := uint64(0)
	for _, flag := range []bool{m.flags.sign, m.flags.zero, !m.flags.carry, m.flags.overflow} {
		nzcv *= 2
		if flag {
			nzcv++
		}
	}
	binary.LittleEndian.PutUint64(state[stateNZCV:], nzcv<<28)
	binary.LittleEndian.PutUint64(state[stateStub:], stub)
	for i, w := range m.memory[0].words {
		binary.LittleEndian.PutUint16(state[stateMemory+2*i:], uint16(w))
	}
}
