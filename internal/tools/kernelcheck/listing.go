package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A function is a piece of objdump's listing.
type function struct {
	name         string
	instructions []instruction
}

type instruction struct {
	address  uint64
	mnemonic string
	operands string // without comments and symbols
	symbol   string // what a call or a jump goes to, if objdump names it
}

var (
	header = regexp.MustCompile(`^([0-9a-f]+) <(.+)>:$`)
	line   = regexp.MustCompile(`^\s*([0-9a-f]+):\t\s*(\S+)\s*(.*)$`)
)

// parse reads a listing.
func parse(listing string) []function {
	var functions []function
	for text := range strings.Lines(listing) {
		text = strings.TrimRight(text, "\n")
		if m := header.FindStringSubmatch(text); m != nil {
			functions = append(functions, function{name: m[2]})
			continue
		}
		m := line.FindStringSubmatch(text)
		if m == nil || len(functions) == 0 {
			continue
		}
		address, _ := strconv.ParseUint(m[1], 16, 64)
		operands := m[3]
		_, symbol, _ := strings.Cut(operands, " <")
		symbol, _, _ = strings.Cut(symbol, ">")
		for _, comment := range []string{"# ", "//", " <"} {
			operands, _, _ = strings.Cut(operands, comment)
		}
		f := &functions[len(functions)-1]
		f.instructions = append(f.instructions, instruction{address, m[2], strings.TrimSpace(operands), symbol})
	}
	return functions
}

const pkg = "github.com/randflake/randflake."

var kernelName = regexp.MustCompile(`^(encrypt|decrypt|run)[0-9]+(AVX512|AVX2|NEON|SVE2)\.abi0$`)

// isKernel reports whether a symbol is a kernel in assembly.
func isKernel(symbol string) bool {
	name, ok := strings.CutPrefix(symbol, pkg)
	return ok && kernelName.MatchString(name)
}

// compiledNames are the functions of the generic backend that see keys and data, apart from loops over slices. What
// they call is inlined.
var compiledNames = []string{"encryptBlock", "decryptBlock", "encryptStepLanes", "decryptStepLanes"}

func isCompiled(symbol string) bool {
	name, ok := strings.CutPrefix(symbol, pkg)
	return ok && slices.Contains(compiledNames, name)
}
