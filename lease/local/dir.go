package local

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Dir returns the directory that holds the secret and the space of the IDs called name:
// randflake/name in the user's state directory, which is $XDG_STATE_HOME or ~/.local/state, on
// macOS ~/Library/Application Support, on Windows %LocalAppData%. A name has 1 to 100 lower-case
// letters, digits, hyphens and underscores. The command randflake uses the name "default", and for
// layouts of Snowflake IDs with 1024 workers "snowflake-1024".
func Dir(name string) (string, error) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-_"
	if len(name) < 1 || len(name) > 100 || strings.Trim(name, letters) != "" {
		return "", fmt.Errorf("randflake: %q can't name IDs: "+
			"want 1 to 100 lower-case letters, digits, hyphens and underscores", name)
	}
	home, err := stateHome()
	if err != nil {
		return "", fmt.Errorf("randflake: no directory for secret and space: %w", err)
	}
	return filepath.Join(home, "randflake", name), nil
}

// stateHome returns the directory in which each program has a directory for its state.
func stateHome() (string, error) {
	switch runtime.GOOS {
	case "windows":
		return os.UserCacheDir() // %LocalAppData%
	case "darwin", "ios":
		return os.UserConfigDir() // ~/Library/Application Support
	}
	// The XDG base directory specification says to ignore relative names.
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	dir, err := os.UserHomeDir()
	if err == nil && !filepath.IsAbs(dir) {
		err = fmt.Errorf("the home directory %q is not an absolute path, "+
			"so each working directory would have IDs of its own", dir)
	}
	return filepath.Join(dir, ".local", "state"), err
}
