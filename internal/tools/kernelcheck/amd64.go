package main

import (
	"regexp"
	"slices"
	"strings"
)

// amd64 reads the AT&T syntax: the destination comes last, memory is displacement(base,index,scale).
type amd64 struct{}

var amd64Memory = regexp.MustCompile(`\((%\w+)?(?:,(%\w+),\d)?\)`)

// amd64Known are the instructions that a kernel may have; int3 is the padding after a function. None that works on
// vectors lacks the v: while the upper halves of registers are in use, each of those can cost hundreds of cycles. On
// a Zen 3, eight of them made a kernel seven times as slow.
var amd64Known = strings.Fields(`
	mov movabs lea add sub dec shr jne ret int3
	vmovdqu vmovdqu64 vmovdqa64 vmovq vpbroadcastd vpbroadcastw vzeroupper
	vpxor vpxord vpor vpternlogd vpaddw vpmulhuw vpsubw vpsllw vpsrlw vpshldw vpshrdw vpshufb
	vpunpcklwd vpunpckhwd vpunpckldq vpunpckhdq vpunpcklqdq vpunpckhqdq`)

func (amd64) known(mnemonic string) bool { return slices.Contains(amd64Known, mnemonic) }

func (amd64) calls(i instruction) bool { return strings.HasPrefix(i.mnemonic, "call") }

func (amd64) branch(i instruction) (bool, string) {
	if strings.HasPrefix(i.mnemonic, "loop") || strings.HasPrefix(i.mnemonic, "jrcx") {
		return true, "%rcx"
	}
	return strings.HasPrefix(i.mnemonic, "j") && !strings.HasPrefix(i.mnemonic, "jmp"), ""
}

// amd64Flags are instructions that set the flags.
var amd64Flags = regexp.MustCompile(`^(?:(inc|dec|cmp|add|sub|test|neg|and|or|xor|shl|shr|sar|rol|ror|adc|sbb|bt|imul|mul)[bwlq]?|` +
	`(?:vptest|vtest|ktest|kortest|ucomis|comis|bs|tzcnt|lzcnt|popcnt).*)$`)

func (amd64) compared(i instruction) (string, bool) {
	m := amd64Flags.FindStringSubmatch(i.mnemonic)
	if m == nil {
		return "", false
	}
	parts := split(i.operands)
	first, last := wide(parts[0]), wide(parts[len(parts)-1])
	switch m[1] {
	case "inc", "dec":
		return last, true
	case "cmp", "add", "sub":
		if strings.HasPrefix(first, "$") {
			return last, true
		}
		if i.operands == "0x10(%r14),%rsp" { // the stack's limit
			return "%rsp", true
		}
	case "test":
		if first == last {
			return last, true
		}
	}
	return "", true
}

func (amd64) addresses(i instruction) (bases, indexes []string) {
	if strings.HasPrefix(i.mnemonic, "lea") || strings.HasPrefix(i.mnemonic, "nop") {
		return nil, nil
	}
	for _, m := range amd64Memory.FindAllStringSubmatch(i.operands, -1) {
		if m[1] != "" {
			bases = append(bases, m[1])
		}
		if m[2] != "" {
			indexes = append(indexes, m[2])
		}
	}
	return bases, indexes
}

func (amd64) written(i instruction) (register string, constant bool) {
	parts := split(i.operands)
	first, last := parts[0], wide(parts[len(parts)-1])
	if !strings.HasPrefix(last, "%r") || strings.HasPrefix(i.mnemonic, "cmp") || strings.HasPrefix(i.mnemonic, "test") {
		return "", true
	}
	switch i.mnemonic {
	case "mov":
		constant = strings.HasPrefix(first, "$") || strings.HasSuffix(first, "(%rsp)")
	case "add", "sub":
		constant = strings.HasPrefix(first, "$")
	case "xor":
		constant = wide(first) == last
	case "inc", "dec", "pop", "push":
		constant = true
	case "lea":
		constant = strings.Contains(first, "(%rip)")
	}
	return last, constant
}

func (amd64) copied(instruction) string { return "" }

func (g amd64) loads(i instruction) bool {
	_, constant := g.written(i)
	return constant && (i.mnemonic == "mov" && strings.HasPrefix(i.operands, "$") || i.mnemonic == "xor")
}

func (amd64) fixed(register string) bool {
	return register == "%rsp" || register == "%rip" || register == "%r14"
}

// wide returns the 64-bit name of a general register, and other operands as they are.
func wide(operand string) string {
	if m := amd64Narrow.FindStringSubmatch(operand); m != nil {
		if m[2] != "" {
			return "%r" + m[2]
		}
		return "%r" + m[1]
	}
	return operand
}

var amd64Narrow = regexp.MustCompile(`^%(?:[er]?(ax|bx|cx|dx|si|di|bp|sp)|r(\d+)[dwb]?)$`)
