package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// A flagSet reads the flags and operands of one command.
type flagSet struct {
	*flag.FlagSet
	usage string // what -h prints
}

// newFlags returns a flag set without flags for a command such as "lease list".
func newFlags(command, usage string) *flagSet {
	fs := &flagSet{flag.NewFlagSet(command, flag.ContinueOnError), usage}
	fs.SetOutput(io.Discard)
	return fs
}

// path defines a flag that names a file or a directory. An empty name, as an unset variable in a
// script leaves it, is refused: it must not mean the default.
func (fs *flagSet) path(target *string, name string) {
	fs.Func(name, "", func(value string) error {
		if value == "" {
			return errors.New("want a name, not an empty string")
		}
		*target = value
		return nil
	})
}

// choice defines a flag that takes one of some words.
func (fs *flagSet) choice(target *string, name string, words ...string) {
	*target = words[0]
	fs.Func(name, "", func(value string) error {
		for _, word := range words {
			if value == word {
				*target = value
				return nil
			}
		}
		return fmt.Errorf("want %s", oneOf(words))
	})
}

// oneOf lists words, of which there are at least two.
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// parse reads args and returns the operands, which may stand before, between and after flags. A
// negative number is an operand, and so is all that follows "--". When help is asked for, parse
// prints it and returns flag.ErrHelp.
func (fs *flagSet) parse(t *tool, args []string) (operands []string, err error) {
	for len(args) > 0 {
		first := args[0]
		switch {
		case first == "--":
			return append(operands, args[1:]...), nil
		case !strings.HasPrefix(first, "-") || first == "-" || isNegative(first):
			operands = append(operands, first)
			args = args[1:]
			continue
		}
		// Package flag goes as far as it can: up to an operand that it knows as one.
		end := 1
		for end < len(args) && args[end] != "--" && (!isNegative(args[end]) || fs.takesValue(args[end-1])) {
			end++
		}
		if err := fs.Parse(args[:end]); err != nil {
			return nil, fs.explain(t, err)
		}
		args = append(fs.Args(), args[end:]...)
	}
	return operands, nil
}

// parseAll is parse for a command without operands.
func (fs *flagSet) parseAll(t *tool, args []string) error {
	operands, err := fs.parse(t, args)
	if err == nil && len(operands) > 0 {
		err = fs.wrong("unexpected argument %q", operands[0])
	}
	return err
}

func (fs *flagSet) explain(t *tool, err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return cmp.Or(t.print(fs.usage), flag.ErrHelp)
	}
	return fs.wrong("%v", err)
}

// wrong returns a usage error.
func (fs *flagSet) wrong(format string, args ...any) error {
	return usageError(fmt.Sprintf("%s: %s: see randflake %s -h", fs.Name(), fmt.Sprintf(format, args...), fs.Name()))
}

// takesValue reports whether arg is a flag whose value is the next argument.
func (fs *flagSet) takesValue(arg string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	if name == arg {
		return false
	}
	f := fs.Lookup(name)
	if f == nil {
		return false
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag()
}

// isNegative reports whether arg is a minus sign with digits.
func isNegative(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && isDecimal(arg[1:])
}

// isDecimal reports whether text is decimal digits and nothing else.
func isDecimal(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
