package local

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
)

// isolate gives the test a state home of its own and returns the directory of the IDs of "shop",
// which isn't there yet.
func isolate(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"XDG_STATE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, home)
	}
	dir, err := Dir("shop")
	require.Must(t, err == nil && strings.HasPrefix(dir, home), "%s, %v", dir, err)
	return dir
}

// logs has what is logged by default written to a buffer while the test runs.
func logs(t *testing.T) *bytes.Buffer {
	var buffer bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&buffer, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return &buffer
}

func quiet() lease.Option { return lease.WithLogger(slog.New(slog.DiscardHandler)) }

// makeOne keeps "shop", makes an ID and closes.
func makeOne(t *testing.T) (randflake.ID, *randflake.Cipher) {
	t.Helper()
	keeper, err := Keep(t.Context(), "shop", quiet())
	require.NoError(t, err)
	id, err := keeper.Generator().Generate()
	require.NoError(t, errors.Join(err, keeper.Close()))
	require.Refuses(t, randflake.ErrClosed, "after Close")(keeper.Generator().Generate())
	require.Refuses(t, fs.ErrClosed, "the space after Close")(keeper.space.Info(t.Context()))
	return id, keeper.Generator().Cipher()
}

// TestKeep: the first call makes secret and space and says where, once; later ones use them.
func TestKeep(t *testing.T) {
	dir, log := isolate(t), logs(t)
	first, cipher := makeOne(t)
	text := log.String()
	require.That(t, strings.Count(text, "\n") == 1 && strings.Contains(text, "made a new secret") && strings.Contains(text, filepath.Base(dir)),
		"logged at first use: %q", text)
	log.Reset()
	second, same := makeOne(t)
	require.That(t, log.Len() <= 0, "logged later: %q", log)
	require.That(t, first != second && same.Inspect(first) == cipher.Inspect(first),
		"%v and %v, which is %v and %v", first, second, cipher.Inspect(first), same.Inspect(first))
	info, err := os.Stat(filepath.Join(dir, "secret"))
	if err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("secret: %v, %v, want mode 0600", info, err)
	}
	other, err := Keep(t.Context(), "other", quiet())
	require.NoError(t, err)
	defer other.Close()
	require.That(t, other.Generator().Cipher().Inspect(first) != cipher.Inspect(first), "two names have one secret")
	again, err := Keep(t.Context(), "other", quiet())
	require.NoError(t, err)
	defer again.Close()
	require.That(t, again.Generator().Lease().FirstNode != other.Generator().Lease().FirstNode,
		"two keepers of one name have one node")
}

// TestKeepRefuses: what is wrong with a directory is said, with its name, and nothing in it is changed.
func TestKeepRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(dir string) error
		want   error
		said   string
	}{
		"no secret": {func(dir string) error {
			return os.Remove(filepath.Join(dir, "secret"))
		}, fs.ErrNotExist, "put the secret back"},
		"a secret that is none": {func(dir string) error {
			return os.Truncate(filepath.Join(dir, "secret"), 7)
		}, randflake.ErrInvalidSecret, "secret file"},
		"another secret": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "secret"), []byte(randflake.NewSecret().Hex()), 0o600)
		}, lease.ErrWrongSecret, "secret"},
		"no space": {func(dir string) error {
			files, err := filepath.Glob(filepath.Join(dir, "*"))
			for _, file := range files {
				if filepath.Base(file) != "secret" {
					err = errors.Join(err, os.Remove(file))
				}
			}
			return err
		}, lease.ErrNoSpace, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := isolate(t)
			logs(t)
			makeOne(t)
			require.NoError(t, c.breaks(dir))
			before, _ := filepath.Glob(filepath.Join(dir, "*"))
			keeper, err := Keep(t.Context(), "shop", quiet())
			wantErr(t, "Keep", err, c.want, c.said)
			wantErr(t, "Keep", err, c.want, dir)
			require.That(t, keeper == nil, "there is a keeper")
			after, _ := filepath.Glob(filepath.Join(dir, "*"))
			require.That(t, len(after) == len(before), "%v, then %v", before, after)
		})
	}
}

func TestDirRefuses(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "Shop", "ä", "a b", "shop.old", strings.Repeat("a", 101)} {
		dir, err := Dir(name)
		if err == nil || dir != "" {
			t.Errorf("%q: %s, %v", name, dir, err)
			continue
		}
		_, kept := Keep(t.Context(), name)
		require.That(t, kept != nil && kept.Error() == err.Error(), "%q: Keep: %v, and Dir: %v", name, kept, err)
	}
}

// TestDir: names of 1 to 100 characters, in $XDG_STATE_HOME or ~/.local/state. Relative names there
// are ignored, as the XDG base directory specification wants it.
func TestDir(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("XDG base directories are for other systems")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	for _, name := range []string{"a", "snowflake-1024", "_", strings.Repeat("a", 100)} {
		require.Gives(t, filepath.Join(state, "randflake", name), "Dir")(Dir(name))
	}
	t.Setenv("XDG_STATE_HOME", "state")
	require.Gives(t, filepath.Join(home, ".local", "state", "randflake", "shop"), "Dir")(Dir("shop"))
	t.Setenv("HOME", "")
	require.Says(t, "HOME", "without a home")(Dir("shop"))
	t.Setenv("HOME", "home")
	if dir, err := Dir("shop"); err == nil || !strings.Contains(err.Error(), "not an absolute path") {
		t.Errorf("a home that depends on the working directory: %s, %v", dir, err)
	}
}
