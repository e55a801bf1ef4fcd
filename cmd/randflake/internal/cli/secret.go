package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/randflake/randflake"
)

const secretUsage = `Usage: randflake secret [-o FILE]

Prints a new random secret as 32 hexadecimal digits.

  -o FILE   write it to FILE instead, which only you can read; an existing file is never
            overwritten
`

func (t *tool) runSecret(_ context.Context, args []string) error {
	flags := newFlags("secret", secretUsage)
	var file string
	flags.path(&file, "o")
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	if file == "" {
		return t.print(secretLine(randflake.NewSecret()))
	}
	return writeSecretFile(file, randflake.NewSecret())
}

// secretLine returns what a secret file holds.
func secretLine(secret randflake.Secret) string {
	return secret.Hex() + "\n"
}

// writeSecretFile writes secret to path, durably and whole or not at all. It fails with an error
// that wraps fs.ErrExist when path exists.
func writeSecretFile(path string, secret randflake.Secret) error {
	err := publish(path, secretLine(secret))
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("secret file %s: %w: a secret is never overwritten", path, fs.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("secret file %s: %w", path, reason(err))
	}
	return nil
}

// publish makes the file path with the given content. The file gets its name when it is complete
// and on disk.
func publish(path, content string) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".secret-*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	if err := fill(temp, content); err != nil {
		return err
	}
	err = os.Link(temp.Name(), path) // unlike a rename, never clobbers
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = publishWithoutLinks(path, content)
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// publishWithoutLinks serves file systems that have no hard links. Those who read the file while
// it is written find a secret that is too short, which they refuse.
func publishWithoutLinks(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := fill(f, content); err != nil {
		os.Remove(path)
		return err
	}
	return nil
}

// fill writes content to f, syncs it and closes it.
func fill(f *os.File, content string) error {
	_, err := f.WriteString(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncDir makes the names in a directory durable. Windows can't, and journals them.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readSecret reads a secret file. Without one the error wraps fs.ErrNotExist.
func readSecret(path string) (randflake.Secret, error) {
	text, err := readSecretText(path)
	if errors.Is(err, fs.ErrNotExist) {
		return randflake.Secret{}, fmt.Errorf("secret file %s: %w: name the right one with -secret-file, or make one with: randflake secret -o %s", path, fs.ErrNotExist, path)
	}
	if err != nil {
		return randflake.Secret{}, fmt.Errorf("secret file %s: %w", path, reason(err))
	}
	secret, err := randflake.ParseSecret(text)
	if err != nil {
		return randflake.Secret{}, fmt.Errorf("secret file %s: %w", path, err)
	}
	return secret, nil
}

func readSecretText(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if err := checkMode(path, info.Mode()); err != nil {
		return "", err
	}
	const most = 1024 // far more than a secret has
	text, err := io.ReadAll(io.LimitReader(f, most))
	return strings.TrimSpace(string(text)), err
}

// checkMode refuses a secret that anybody on the machine can read or that others can replace: IDs
// are then as good as numbered. The group may read it, as services that share a secret need.
func checkMode(path string, mode fs.FileMode) error {
	if mode.IsDir() {
		return errors.New("is a directory: want a file with 32 hexadecimal digits")
	}
	const wrong = 0o026 // written by the group, read or written by others
	if runtime.GOOS != "windows" && mode.IsRegular() && mode.Perm()&wrong != 0 {
		return fmt.Errorf("mode %04o lets others read or change it: run: chmod 600 %s", mode.Perm(), path)
	}
	return nil
}

// reason returns err without the operation and the path, which the message around it names.
func reason(err error) error {
	if pathErr := (*os.PathError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
