package main

import (
	"regexp"
	"slices"
	"strings"
)

// amd64 reads the AT&T syntax: the destination comes last, memory is displacement(base,index,scale).
type amd64 struct{}

var amd64Memory = regexp.MustCompile(`\((%\w+)?(?:,(%\w+),\d)?\)`)

// amd64Known has int3 for the padding after a function. It has no vector instruction without the v:
// where the upper halves of registers are in use, each of those can cost hundreds of cycles (seen on a
// Zen 3: eight of them made a kernel seven times as slow).
var amd64Known = strings.Fields(`
	mov movabs lea add sub dec shr jne ret int3
	vmovdqu vmovdqu64 vmovdqa64 vmovq vpbroadcastd vpbroadcastw vzeroupper
	vpxor vpxord vpor vpternlogd vpaddw vpsubw vpsllw vpsrlw vpshldw vpshrdw vpshufb
	vpunpcklwd vpunpckhwd vpunpckldq vpunpckhdq vpunpcklqdq vpunpckhqdq`)

func (amd64) known(mnemonic string) bool { return slices.Contains(amd64Known, mnemonic) }

func (amd64) calls(i instruction) bool { return strings.HasPrefix(i.mnemonic, "call") }

func (amd64) branch(i instruction) (bool, string) {
	if strings.HasPrefix(i.mnemonic, "loop") || strings.HasPrefix(i.mnemonic, "jrcx") {
		return true, "%rcx"
	}
	return strings.HasPrefix(i.mnemonic, "j") && !strings.HasPrefix(i.mnemonic, "jmp"), ""
}

func (g amd64) compared(i instruction) (string, bool) {
	parts := split(i.operands)
	last := wide(parts[len(parts)-1])
	constant := strings.HasPrefix(parts[0], "$")
	switch stem := strings.TrimRight(i.mnemonic, "bwlq"); stem {
	case "dec", "inc":
		return last, true
	case "cmp", "add", "su": // sub without its b
		switch {
		case constant:
			return last, true
		case i.operands == "0x10(%r14),%rsp": // the stack's limit
			return "%rsp", true
		}
		return "", true
	case "test":
		if wide(parts[0]) == last {
			return last, true
		}
		return "", true
	case "neg", "and", "or", "xor", "sh", "shr", "sar", "ro", "ror", "adc", "sb", "bt", "imu", "mu":
		return "", true
	}
	for _, prefix := range []string{"vptest", "vtest", "kortest", "ktest", "ucomis", "comis", "bs", "tzcnt", "lzcnt", "popcnt"} {
		if strings.HasPrefix(i.mnemonic, prefix) {
			return "", true
		}
	}
	return "", false
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

func (g amd64) written(i instruction) (registers []string, constant bool) {
	parts := split(i.operands)
	last := wide(parts[len(parts)-1])
	if !strings.HasPrefix(last, "%r") || strings.HasPrefix(i.mnemonic, "cmp") || strings.HasPrefix(i.mnemonic, "test") {
		return nil, true
	}
	first := parts[0]
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
	return []string{last}, constant
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
