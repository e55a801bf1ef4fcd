// Package prove proves that the cipher's kernels compute what the paper says, by their machine code.
//
// It builds the tests of package randflake for each architecture, has objdump disassemble them, and
// executes the kernels on words that are functions of all bits of key and blocks. At the end, each
// lane must hold the function that the paper describes, nothing but the output may be written, and
// no address or branch may have depended on a variable.
package prove

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
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
			must(t, err)
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
			require.NoError(t, claim.prove(newTerms(), c))
		}
	})
}

// The assembly is the same on all systems and at all levels of an architecture, so what is proven
// holds for all; and it has no kernel that the binary does not have.
func TestSameAssembly(t *testing.T) {
	conditions := regexp.MustCompile(`(?m)^\s*#\s*i`) // and an include, of textflag.h
	for _, arch := range architectures {
		text, err := os.ReadFile("../../sparx64_" + arch.name + ".s")
		if err != nil || !bytes.HasPrefix(text, []byte("//go:build gc && !purego\n")) || len(conditions.FindAll(text, -1)) != 1 {
			t.Errorf("%s: %v: it depends on more than gc and purego", arch.name, err)
		}
		require.Equal(t, bytes.Count(text, []byte("\nTEXT ")), arch.kernels, "functions of %s", arch.name)
	}
	if files, _ := filepath.Glob("../../*.s"); len(files) != len(architectures) {
		t.Errorf("%v: want one file for each architecture", files)
	}
}

// A wrongKernel is a kernel in which a word of the assembly is replaced.
type wrongKernel struct{ function, word, by string }

// Kernels that compute what they should, but do more, are refused.
func TestWrongKernels(t *testing.T) {
	for _, arch := range architectures {
		c, err := build(arch, func(assembly string) string {
			for _, w := range arch.wrong {
				function := regexp.MustCompile(`(?s)TEXT ·` + w.function + `\(.*?(\n\n|\z)`)
				assembly = function.ReplaceAllStringFunc(assembly, func(text string) string {
					return fmt.Sprintf("#define %s %s\n%s\n#undef %[1]s\n", w.word, w.by, text)
				})
			}
			return assembly
		})
		must(t, err)
		for _, w := range arch.wrong {
			if err := claimed(w.function + ".abi0")[0].prove(newTerms(), c); err == nil {
				t.Errorf("%s with %s is proven", w.function, w.by)
			} else {
				t.Logf("refused, as it must be: %v", err)
			}
		}
	}
}
