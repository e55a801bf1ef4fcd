package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// ServersProgram is the name of the full program: the light program plus the clients for all servers.
const ServersProgram = "randflake-servers"

// handedOver tells the full program which version of the light one has started it.
const handedOver = "RANDFLAKE_HANDED_OVER"

const remedy = "go install github.com/randflake/randflake/cmd/randflake/...@latest, or in a clone: go install ./cmd/randflake/..."

// handOver runs the full program with the same command line. It returns only if that program can't be started. Call it
// before anything is read, written or changed.
func handOver() error {
	path, err := findServers()
	if err != nil {
		return err
	}
	os.Setenv(handedOver, version())
	return fmt.Errorf("start %s: %w", path, become(path, os.Args))
}

// findServers finds the full program, next to this program or else in PATH.
func findServers() (string, error) {
	name := ServersProgram
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if own, err := os.Executable(); err == nil {
		if linked, err := filepath.EvalSymlinks(own); err == nil {
			own = linked
		}
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(own), name)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("this needs the program %s, which has the clients for servers, but it is neither beside this program nor in PATH: install both: %s", ServersProgram, remedy)
	}
	return path, nil
}

// checkHandover returns an error if a light program started this program, and this program is not the full program or
// has another version. A program that was built without a version, for instance by go run, fits all versions.
func checkHandover(full bool, own string) error {
	from, started := os.LookupEnv(handedOver)
	os.Unsetenv(handedOver) // for programs that this one starts
	switch {
	case !started:
		return nil
	case !full:
		return fmt.Errorf("%s is the program without the clients for servers, under another name: install both: %s", ServersProgram, remedy)
	case from != own && isRelease(from) && isRelease(own):
		return fmt.Errorf("this is version %s, but it was started by randflake version %s: want the same version: install both: %s", own, from, remedy)
	}
	return nil
}

// isRelease reports whether version names the program's source: a release or a commit, and not (devel).
func isRelease(version string) bool { return strings.HasPrefix(version, "v") }
