package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/klauspost/cpuid/v2"
	"github.com/randflake/randflake"
)

const versionUsage = `Usage: randflake version

Prints the version, the kinds of lease stores and of IDs that this program has, the implementation of
the cipher in use and what it runs on.
`

func (t *tool) runVersion(_ context.Context, args []string) error {
	if err := newFlags("version", versionUsage).parseAll(t, args); err != nil {
		return err
	}
	return t.print(fmt.Sprintf("randflake %s\nstores    %s\nkinds     %s\nbackend   %s\ncpu       %s\ngo        %s\nplatform  %s/%s\n",
		version(), strings.Join(t.schemes(), " "), strings.Join(kindNames, " "), randflake.Backend(), cmp.Or(cpuid.CPU.BrandName, runtime.GOARCH), runtime.Version(), runtime.GOOS, runtime.GOARCH))
}

// version returns the module's version as the go command knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}
