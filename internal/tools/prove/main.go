// Prove proves that the cipher's kernels compute what the paper says, by their machine code.
//
// It builds the tests of package randflake for each architecture, has objdump disassemble them, and executes the
// kernels on words that are functions of all bits of key and blocks. At the end, each lane must hold the function that
// the paper describes, nothing but the output may be written, and no address or branch may have depended on a variable.
// It exits with status 1 if a claim does not hold.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
)

var architectures = []*architecture{amd64, arm64}

func main() {
	failed := false
	for _, arch := range architectures {
		if err := run(arch); err != nil {
			fmt.Fprintf(os.Stderr, "prove: %s: %v\n", arch.name, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

func run(arch *architecture) error {
	c, err := build(arch)
	if err != nil {
		return err
	}
	var errs []error
	for _, c.arch = range append([]*architecture{arch}, arch.longer...) {
		claims, err := c.claims()
		if err != nil {
			return err
		}
		for _, claim := range claims {
			if err := claim.prove(newTerms(), c, nil); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", c.arch.name, err))
			}
		}
		if len(errs) == 0 {
			fmt.Printf("%s: %d claims hold for all keys and all blocks, in time that depends on neither\n", c.arch.name, len(claims))
		}
	}
	return errors.Join(errs...)
}

// claims returns what is to be proven.
func (c *code) claims() (all []claim, err error) {
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
	if kernels < c.arch.kernels || others < 5 {
		return nil, fmt.Errorf("found only %d kernels and %d other functions", kernels, others)
	}
	return all, nil
}
