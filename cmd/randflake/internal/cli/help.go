package cli

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
)

// manual is what help shows: a page for each command, and for topics such as stores. A page is a
// heading with the command, a text and, for most, examples.
//
//go:embed help.txt
var manual string

func explain(root *cobra.Command) {
	for page := range strings.SplitSeq(strings.TrimPrefix(manual, "# "), "\n# ") {
		name, text, _ := strings.Cut(page, "\n")
		cmd, _, err := root.Find(strings.Fields(name)[1:])
		if err != nil || cmd.CommandPath() != name {
			panic("a page about no command: " + name)
		}
		long, examples, _ := strings.Cut(text, "Examples:\n")
		cmd.Long = strings.Trim(long, "\n")
		cmd.Example = strings.TrimRight(examples, "\n")
	}
}

// refuseUnknownTopics makes "randflake help NAME" fail if there is no page with that name, where
// cobra shows some other page.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // never: it is there
	}
	show := help.Run
	help.Run = nil
	help.RunE = func(cmd *cobra.Command, args []string) error {
		found, rest, _ := root.Find(args) // found is as much of args as is there
		if len(rest) > 0 {
			return wrong(found, "there is no help about %q%s", rest[0], similar(found, rest[0]))
		}
		show(cmd, args)
		return nil
	}
}
