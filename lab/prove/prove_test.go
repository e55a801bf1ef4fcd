// Package prove proves that the cipher's kernels compute what the paper says, by their machine code.
//
// It builds the tests of package randflake for each architecture, has objdump disassemble them, and executes the
// kernels on words that are functions of all bits of key and blocks. At the end, each lane must hold the function that
// the paper describes, nothing but the output may be written, and no address or branch may have depended on a variable.
package prove

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lab/overlay"
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
	require.Must(t, kernels == c.arch.kernels && others == 5,
		"found %d kernels and %d other functions, want %d and 5", kernels, others, c.arch.kernels)
	return all
}

func TestKernels(t *testing.T) {
	eachArchitecture(t, func(t *testing.T, c *code) {
		for _, claim := range c.claims(t) {
			require.NoError(t, claim.prove(newTerms(), c))
		}
	})
}

// assembly returns the file that has all kernels, and its text.
func (a *architecture) assembly(t *testing.T) (path, text string) {
	path = "../../sparx64_" + a.name + ".s"
	content, err := os.ReadFile(path)
	must(t, err)
	return path, string(content)
}

// The assembly is the same on all systems and at all levels of an architecture, so what is proven
// holds for all; and it has no kernel that the binary does not have.
func TestSameAssembly(t *testing.T) {
	conditions := regexp.MustCompile(`(?m)^\s*#\s*i`) // and an include, of textflag.h
	for _, arch := range architectures {
		_, text := arch.assembly(t)
		onlyTags := strings.HasPrefix(text, "//go:build gc && !purego\n") && len(conditions.FindAllString(text, -1)) == 1
		require.That(t, onlyTags, "%s: it depends on more than gc and purego", arch.name)
		require.Equal(t, strings.Count(text, "\nTEXT "), arch.kernels, "functions of %s", arch.name)
	}
	files, _ := filepath.Glob("../../*.s")
	require.Equal(t, len(files), len(architectures), "files of assembly")
}

// A wrongKernel is a kernel in which a word of the assembly is replaced.
type wrongKernel struct{ function, word, by string }

// Kernels that compute what they should, but do more, are refused.
func TestWrongKernels(t *testing.T) {
	for _, arch := range architectures {
		path, text := arch.assembly(t)
		for _, w := range arch.wrong {
			function := regexp.MustCompile(`(?s)TEXT ·` + w.function + `\(.*?(\n\n|\z)`)
			text = function.ReplaceAllStringFunc(text, func(body string) string {
				return fmt.Sprintf("#define %s %s\n%s\n#undef %[1]s\n", w.word, w.by, body)
			})
		}
		c, err := build(arch, "-overlay", overlay.Write(t, map[string]string{path: text}))
		must(t, err)
		for _, w := range arch.wrong {
			err := claimed(w.function + ".abi0")[0].prove(newTerms(), c)
			require.That(t, err != nil, "%s with %s is proven", w.function, w.by)
			t.Logf("refused, as it must be: %v", err)
		}
	}
}
