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

func (t *tool) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version and the platform",
		Long: `Print the version, the kinds of stores and IDs that this program supports, the
implementation of the cipher in use, and the platform.`,
		Example: "  randflake version",
		Args:    noOperands,
		RunE: func(*cobra.Command, []string) error {
			return t.print(fmt.Sprintf("randflake %s\nstores    %s\nkinds     %s\nbackend   %s\ncpu       %s\ngo        %s\nplatform  %s/%s\n",
				version(), strings.Join(url.Schemes(), " "), strings.Join(kindNames, " "), randflake.Backend(),
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
