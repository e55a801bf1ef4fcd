package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/file"
)

// TestCreateRace: of many who create at once one makes the directory, and all find the same whole one.
func TestCreateRace(t *testing.T) {
	const racers = 8
	for name, prepare := range map[string]func(dir string) error{
		"no directory":    func(string) error { return nil },
		"an empty one":    func(dir string) error { return os.MkdirAll(dir, 0o700) },
		"a symbolic link": func(dir string) error { return link(t.TempDir(), dir) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(isolate(t), strings.Repeat("deep/", 12), "ids") // so that two are in each other's way somewhere
			if err := prepare(dir); err != nil {
				t.Skip(err)
			}
			var made atomic.Int32
			var group sync.WaitGroup
			for range racers {
				group.Go(func() {
					if won, err := Create(dir); err != nil {
						t.Error(err)
					} else if won {
						made.Add(1)
					}
					require.Done(t)(ReadSecret(filepath.Join(dir, secretName)))
					require.NoError(t, openSpace(t, dir))
				})
			}
			group.Wait()
			require.Equal(t, made.Load(), 1, "who made it")
			around, err := os.ReadDir(filepath.Dir(dir))
			require.That(t, err == nil && len(around) == 1, "left behind: %v, %v", around, err)
			if info, err := os.Stat(filepath.Dir(dir)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
				t.Errorf("the directory above: %v, %v, want mode 0700", info, err)
			}
		})
	}
}

func link(target, name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.Symlink(target, name)
}

// TestCreateLeavesWhatIsThere: something else in the directory stays, and nothing is added.
func TestCreateLeavesWhatIsThere(t *testing.T) {
	dir := isolate(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "notes"), 0o700))
	for name, create := range map[string]func(string) (bool, error){"Create": Create, "CreateSpace": createSpace} {
		made, err := create(dir)
		entries, _ := os.ReadDir(dir)
		require.That(t, !made && err == nil && len(entries) == 1, "%s: %v, %v, %v", name, made, err, entries)
	}
	dir = filepath.Join(t.TempDir(), "space")
	if made, err := createSpace(dir); !made || err != nil {
		t.Fatal(made, err)
	}
	require.NoError(t, openSpace(t, dir))
	_, err := os.Stat(filepath.Join(dir, secretName))
	require.That(t, os.IsNotExist(err), "CreateSpace made a secret: %v", err)
}

func createSpace(dir string) (bool, error) { return CreateSpace(dir, lease.Limits{Nodes: 1024}) }

func openSpace(t *testing.T, dir string) error {
	engine, err := file.New(dir)
	if err == nil {
		_, err = lease.Open(t.Context(), engine, lease.Config{})
	}
	return err
}

// TestCreateFails: what can't be filled isn't made, and nothing is left behind.
func TestCreateFails(t *testing.T) {
	parent, failed := t.TempDir(), errors.New("no space left")
	made, err := create(filepath.Join(parent, "shop"), func(dir string) error {
		return errors.Join(failed, os.WriteFile(filepath.Join(dir, secretName), []byte("half"), 0o600))
	})
	left, readErr := os.ReadDir(parent)
	require.That(t, !made && errors.Is(err, failed) && len(left) == 0 && readErr == nil,
		"%v, %v, left behind: %v, %v", made, err, left, readErr)
	require.NoError(t, os.WriteFile(filepath.Join(parent, secretName), nil, 0o600))
	require.ErrorIs(t, fillWithSecret(parent), fs.ErrExist, "a space beside a secret that is not its own")
	made, err = rename(filepath.Join(parent, "gone"), filepath.Join(parent, "shop"))
	require.That(t, !made && errors.Is(err, fs.ErrNotExist), "after somebody removed it: %v, %v", made, err)
}

func TestCreateWhereNothingCanBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	dir := filepath.Join(file, "shop")
	made, err := Create(dir)
	require.That(t, !made && err != nil && strings.Contains(err.Error(), dir), "below a file: %v, %v", made, err)
	t.Setenv("XDG_STATE_HOME", file)
	t.Setenv("HOME", file)
	if keeper, err := Keep(t.Context(), "shop"); keeper != nil || err == nil || !strings.Contains(err.Error(), "state directory") {
		t.Errorf("Keep below a file: %v, %v", keeper, err)
	}
}
