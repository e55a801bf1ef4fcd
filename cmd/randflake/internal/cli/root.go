package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/klauspost/cpuid/v2"
	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/url"
)

func (t *tool) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "randflake",
		Short:         "unique IDs: 64 bits that look random, or IDs that sort by time",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	stores := &cobra.Command{Use: "stores", Short: "what --store and --secret-file mean"}
	kinds := &cobra.Command{Use: "kinds", Short: "kinds, layouts and formats of IDs"}
	group(root, t.versionCommand(), stores, kinds)
	root.SetErr(t.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return wrong(cmd, "%v", err) })
	add := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, cmd := range commands {
			cmd.GroupID = id
		}
		root.AddCommand(commands...)
	}
	add("ids", "IDs and numbers:",
		t.newCommand(),
		t.inspectCommand(),
		t.analyzeCommand(),
		t.convertCommand(),
		t.maskCommand(),
		t.unmaskCommand(),
		t.rangeCommand(),
		t.sqlCommand(),
		t.nextCommand())
	add("keys", "Secrets, stores and counters:",
		t.secretCommand(),
		t.storeCommand(),
		t.counterCommand())
	explain(root)
	refuseUnknownTopics(root)
	return root
}

// group completes a command with subcommands: alone it prints its help.
func group(parent *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	parent.AddCommand(commands...)
	parent.Args = cobra.ArbitraryArgs
	parent.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return wrong(cmd, "unknown command %q%s", args[0], similar(cmd, args[0]))
	}
	return parent
}

// similar returns, for an error, which subcommands may be meant by a name that none has, or "".
func similar(cmd *cobra.Command, name string) string {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		return " (is it " + strings.Join(near, " or ") + "?)"
	}
	return ""
}

func (t *tool) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version and the platform",
		Args:  noOperands,
		RunE: func(*cobra.Command, []string) error {
			var b strings.Builder
			fmt.Fprintf(&b, "randflake %s\n", version())
			fmt.Fprintf(&b, "stores    %s\n", strings.Join(url.Schemes(), " "))
			fmt.Fprintf(&b, "kinds     %s\n", strings.Join(kindNames, " "))
			fmt.Fprintf(&b, "backend   %s\n", randflake.Backend())
			fmt.Fprintf(&b, "cpu       %s\n", cmp.Or(cpuid.CPU.BrandName, runtime.GOARCH))
			fmt.Fprintf(&b, "go        %s\n", runtime.Version())
			fmt.Fprintf(&b, "platform  %s/%s\n", runtime.GOOS, runtime.GOARCH)
			return t.print("%s", b.String())
		},
	}
}

// linked is set by the linker where the go command does not know the version, as in an image.
var linked string

func version() string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}
