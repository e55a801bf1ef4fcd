package main

import (
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

	// branch returns whether it is a conditional branch, and the register it looks at if it does not
	// look at the flags.
	branch(instruction) (conditional bool, register string)

	// compared returns, for an instruction that sets the flags, the register that it compares with a
	// constant, or counts by a constant, or "" if flags come from anything else.
	compared(instruction) (register string, setsFlags bool)

	// addresses returns the base and index registers of the memory that it touches.
	addresses(instruction) (bases, indexes []string)

	// written returns the general registers that it changes, and whether what they get is an argument,
	// a constant, or what they were moved by a constant.
	written(instruction) (registers []string, constant bool)

	// copied returns, for an instruction that sets a register to another one moved by a constant, that
	// other one, or "".
	copied(instruction) string

	// loads reports whether the instruction loads a register with a constant, whatever it held before.
	loads(instruction) bool

	// fixed reports whether a register always holds an address of the runtime's or the stack's.
	fixed(register string) bool
}

// checkKernel returns where f breaks the rules for kernels.
func checkKernel(g grammar, f function) (problems []string) {
	complain := func(i instruction, what string) {
		problems = append(problems, fmt.Sprintf("%s: %x: %s %s: %s", f.name, i.address, i.mnemonic, i.operands, what))
	}
	var sensitive []string // registers that steer: bases and counters
	flags, branches := "", 0
	for _, i := range f.instructions {
		if !g.known(i.mnemonic) {
			complain(i, "instruction that is not on the list")
		}
		if conditional, register := g.branch(i); conditional {
			branches++
			counter := register
			if counter == "" {
				counter = flags
			}
			if counter == "" {
				complain(i, "branch on what is no counter")
			}
			sensitive = append(sensitive, counter)
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
		sensitive = append(sensitive, bases...)
	}
	if branches != 1 {
		problems = append(problems, fmt.Sprintf("%s: %d conditional branches, want the loop's alone", f.name, branches))
	}
	for _, i := range f.instructions {
		registers, constant := g.written(i)
		for _, register := range registers {
			if !constant && slices.Contains(sensitive, register) && !g.fixed(register) {
				complain(i, "data reach a register that steers")
			}
		}
	}
	return problems
}

// checkCompiled returns where f breaks the rules for functions of the generic backend.
func checkCompiled(g grammar, f function) (problems []string) {
	complain := func(i instruction, what string) {
		problems = append(problems, fmt.Sprintf("%s: %x: %s %s: %s", f.name, i.address, i.mnemonic, i.operands, what))
	}
	flags := ""
	for at, i := range f.instructions {
		if g.calls(i) && !strings.HasPrefix(i.symbol, "runtime.") {
			complain(i, "call of what is not checked")
		}
		if conditional, register := g.branch(i); conditional {
			if register == "" {
				register = flags
			}
			if !isCounter(g, f.instructions[:at], register) {
				complain(i, "branch on what is no counter")
			}
		}
		if register, sets := g.compared(i); sets {
			flags = register
		}
		_, indexes := g.addresses(i)
		for _, index := range indexes {
			if !isCounter(g, f.instructions[:at], index) {
				complain(i, "address indexed with what is no counter")
			}
		}
	}
	return problems
}

// isCounter reports whether the instructions before some point, from the newest one back, have moved
// the register by constants alone since they loaded it with one.
func isCounter(g grammar, before []instruction, register string) bool {
	if g.fixed(register) {
		return true
	}
	for _, i := range slices.Backward(before) {
		registers, constant := g.written(i)
		if !slices.Contains(registers, register) {
			continue
		}
		if !constant {
			return false
		}
		if g.loads(i) {
			return true
		}
		if other := g.copied(i); other != "" {
			register = other
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
