package prove

import (
	"regexp"
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
		for _, comment := range []string{"# ", "//", " <"} {
			operands, _, _ = strings.Cut(operands, comment)
		}
		f := &functions[len(functions)-1]
		f.instructions = append(f.instructions, instruction{address, m[2], strings.TrimSpace(operands)})
	}
	return functions
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
