// Package prove proves that the cipher's kernels compute what the paper says, by their machine code.
//
// It builds the tests of package randflake for each architecture, has objdump disassemble them, and executes the
// kernels on words that are functions of all bits of key and blocks. At the end, each lane must hold the function that
// the paper describes, nothing but the output may be written, and no address or branch may have depended on a variable.
package prove

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

var architectures = []*architecture{amd64, arm64}

// eachArchitecture runs f for each architecture, with its code.
func eachArchitecture(t *testing.T, f func(t *testing.T, c *code)) {
	for _, arch := range architectures {
		t.Run(arch.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("it builds the tests of package randflake")
			}
			c, err := arch.built()
			if err != nil {
				t.Fatal(err)
			}
			f(t, c)
			for _, c.arch = range arch.longer {
				t.Run(c.arch.name, func(t *testing.T) { f(t, c) })
			}
			c.arch = arch
		})
	}
}

// claims returns all that is to be proven.
func (c *code) claims(t *testing.T) (all []claim) {
	kernels, others := 0, 0
	for _, name := range slices.Sorted(maps.Keys(c.functions)) {
		claims := claimed(name)
		all = append(all, claims...)
		switch {
		case kernelName.MatchString(name):
			kernels++
		case claims != nil:
			others++
		}
	}
	if kernels != c.arch.kernels || others != 5 {
		t.Fatalf("found %d kernels and %d other functions, want %d and 5", kernels, others, c.arch.kernels)
	}
	return all
}

func TestKernels(t *testing.T) {
	eachArchitecture(t, func(t *testing.T, c *code) {
		for _, claim := range c.claims(t) {
			if err := claim.prove(newTerms(), c, nil); err != nil {
				t.Error(err)
			}
		}
	})
}

// A rotation that is wrong in one lane of one step of one set is refused with the lane and the step.
func TestWrongRotationInOneLane(t *testing.T) {
	eachArchitecture(t, func(t *testing.T, c *code) {
		for _, planted := range c.arch.planted {
			claim := claimed(planted.function)[0]
			err := claim.prove(newTerms(), c, func(m *machine) {
				executed := 0
				m.before = func(m *machine) {
					op, err := c.at(m.pc)
					if err != nil || op.mnemonic != planted.mnemonic {
						return
					}
					m.patched = nil
					if executed++; executed != planted.executed {
						return
					}
					m.patched = map[uint64]operation{m.pc: {op.instruction, op.next, func(m *machine) error {
						err := op.do(m)
						v := slices.Clone(m.registers[planted.register])
						v[planted.word] = m.rol(v[planted.word], 1)
						m.registers[planted.register] = v
						return err
					}}}
				}
			})
			if err == nil || !strings.Contains(err.Error(), planted.want) {
				t.Errorf("%s: got %v, want %q", planted.function, err, planted.want)
			}
		}
	})
}
