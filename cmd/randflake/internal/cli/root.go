package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// root returns the root command, with all other commands below it.
func (t *tool) root() *cobra.Command {
	root := group(&cobra.Command{
		Use:   "randflake",
		Short: "unique IDs: 64 bits that look random, or IDs that sort by time",
		Long: `Unique IDs: 64 bits that look random, or IDs that sort by time.

The exit status is 0, 1 if something failed, or 2 if the command line was wrong.
A command that a signal stops ends by that signal.`,
		Example:       "  randflake inspect $(randflake new)",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	root.SetIn(t.stdin)
	root.SetOut(t.stdout)
	root.SetErr(t.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return wrong(cmd, "%v", err) })
	root.AddGroup(&cobra.Group{ID: "ids", Title: "IDs and numbers:"}, &cobra.Group{ID: "keys", Title: "Secrets, stores and counters:"})
	for id, commands := range map[string][]*cobra.Command{
		"ids":  {t.newCommand(), t.inspectCommand(), t.convertCommand(), t.maskCommand(), t.unmaskCommand(), t.rangeCommand(), t.sqlCommand(), t.nextCommand()},
		"keys": {t.secretCommand(), t.storeCommand(), t.counterCommand()},
		"":     {t.versionCommand()},
	} {
		for _, cmd := range commands {
			cmd.GroupID = id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(topics()...)
	refuseUnknownTopics(root)
	return root
}

// refuseUnknownTopics makes "help" fail for what there is no help about. Help never runs anything.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // never: it is there
	}
	show := help.Run
	help.Run = nil
	help.RunE = func(cmd *cobra.Command, args []string) error {
		found, rest, err := root.Find(args)
		if err == nil && len(rest) == 0 {
			show(cmd, args)
			return nil
		}
		if found == nil || len(rest) == 0 {
			found, rest = root, args
		}
		path := strings.TrimPrefix(found.CommandPath(), "randflake")
		near := found.SuggestionsFor(rest[0])
		if len(near) == 0 {
			near = []string{""}
		}
		for i, name := range near {
			near[i] = strings.TrimSpace("randflake help" + path + " " + name)
		}
		return usageError(fmt.Sprintf("help: there is none about %q: see %s", strings.Join(args, " "), strings.Join(near, " or ")))
	}
}

// group completes a command that has subcommands: without a subcommand it prints its help.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		guess := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			guess = " (is it " + strings.Join(near, " or ") + "?)"
		}
		return wrong(cmd, "unknown command %q%s", args[0], guess)
	}
	return cmd
}

// noOperands refuses all operands.
func noOperands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return wrong(cmd, "unexpected argument %q", strings.TrimSpace(args[0]))
}
