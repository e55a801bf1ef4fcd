package prove

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

var (
	nameInOperands   = regexp.MustCompile(`%?[a-z]\w*`)
	numberInOperands = regexp.MustCompile(`\b(0x[0-9a-f]+|\d+)\b`)
)

// mutants returns single changes of an instruction: another instruction with the same operands,
// other registers, other numbers, operands in another order.
func (a *architecture) mutants(i instruction) (all []instruction) {
	change := func(mnemonic, operands string) {
		i := i
		i.mnemonic, i.operands = mnemonic, operands
		all = append(all, i)
	}
	for _, alike := range a.alike {
		if alike := strings.Fields(alike); slices.Contains(alike, i.mnemonic) {
			for _, other := range alike {
				if other != i.mnemonic {
					change(other, i.operands)
				}
			}
		}
	}
	replace := func(at []int, by string) { change(i.mnemonic, i.operands[:at[0]]+by+i.operands[at[1]:]) }
	for _, at := range nameInOperands.FindAllStringIndex(i.operands, -1) {
		for _, names := range a.names {
			if n := slices.Index(names, i.operands[at[0]:at[1]]); n >= 0 {
				replace(at, names[(n+1)%len(names)])
				replace(at, names[(n+len(names)-4)%len(names)])
			}
		}
	}
	for _, at := range numberInOperands.FindAllStringIndex(i.operands, -1) {
		n, err := strconv.ParseUint(i.operands[at[0]:at[1]], 0, 64)
		if err != nil {
			continue
		}
		for _, other := range []uint64{n + 1, n - 1, n + 4} {
			replace(at, fmt.Sprintf("%#x", other))
		}
	}
	operands := split(i.operands)
	for n := range len(operands) - 1 {
		swapped := slices.Clone(operands)
		swapped[n], swapped[n+1] = swapped[n+1], swapped[n]
		if !slices.Equal(operands, swapped) {
			change(i.mnemonic, strings.Join(swapped, ","))
		}
	}
	return all
}

// patches returns mutants of the instruction at an address, as far as they are modelled, and the
// order of it and the next one changed.
func (c *code) patches(at uint64) (all []map[uint64]operation) {
	op := c.listed[at]
	for _, mutant := range c.arch.mutants(op.instruction) {
		if patched, err := c.decode(operation{instruction: mutant, next: op.next}); err == nil {
			all = append(all, map[uint64]operation{at: patched})
		}
	}
	first, err1 := c.at(at)
	second, err2 := c.at(op.next)
	if err1 == nil && err2 == nil {
		all = append(all, map[uint64]operation{
			at:      {second.instruction, op.next, second.do},
			op.next: {first.instruction, second.next, first.do},
		})
	}
	return all
}

// tally counts mutants.
type tally struct{ all, refused, byOutput, byOthers, same int }

// mutate runs all mutants of what a claim executes, from where they differ for the first time on,
// and calls same with those that are not refused. Instructions in done are left out. A sum that the
// unchanged code does not have is a reason to refuse.
func (c claim) mutate(code *code, done map[uint64]bool, n *tally, same func(patched map[uint64]operation)) error {
	t := newTerms()
	in := c.input(t.bounded)
	m, err := c.start(t, code, in)
	if err != nil {
		return err
	}
	started := m.fork()
	out, err := c.finish(started, m.fork())
	if err != nil {
		return err
	}
	if err := c.compare(t, in, out); err != nil {
		return err
	}
	m.before = func(m *machine) {
		if done[m.pc] {
			return
		}
		done[m.pc] = true
		for _, patched := range code.patches(m.pc) {
			n.all++
			mark := t.mark()
			mutant := m.fork()
			if len(patched) == 2 && done[code.listed[m.pc].next] {
				mutant = started.fork()
			}
			mutant.patched = patched
			t.closed = true
			if got, err := c.finish(started, mutant); err != nil {
				n.refused++
			} else if !slices.EqualFunc(got, out, slices.Equal) {
				n.refused++
				n.byOutput++
			} else {
				same(patched)
			}
			t.closed = false
			t.rollback(mark)
		}
	}
	return m.run()
}

// try checks the claim for random constants, with a patch.
func (c claim) try(code *code, patched map[uint64]operation, rng *rand.Rand) error {
	in := c.input(func(max uint16) word { return word(rng.IntN(int(max) + 1)) })
	return c.check(newTerms(), code, in, patched)
}

// A mutant either leaves the terms as they are, and then it computes what the paper does, or it is
// refused, if not by the claim that is proven then by another one of the function.
func TestMutants(t *testing.T) {
	eachArchitecture(t, func(t *testing.T, c *code) {
		if !slices.Contains(architectures, c.arch) {
			return // the machine code is the same for all lengths of vectors
		}
		rng := rand.New(rand.NewPCG(1, 2))
		done := make(map[uint64]bool)
		var n tally
		for _, name := range slices.Sorted(maps.Keys(c.functions)) {
			claims := claimed(name)
			if claims == nil {
				continue
			}
			slices.Reverse(claims)
			err := claims[0].mutate(c, done, &n, func(patched map[uint64]operation) {
				err := claims[0].try(c, patched, rng)
				require.That(t, err == nil, "%v is proven, but %v", patched, err)
				for _, claim := range claims[1:] {
					if claim.try(c, patched, rng) != nil {
						n.refused++
						n.byOthers++
						return
					}
				}
				n.same++
			})
			if err != nil {
				t.Error(err)
			}
		}
		t.Logf("%s: %d mutants: %d refused, %d of them by their output, %d by other claims; %d leave all terms as they are",
			c.arch.name, n.all, n.refused, n.byOutput, n.byOthers, n.same)
		require.That(t, n.all >= 5000 && n.refused >= n.all*3/4 && n.refused+n.same == n.all, "these are too few")
	})
}
