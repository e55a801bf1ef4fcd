package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
)

// wantErr fails the test unless err is target and says something.
func wantErr(t *testing.T, what string, err, target error, said string) {
	t.Helper()
	require.That(t, errors.Is(err, target) && strings.Contains(err.Error(), said),
		"%s: %v, want %v, with %q", what, err, target, said)
}

func TestSecretFile(t *testing.T) {
	file, secret := filepath.Join(t.TempDir(), "s"), randflake.NewSecret()
	_, err := ReadSecret(file)
	wantErr(t, "no file", err, fs.ErrNotExist, file)
	require.NoError(t, WriteSecret(file, secret))
	wantErr(t, "over another", WriteSecret(file, randflake.NewSecret()), fs.ErrExist, file)
	require.Gives(t, secret, "the secret that was written")(ReadSecret(file))
	left, err := os.ReadDir(filepath.Dir(file))
	require.That(t, len(left) == 1 && err == nil, "left behind: %v, %v", left, err)
	for _, text := range []string{
		strings.ToUpper(secret.Hex()),
		secret.Hex() + "\r\n",
		"\n " + secret.Hex(),
		"\ufeff" + secret.Hex(),
		fmt.Sprintf("%1024s", secret.Hex()),
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.Gives(t, secret, "%d characters", len(text))(ReadSecret(file))
	}
}

func TestReadSecretRefuses(t *testing.T) {
	const text = "000102030405060708090a0b0c0d0e0f"
	for _, bad := range []string{
		"",
		text[:31],
		text + "00",
		text[:31] + "x",
		strings.Repeat("0", 32),
		fmt.Sprintf("%-1025s", text),
	} {
		file := filepath.Join(t.TempDir(), "s")
		require.NoError(t, os.WriteFile(file, []byte(bad), 0o600))
		_, err := ReadSecret(file)
		wantErr(t, fmt.Sprintf("%d bytes", len(bad)), err, randflake.ErrInvalidSecret, file)
		require.That(t, !strings.Contains(err.Error(), text[:16]), "%d characters: %v", len(bad), err)
	}
	_, err := ReadSecret("")
	wantErr(t, "no name", err, fs.ErrInvalid, "its name is empty")
	require.Says(t, "directory", "a directory")(ReadSecret(t.TempDir()))
}

func TestReadSecretLooksAtTheMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not those of Unix here")
	}
	file := filepath.Join(t.TempDir(), "s")
	require.NoError(t, WriteSecret(file, randflake.NewSecret()))
	for mode, good := range map[fs.FileMode]bool{
		0o600: true,
		0o400: true,
		0o640: true,
		0o440: true,
		0o711: true,
		0o644: false,
		0o660: false,
		0o602: false,
		0o604: false,
	} {
		require.NoError(t, os.Chmod(file, mode))
		if _, err := ReadSecret(file); (err == nil) != good && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("mode %04o: %v", mode, err)
		} else if !good && !strings.Contains(err.Error(), "chmod 600 "+file) {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
}

// TestPublishWithoutLinks is for file systems that have no hard links.
func TestPublishWithoutLinks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s")
	noLinks := func(string, string) error { return errors.ErrUnsupported }
	require.NoError(t, publish(file, "one", noLinks))
	require.ErrorIs(t, publish(file, "two", noLinks), fs.ErrExist, "over a file")
	content, err := os.ReadFile(file)
	require.That(t, err == nil && string(content) == "one", "%q, %v", content, err)
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%v, %v, want mode 0600", info, err)
	}
	left, err := os.ReadDir(filepath.Dir(file))
	require.That(t, len(left) == 1 && err == nil, "left behind: %v, %v", left, err)
}

// TestSecretForAFile: a secret in place of a name is not repeated, unless there is a file of that name.
func TestSecretForAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	secret := randflake.NewSecret()
	_, err := ReadSecret(secret.Hex())
	wantErr(t, "no file", err, fs.ErrNotExist, "is a secret itself")
	require.Omits(t, err.Error(), secret.Hex(), "error")
	require.NoError(t, WriteSecret(secret.Hex(), secret))
	require.Gives(t, secret, "from a file that is named so")(ReadSecret(secret.Hex()))
}

// TestWriteSecretRefuses: there is no file without a secret, nor one without a directory.
func TestWriteSecretRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	wantErr(t, "no secret", WriteSecret(file, randflake.Secret{}), randflake.ErrInvalidSecret, "not set")
	require.Refuses(t, fs.ErrNotExist, "a file without a secret")(os.Stat(file))
	err := WriteSecret(filepath.Join(file, "secret"), randflake.NewSecret())
	wantErr(t, "no directory", err, fs.ErrNotExist, "make the directory "+file)
	made, err := Create("")
	require.That(t, !made && err != nil, "without a name: %v, %v", made, err)
}
