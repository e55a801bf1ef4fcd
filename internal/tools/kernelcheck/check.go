package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A grammar tells what an instruction of an architecture does, as far as the rules go.
type grammar interface {
	// known reports whether kernels may have the instruction.
	known(mnemonic string) bool

	// calls reports whether the instruction calls a function.
	calls(instruction) bool

	// branch returns whether the instruction is a conditional branch, and on which register; "" is the flags.
	branch(instruction) (conditional bool, register string)

	// compared returns whether the instruction sets the flags, and the register that it compares with a constant or
	// moves by one; "" if the flags depend on anything else.
	compared(instruction) (register string, setsFlags bool)

	// addresses returns the base and index registers of the memory that the instruction touches.
	addresses(instruction) (bases, indexes []string)

	// written returns the general register that the instruction changes, or "", and whether the register gets a
	// constant, an argument of the function, or what a register held before, moved by a constant.
	written(instruction) (register string, constant bool)

	// copied returns the register that an instruction moves by a constant into another one, or "".
	copied(instruction) string

	// loads reports whether the instruction loads a register with a constant, whatever it held before.
	loads(instruction) bool

	// fixed reports whether a register always holds an address of the stack or of the runtime.
	fixed(register string) bool
}

// problem says what is wrong with an instruction of f.
func (f function) problem(i instruction, what string) string {
	return fmt.Sprintf("%s: %x: %s %s: %s", f.name, i.address, i.mnemonic, i.operands, what)
}

// checkKernel returns where f breaks the rules for kernels.
func checkKernel(g grammar, f function) (problems []string) {
	complain := func(i instruction, what string) { problems = append(problems, f.problem(i, what)) }
	var steering []string // registers that a branch or an address depends on
	flags, branches := "", 0
	for _, i := range f.instructions {
		if !g.known(i.mnemonic) {
			complain(i, "instruction that is not on the list")
		}
		if conditional, register := g.branch(i); conditional {
			branches++
			counter := cmp.Or(register, flags)
			if counter == "" {
				complain(i, "branch on what is no counter")
			}
			steering = append(steering, counter)
			if to := target(i); to < f.instructions[0].address || to > i.address {
				complain(i, "branch that does not go back")
			}
		}
		if register, sets := g.compared(i); sets {
			flags = register
		}
		bases, indexes := g.addresses(i)
		if len(indexes) > 0 {
			complain(i, "indexed address")
		}
		steering = append(steering, bases...)
	}
	if branches != 1 {
		problems = append(problems, fmt.Sprintf("%s: %d conditional branches, want the loop's alone", f.name, branches))
	}
	for _, i := range f.instructions {
		register, constant := g.written(i)
		if !constant && slices.Contains(steering, register) && !g.fixed(register) {
			complain(i, "data reach a register that steers")
		}
	}
	return problems
}

// checkCompiled returns where f breaks the rules for functions of the generic backend.
func checkCompiled(g grammar, f function) (problems []string) {
	complain := func(i instruction, what string) { problems = append(problems, f.problem(i, what)) }
	flags := ""
	for at, i := range f.instructions {
		before := f.instructions[:at]
		if g.calls(i) && !strings.HasPrefix(i.symbol, "runtime.") {
			complain(i, "call of what is not checked")
		}
		if conditional, register := g.branch(i); conditional && !isCounter(g, before, cmp.Or(register, flags)) {
			complain(i, "branch on what is no counter")
		}
		if register, sets := g.compared(i); sets {
			flags = register
		}
		_, indexes := g.addresses(i)
		for _, index := range indexes {
			if !isCounter(g, before, index) {
				complain(i, "address indexed with what is no counter")
			}
		}
	}
	return problems
}

// isCounter reports whether the register holds a constant, moved by nothing but constants since. It looks at the
// instructions before, from the newest one back.
func isCounter(g grammar, before []instruction, register string) bool {
	if register == "" {
		return false
	}
	if g.fixed(register) {
		return true
	}
	for _, i := range slices.Backward(before) {
		written, constant := g.written(i)
		switch {
		case written != register:
		case !constant:
			return false
		case g.loads(i):
			return true
		default:
			register = cmp.Or(g.copied(i), register)
		}
	}
	return false
}

// target returns the address that a branch goes to, its last operand.
func target(i instruction) uint64 {
	parts := split(i.operands)
	to, _ := strconv.ParseUint(parts[len(parts)-1], 16, 64)
	return to
}

// split cuts operands at commas outside brackets.
func split(operands string) (parts []string) {
	depth, from := 0, 0
	for i, c := range operands {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, strings.TrimSpace(operands[from:i]))
				from = i + 1
			}
		}
	}
	return append(parts, strings.TrimSpace(operands[from:]))
}
