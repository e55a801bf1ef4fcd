package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// A value makes a flag, as the interface of cobra wants it: set parses its text, and help shows its name.
type value struct {
	name string
	set  func(text string) error
}

func (v value) Set(text string) error { return v.set(text) }
func (v value) String() string        { return "" }
func (v value) Type() string          { return v.name }

// pathFlag defines a flag that names a file or a directory. White space around a name is refused, and so is an empty
// name: it often comes from an unset variable in a script, and must not mean the default.
func pathFlag(cmd *cobra.Command, target *string, name, short, kind, usage string) {
	cmd.Flags().VarP(value{kind, func(text string) error {
		if text == "" || strings.TrimSpace(text) != text {
			return errors.New("want a name, not an empty string or white space around one")
		}
		*target = text
		return nil
	}}, name, short, usage)
}

func storeFlag(cmd *cobra.Command, h *home) {
	pathFlag(cmd, &h.store, "store", "", "STORE", "the store: see randflake help stores")
}

func secretFlag(cmd *cobra.Command, from *secretSource) {
	pathFlag(cmd, &from.file, "secret-file", "", "FILE", "the secret: see randflake help stores")
}

func choiceFlag(cmd *cobra.Command, target *string, name, short, kind, usage string, words ...string) {
	cmd.Flags().VarP(value{kind, func(text string) error {
		if !slices.Contains(words, text) {
			return fmt.Errorf("want %s", oneOf(words))
		}
		*target = text
		return nil
	}}, name, short, usage)
	complete(cmd, name, words)
}

// complete sets the words with which shells complete the value of a flag.
func complete(cmd *cobra.Command, name string, words []string) {
	completions := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	// Fails only if the flag does not exist, or already has completions.
	_ = cmd.RegisterFlagCompletionFunc(name, completions)
}

// oneOf lists at least two words.
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func numberFlag(cmd *cobra.Command, n *int64, name, short, usage string) {
	cmd.Flags().VarP(value{"NUMBER", func(text string) (err error) {
		*n, err = parseNumber(text)
		return err
	}}, name, short, usage)
}

func parseNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
	if err != nil || n < 1 {
		return 0, errors.New("want a whole number of 1 or more, in digits such as 1000000")
	}
	return n, nil
}

func jsonFlag(cmd *cobra.Command, target *bool) {
	cmd.Flags().BoolVar(target, "json", false, "print one JSON object per line")
}

// operands makes a command require one operand for each of names. Shells don't complete them.
func operands(cmd *cobra.Command, names ...string) {
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return wrong(cmd, "%s is missing", names[len(args)])
		}
		if i := slices.Index(args[:len(names)], ""); i >= 0 {
			return wrong(cmd, "%s is empty", names[i])
		}
		return noOperands(cmd, args[len(names):])
	}
}

func noOperands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return wrong(cmd, "unexpected argument %q", strings.TrimSpace(args[0]))
}
