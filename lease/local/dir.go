package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/randflake/randflake/lease/internal/localfile"
)

// Dir returns the directory that holds the secret and the space of the IDs called name: randflake/name in the user's
// state directory, which is $XDG_STATE_HOME or ~/.local/state, on macOS ~/Library/Application Support, on Windows
// %LocalAppData%. A name has 1 to 100 lower-case letters, digits, hyphens and underscores. The command randflake uses
// the name "default", and for layouts of Snowflake IDs with 1024 workers "snowflake-1024".
func Dir(name string) (string, error) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-_"
	if len(name) < 1 || len(name) > 100 || strings.Trim(name, letters) != "" {
		return "", fmt.Errorf("randflake: %q can't name IDs: want 1 to 100 lower-case letters, digits, hyphens and underscores", name)
	}
	home, err := stateHome()
	if err != nil {
		return "", fmt.Errorf("randflake: no directory for secret and space: %w", err)
	}
	return filepath.Join(home, "randflake", name), nil
}

// stateHome returns the directory in which programs keep their state, each in a directory of its own.
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
		err = fmt.Errorf("the home directory %q is not an absolute path, so each working directory would have IDs of its own", dir)
	}
	return filepath.Join(dir, ".local", "state"), err
}

// isVacant reports whether dir does not exist or is empty.
func isVacant(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return len(entries) == 0, err
}

// makeDirs is os.MkdirAll, but makes the new directories durable.
func makeDirs(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDirs(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return localfile.SyncDir(parent)
}
