package randflake

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// promised returns the backends that the CPU's own flags promise, the preferred one first. Where
// emulation shows the flags of another CPU, the environment variable RANDFLAKE_BACKENDS names them.
func promised(t *testing.T) []string {
	if names, ok := os.LookupEnv("RANDFLAKE_BACKENDS"); ok {
		return strings.Fields(names)
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skipf("no list of CPU flags to compare with: %v", err)
	}
	var flags []string
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && (strings.HasPrefix(key, "flags") || strings.HasPrefix(key, "Features")) {
			flags = strings.Fields(value)
			break
		}
	}
	has := func(names ...string) bool {
		for _, name := range names {
			if !slices.Contains(flags, name) {
				return false
			}
		}
		return len(flags) > 0
	}
	var list []string
	switch runtime.GOARCH {
	case "amd64":
		if has("avx512f", "avx512bw", "avx512vl", "avx512_vbmi2") {
			list = append(list, "avx512")
		}
		if has("avx2") {
			list = append(list, "avx2")
		}
	case "arm64":
		if has("sve2") {
			list = append(list, "sve2")
		}
		if has("asimd") {
			list = append(list, "neon")
		}
	}
	return append(list, "generic")
}

// A test that compares generic with itself because no other backend was selected proves nothing.
func TestBackendsAreThosePromised(t *testing.T) {
	var got []string
	for _, b := range backends() {
		got = append(got, b.String())
	}
	want := promised(t)
	if !hasAssembly {
		want = []string{"generic"}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("backends %v, the CPU promises %v", got, want)
	}
	t.Logf("in use: %s, of %v", Backend(), got)
	for _, name := range map[string][]string{"amd64": {"avx512", "avx2"}, "arm64": {"sve2", "neon"}}[runtime.GOARCH] {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(got, name) {
				t.Skip("this CPU does not have it")
			}
		})
	}
}
