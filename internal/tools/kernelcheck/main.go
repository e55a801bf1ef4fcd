// Kernelcheck reads the machine code of the cipher's kernels and reports each branch, and each memory
// address, that could depend on a key or on data. It exits with status 1 if there is one.
//
// For each architecture it builds the tests of package randflake, has objdump disassemble them, and checks that each
// kernel keeps these rules, by which neither the time that it takes nor an address can depend on a secret:
//
//   - All its instructions are on a list of those that take the same time whatever they work on. It calls nothing. Its
//     only jump is one conditional branch back, on a counter: a register that nothing but constants ever reach.
//   - Each address is a base register and a constant. Nothing but an argument, a constant or a step by a constant ever
//     reaches a base register.
//
// The functions of the generic backend are compiled, so they have rules of their own: conditional branches depend on
// the limit of the stack or on a counter that is compared with a constant; an address is indexed with nothing but a
// counter; nothing but the runtime is called.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An architecture is how to get at its machine code, and how to read it.
type architecture struct {
	name    string
	objdump []string // commands to try
	grammar grammar
	kernels int // how many assembly kernels there are at least
}

var architectures = []architecture{
	{"amd64", []string{"x86_64-linux-gnu-objdump", "objdump"}, amd64{}, 9},
	{"arm64", []string{"aarch64-linux-gnu-objdump"}, arm64{}, 6},
}

func main() {
	failed := false
	for _, arch := range architectures {
		if err := arch.run(); err != nil {
			fmt.Fprintf(os.Stderr, "kernelcheck: %s: %v\n", arch.name, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func (a architecture) run() error {
	listing, err := a.disassemble()
	if err != nil {
		return err
	}
	kernels, compiled := 0, 0
	var problems []string
	for _, f := range parse(listing) {
		switch {
		case isKernel(f.name):
			kernels++
			problems = append(problems, checkKernel(a.grammar, f)...)
		case isCompiled(f.name):
			compiled++
			problems = append(problems, checkCompiled(a.grammar, f)...)
		}
	}
	if kernels < a.kernels || compiled < len(compiledNames) {
		return fmt.Errorf("found only %d kernels and %d functions of the generic backend", kernels, compiled)
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d problems:\n%s", len(problems), strings.Join(problems, "\n"))
	}
	fmt.Printf("%s: %d kernels and %d functions of the generic backend: no branch and no address depends on key or data\n", a.name, kernels, compiled)
	return nil
}

// disassemble builds the tests, which hold all kernels, and returns objdump's listing.
func (a architecture) disassemble() (string, error) {
	dir, err := os.MkdirTemp("", "kernelcheck")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "test")
	build := exec.Command("go", "test", "-c", "-o", binary, "github.com/randflake/randflake")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+a.name, "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	for _, objdump := range a.objdump {
		path, err := exec.LookPath(objdump)
		if err != nil {
			continue
		}
		var stderr bytes.Buffer
		cmd := exec.Command(path, "--disassemble", "--no-show-raw-insn", "--wide", binary)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("%s: %w: %s", objdump, err, stderr.Bytes())
		}
		return string(out), nil
	}
	return "", fmt.Errorf("none of %v is installed: see Debian's binutils and binutils-aarch64-linux-gnu", a.objdump)
}
