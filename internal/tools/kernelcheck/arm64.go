package main

import (
	"regexp"
	"slices"
	"strings"
)

// arm64 reads GNU syntax: the destination comes first, memory is in brackets.
type arm64 struct{}

var arm64Memory = regexp.MustCompile(`\[([^\]]*)\]`)

// arm64Known are the instructions that a kernel may have; udf is the padding after a function.
var arm64Known = strings.Fields(`
	mov movk orr ldr add sub lsr ror adrp cbnz ret udf
	ld1 ld4 st4 dup eor rev16 ushr usra sli mla xar`)

func (arm64) known(mnemonic string) bool { return slices.Contains(arm64Known, mnemonic) }

func (arm64) calls(i instruction) bool { return i.mnemonic == "bl" || i.mnemonic == "blr" }

func (arm64) branch(i instruction) (bool, string) {
	switch {
	case strings.HasPrefix(i.mnemonic, "b."):
		return true, ""
	case slices.Contains([]string{"cbz", "cbnz", "tbz", "tbnz"}, i.mnemonic):
		return true, wideARM(split(i.operands)[0])
	}
	return false, ""
}

func (arm64) compared(i instruction) (string, bool) {
	parts := split(i.operands)
	constant := strings.HasPrefix(parts[len(parts)-1], "#")
	switch i.mnemonic {
	case "cmp", "cmn":
		if constant {
			return wideARM(parts[0]), true
		}
		if parts[0] == "sp" && parts[1] == "x16" { // the stack's limit
			return "sp", true
		}
		return "", true
	case "subs", "adds":
		if constant && wideARM(parts[0]) == wideARM(parts[1]) {
			return wideARM(parts[0]), true
		}
		return "", true
	case "ands", "bics", "tst", "ptest", "fcmp", "ccmp", "whilelo", "whilelt":
		return "", true
	}
	return "", false
}

func (arm64) addresses(i instruction) (bases, indexes []string) {
	for _, m := range arm64Memory.FindAllStringSubmatch(i.operands, -1) {
		inside := split(m[1])
		if !strings.HasPrefix(inside[0], "x") && inside[0] != "sp" {
			continue // an element of a vector
		}
		bases = append(bases, inside[0])
		if len(inside) > 1 && !strings.HasPrefix(inside[1], "#") {
			indexes = append(indexes, wideARM(inside[1]))
		}
	}
	if _, after, ok := strings.Cut(i.operands, "], x"); ok { // a step by a register
		indexes = append(indexes, "x"+after)
	}
	return bases, indexes
}

// arm64Reads are instructions whose first operand is read.
var arm64Reads = regexp.MustCompile(`^(st|cmp|cb|tb)`)

func (arm64) written(i instruction) (register string, constant bool) {
	parts := split(i.operands)
	first, last := wideARM(parts[0]), parts[len(parts)-1]
	if !strings.HasPrefix(first, "x") || arm64Reads.MatchString(i.mnemonic) {
		return "", true
	}
	switch i.mnemonic {
	case "ldr":
		constant = strings.HasPrefix(last, "[sp") && !strings.HasPrefix(parts[0], "w")
	case "mov", "movz", "orr":
		constant = strings.HasPrefix(last, "#") || last == "xzr" || last == "wzr"
	case "add", "sub", "subs", "adds":
		constant = len(parts) == 3 && strings.HasPrefix(last, "#")
	case "adr", "adrp":
		constant = true
	}
	return first, constant
}

func (arm64) copied(i instruction) string {
	parts := split(i.operands)
	if (i.mnemonic == "add" || i.mnemonic == "sub") && len(parts) == 3 && strings.HasPrefix(parts[2], "#") {
		return wideARM(parts[1])
	}
	return ""
}

func (g arm64) loads(i instruction) bool {
	_, constant := g.written(i)
	return constant && (strings.HasPrefix(i.mnemonic, "mov") || i.mnemonic == "orr")
}

func (arm64) fixed(register string) bool { return register == "sp" || register == "x28" }

// wideARM returns the 64-bit name of a general register, and other operands as they are.
func wideARM(operand string) string {
	if rest, ok := strings.CutPrefix(operand, "w"); ok && len(rest) <= 2 && len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' {
		return "x" + rest
	}
	return operand
}
