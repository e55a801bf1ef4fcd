package cli

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/klauspost/cpuid/v2"
	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/url"
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
	}, t.versionCommand(),
		&cobra.Command{Use: "stores", Short: "what --store and --secret-file mean", Long: storesHelp},
		&cobra.Command{Use: "kinds", Short: "kinds, layouts and formats of IDs", Long: kindsHelp})
	root.SetIn(t.stdin)
	root.SetOut(t.stdout)
	root.SetErr(t.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return wrong(cmd, "%v", err) })
	add := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, cmd := range commands {
			cmd.GroupID = id
		}
		root.AddCommand(commands...)
	}
	add("ids", "IDs and numbers:", t.newCommand(), t.inspectCommand(), t.auditCommand(), t.convertCommand(), t.maskCommand(), t.unmaskCommand(), t.rangeCommand(), t.sqlCommand(), t.nextCommand())
	add("keys", "Secrets, stores and counters:", t.secretCommand(), t.storeCommand(), t.counterCommand())
	refuseUnknownTopics(root)
	return root
}

// refuseUnknownTopics makes "help" fail for what there is no help about.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // never: it is there
	}
	show := help.Run
	help.Run = nil
	help.RunE = func(cmd *cobra.Command, args []string) error {
		found, rest, _ := root.Find(args) // the longest part that is there
		if len(rest) > 0 {
			return wrong(found, "there is no help about %q%s", rest[0], guess(found, rest[0]))
		}
		show(cmd, args)
		return nil
	}
}

// group completes a command with subcommands: alone it prints its help.
func group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(commands...)
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return wrong(cmd, "unknown command %q%s", args[0], guess(cmd, args[0]))
	}
	return cmd
}

// guess returns which subcommands may be meant by a name that none has, for an error, or "".
func guess(cmd *cobra.Command, name string) string {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		return " (is it " + strings.Join(near, " or ") + "?)"
	}
	return ""
}

func (t *tool) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "print the version and the platform",
		Example: "  randflake version",
		Args:    noOperands,
		RunE: func(*cobra.Command, []string) error {
			return t.print("randflake %s\nstores    %s\nkinds     %s\nbackend   %s\ncpu       %s\ngo        %s\nplatform  %s/%s\n",
				version(), strings.Join(url.Schemes(), " "), strings.Join(kindNames, " "), randflake.Backend(),
				cmp.Or(cpuid.CPU.BrandName, runtime.GOARCH), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}

// linked is set by the linker where the go command does not know the version, as in an image.
var linked string

// version returns the module's version as the go command knows it.
func version() string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}

const storesHelp = `All programs that make IDs with one secret must share one store. A store refuses
other secrets. Without --store both are in your state directory, made by the
first "randflake new": randflake/default in $XDG_STATE_HOME or ~/.local/state,
on macOS in ~/Library/Application Support, on Windows in %LocalAppData%. It
serves this machine; a copy on another machine repeats IDs.

Make other stores with "randflake store init", and move to another one with
"randflake store move". STORE is DIR or (with @ = : in it) file:DIR on a local
disk, or a URL; ?space=NAME names one of several spaces:

  postgres://USER@HOST/DATABASE              etcd://HOST:2379, etcds://...
  mysql:// or mariadb://USER@HOST/DATABASE   redis://HOST:6379, rediss://...
  s3://BUCKET/PREFIX?region=REGION           kubernetes:NAMESPACE/NAME
  sqlite:FILE, shared on this machine

RANDFLAKE_STORE, or the file that RANDFLAKE_STORE_FILE names, replaces --store,
to keep passwords off the command line. The secret is the first that exists of:

  --secret-file FILE       32 hexadecimal digits, or base64 of 16 bytes
  RANDFLAKE_SECRET         the secret itself; not together with the next one
  RANDFLAKE_SECRET_FILE    the name of such a file
  "secret"                 a file in the store's directory

With --store DIR the variables are ignored: DIR has its own secret. A file must
not be readable by others, unless it is in memory and mounted read-only.`

const kindsHelp = `  randflake   64 bits that look random: up to 13 digits of base32hex
  snowflake   up to 64 bits that sort by time and show it: decimal
  ulid        128 bits that sort by time and show it: 26 digits; no lease

Layouts of Snowflake IDs are twitter, worker10, discord, instagram, sonyflake,
sonyflake2, mastodon, tsid, yitter, unix, baidu, node8, javascript53, or a
definition: "NAME: time 41, worker 10, sequence 12; 1ms since
2025-01-01T00:00:00Z".

Their worker numbers come from a store, and there is no secret. All programs
that make IDs in one ID space must share one store. Without --store it is
randflake/snowflake-1024 for layouts with 1024 workers, and so on. They share
its worker numbers, so where they are few a call may have to wait a minute. It
knows no other programs: to make IDs beside those of a service, name its store.

Formats, one ID a line except binary:

  text     as above; json is the same as a JSON string
  int      decimal, signed for randflake; not for ulid
  hex      0x and 16 digits; not for ulid
  binary   8 bytes, little-endian, for snowflake big-endian; 16 bytes for ulid
  base32, base58, base62   for snowflake: digits that sort as the IDs do
  uuid     for ulid: as a UUID`
