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
)

func (t *tool) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "say what this is and what it runs on",
		Long: `Print the version, the kinds of lease stores and of IDs that this program has,
the implementation of the cipher in use and what it runs on.`,
		Example: "  randflake version",
		Args:    noOperands,
		RunE: func(*cobra.Command, []string) error {
			return t.print(fmt.Sprintf("randflake %s\nstores    %s\nkinds     %s\nbackend   %s\ncpu       %s\ngo        %s\nplatform  %s/%s\n",
				version(), strings.Join(t.schemes(), " "), strings.Join(kindNames, " "), randflake.Backend(),
				cmp.Or(cpuid.CPU.BrandName, runtime.GOARCH), runtime.Version(), runtime.GOOS, runtime.GOARCH))
		},
	}
}

// version returns the module's version as the go command knows it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}
