package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/internal/localfile"
)

// ReadSecret reads a secret file: what randflake.ParseSecret reads, and white space around it. Only the owner and the
// group may be able to read the file, and only the owner may be able to change it; otherwise ReadSecret returns an
// error. A secret that was mounted into a container, read-only and in memory, may be readable to everybody. If there
// is no file, the error wraps fs.ErrNotExist; if the text is not a secret, it wraps randflake.ErrInvalidSecret. It
// never repeats the text, nor a secret that was given instead of a name.
func ReadSecret(file string) (randflake.Secret, error) {
	if file == "" {
		return randflake.Secret{}, fmt.Errorf("secret file: %w: its name is empty: "+
			"want the name of a file: is the variable that has it set?", fs.ErrInvalid)
	}
	var secret randflake.Secret
	text, err := readText(file)
	if err == nil {
		secret, err = randflake.ParseSecret(text)
	}
	_, notSecret := randflake.ParseSecret(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && notSecret == nil:
		return secret, fmt.Errorf("secret file: its name is a secret itself: "+
			"want the name of a file that has it: %w", fs.ErrNotExist)
	case err != nil:
		return secret, fmt.Errorf("secret file %s: %w", file, withoutPath(err))
	}
	return secret, nil
}

func readText(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if err := checkMode(f, info.Mode()); err != nil {
		return "", err
	}
	const most = 1024
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if len(text) > most {
		return "", fmt.Errorf("%w: it has more than %d bytes", randflake.ErrInvalidSecret, most)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(text), "\ufeff")), err // which editors on Windows begin a file with
}

// checkMode returns an error for a directory, and for a file that others can read or change. The
// group may read it, as services that share a secret need that. Pipes, such as those of a shell's
// <(command), belong to the process and are accepted.
func checkMode(f *os.File, mode fs.FileMode) error {
	if mode.IsDir() {
		return errors.New("is a directory: want a file with 32 hexadecimal digits")
	}
	const wrong = 0o026 // writable by the group, readable or writable by others
	if runtime.GOOS == "windows" || !mode.IsRegular() || mode.Perm()&wrong == 0 || isMounted(f, mode) {
		return nil
	}
	return fmt.Errorf("mode %04o lets others read or change it: run: chmod 600 %s", mode.Perm(), f.Name())
}

// WriteSecret makes a secret file that only its owner can read. It writes the file durably, and completely or not at
// all. If the file exists already, the error wraps fs.ErrExist; if the secret is unset, randflake.ErrInvalidSecret.
func WriteSecret(file string, secret randflake.Secret) error {
	if secret.IsZero() {
		return fmt.Errorf("secret file %s: %w: it is not set", file, randflake.ErrInvalidSecret)
	}
	err := publish(file, secret.Hex()+"\n", os.Link)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("secret file %s: %w: a secret is never overwritten", file, fs.ErrExist)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("secret file %s: %w: make the directory %s first", file, withoutPath(err), filepath.Dir(file))
	case err != nil:
		return fmt.Errorf("secret file %s: %w", file, withoutPath(err))
	}
	return nil
}

// publish makes a file with the given content. The file gets its name by link, when it is complete and on disk.
func publish(file, content string, link func(from, to string) error) error {
	temp, err := os.CreateTemp(filepath.Dir(file), ".secret-*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	if err := finish(temp, content); err != nil {
		return err
	}
	err = link(temp.Name(), file) // unlike a rename, never replaces a file
	if err != nil {
		err = publishWithoutLinks(file, content) // nor does this
	}
	if err != nil {
		return err
	}
	return localfile.SyncDir(filepath.Dir(file))
}

// publishWithoutLinks serves file systems that have no hard links. A process that reads the file
// while it is being written finds a secret that is too short, and ReadSecret returns an error.
func publishWithoutLinks(file, content string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := finish(f, content); err != nil {
		os.Remove(file)
		return err
	}
	return nil
}

// finish writes content to f, syncs it and closes it.
func finish(f *os.File, content string) error {
	_, err := f.WriteString(content)
	return errors.Join(err, f.Sync(), f.Close())
}
