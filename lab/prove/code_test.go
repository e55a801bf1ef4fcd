package prove

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// An architecture is how to get at machine code, what its instructions do, and what Go's calling conventions demand.
type architecture struct {
	name      string
	objdump   []string // commands to try
	registers []int    // the words of each register
	arguments []int    // the registers of integer arguments, and of results
	sp, g     int
	kept      []int  // registers that a function must not change, with sp and g
	zero      int    // the vector that is zero between functions in Go, or 0
	pushed    uint64 // bytes that a call pushes

	// decode returns what an instruction does, so that it is ready to be done many times.
	decode func(operation) (func(*machine) error, error)

	// start, if not nil, sets what a caller leaves in registers, and left, if not nil, reports what
	// is wrong with them after the return. enter prepares for a return to an address.
	start func(m *machine)
	enter func(m *machine, back uint64) error
	left  func(m *machine) error

	// framesFirst is whether functions write to their frames before they move sp there.
	framesFirst bool

	// longer are the same with longer vectors, for the same machine code.
	longer []*architecture

	// processor calls a function with one to compare models with, or skips.
	processor func(t *testing.T, f func(processor))

	kernels int // how many there are in assembly
	wrong   []wrongKernel
	alike   []string   // instructions that take the same operands
	names   [][]string // of registers that can replace each other

	once sync.Once
	code *code
	err  error
}

const pkg = "github.com/randflake/randflake."

// code is the machine code of a binary.
type code struct {
	arch       *architecture
	functions  map[string]function
	operations map[uint64]operation
	listed     map[uint64]operation // not yet decoded
	names      map[uint64]string    // of all functions of the binary, by address
	loads      []load
}

type load struct {
	address uint64
	data    []byte
}

func (a *architecture) goarch() string { return strings.Fields(a.name)[0] }

var errNotInstalled = errors.New("not installed")

// must ends the test if err is not nil. It skips the test where a program is missing.
func must(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, errNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// built returns the code of the architecture.
func (a *architecture) built() (*code, error) {
	a.once.Do(func() { a.code, a.err = build(a) })
	return a.code, a.err
}

// build builds the tests of package randflake, which hold all kernels, and reads them.
func build(arch *architecture, flags ...string) (*code, error) {
	dir, err := os.MkdirTemp("", "prove")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "test")
	build := exec.Command("go", slices.Concat([]string{"test", "-c", "-o", binary}, flags, []string{strings.TrimSuffix(pkg, ".")})...)
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch.goarch(), "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0")
	sources, _ := filepath.Glob("../../*.[gs]*")
	for _, source := range sources {
		os.Stat(source) // so that the go command knows what the test depends on
	}
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w: %s", err, out)
	}
	return read(arch, binary)
}

func read(arch *architecture, binary string) (*code, error) {
	f, err := elf.Open(binary)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := &code{
		arch:       arch,
		functions:  map[string]function{},
		operations: map[uint64]operation{},
		listed:     map[uint64]operation{},
		names:      map[uint64]string{},
	}
	if err := c.readConstants(f); err != nil {
		return nil, err
	}
	first, end, err := c.readNames(f)
	if err != nil {
		return nil, err
	}
	listing, err := arch.disassemble(binary, first, end)
	if err != nil {
		return nil, err
	}
	for _, f := range parse(listing) {
		if name, ok := strings.CutPrefix(f.name, pkg); ok {
			c.functions[name] = f
			c.list(f.instructions)
		}
	}
	return c, nil
}

// readConstants reads what a program can't change.
func (c *code) readConstants(f *elf.File) error {
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_W != 0 {
			continue
		}
		data := make([]byte, p.Filesz)
		if _, err := p.ReadAt(data, 0); err != nil {
			return err
		}
		c.loads = append(c.loads, load{p.Vaddr, data})
	}
	return nil
}

// readNames reads the names of functions. It returns where the functions of the claims begin and end.
func (c *code) readNames(f *elf.File) (first, end uint64, err error) {
	symbols, err := f.Symbols()
	first = ^uint64(0)
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			continue
		}
		c.names[s.Value] = s.Name
		name, ok := strings.CutPrefix(s.Name, pkg)
		if ok && strings.HasSuffix(name, ".abi0") && claimed(name) == nil {
			return 0, 0, fmt.Errorf("%s is in assembly, and nothing says what it is to compute", name)
		}
		if ok && (claimed(name) != nil || helpers[name]) {
			first = min(first, s.Value)
			end = max(end, s.Value+s.Size)
		}
	}
	return first, end, err
}

func (c *code) list(instructions []instruction) {
	for i, in := range instructions {
		next := uint64(0)
		if i+1 < len(instructions) {
			next = instructions[i+1].address
		}
		c.listed[in.address] = operation{in, next, nil}
	}
}

func (a *architecture) disassemble(binary string, first, end uint64) (string, error) {
	for _, objdump := range a.objdump {
		path, err := exec.LookPath(objdump)
		if err != nil {
			continue
		}
		var stderr bytes.Buffer
		cmd := exec.Command(path, "--disassemble", "--disassemble-zeroes", "--no-show-raw-insn", "--wide",
			fmt.Sprintf("--start-address=%#x", first), fmt.Sprintf("--stop-address=%#x", end), binary)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("%s: %w: %s", objdump, err, stderr.Bytes())
		}
		return string(out), nil
	}
	return "", fmt.Errorf("%w: none of %v: see Debian's binutils and binutils-aarch64-linux-gnu", errNotInstalled, a.objdump)
}

// at returns the operation at an address of the package.
func (c *code) at(pc uint64) (operation, error) {
	if op, ok := c.operations[pc]; ok {
		return op, nil
	}
	op, ok := c.listed[pc]
	if !ok {
		return operation{}, fmt.Errorf("%x: %s: code that is not read", pc, c.names[pc])
	}
	op, err := c.decode(op)
	if err == nil {
		c.operations[pc] = op
	}
	return op, err
}

func (c *code) decode(op operation) (operation, error) {
	do, err := c.arch.decode(op)
	if err != nil {
		return op, fmt.Errorf("%x: %s %s: %w", op.address, op.mnemonic, op.operands, err)
	}
	op.do = do
	return op, nil
}

// bytes returns n bytes of the file that a program can't change, if it has them.
func (c *code) bytes(address uint64, n int) ([]byte, bool) {
	for _, l := range c.loads {
		if at := address - l.address; at < uint64(len(l.data)) && at+uint64(n) <= uint64(len(l.data)) {
			return l.data[at:][:n], true
		}
	}
	return nil, false
}

func (c *code) constant(address uint64, words int) (value, bool) {
	data, ok := c.bytes(address, 2*words)
	v := make(value, 0, words)
	for half := range slices.Chunk(data, 2) {
		v = append(v, word(binary.LittleEndian.Uint16(half)))
	}
	return v, ok
}
