package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/file"
	"github.com/randflake/randflake/lease/internal/localfile"
)

// A directory of IDs is made under another name, with all that belongs in it, and then renamed: the rename
// fails if something is there. So of several processes at once exactly one makes the directory, and a secret
// never exists without its space, which would look like a secret whose space was lost.

// secretName is the name of the secret's file in its directory.
const secretName = "secret"

// Create makes dir with a new secret and a space for it. If dir exists and is not empty, it changes
// nothing and returns false. Of several processes that call Create at once, exactly one makes dir.
func Create(dir string) (made bool, err error) { return create(dir, fillWithSecret) }

// CreateSpace is Create for IDs without a secret: it makes only the space.
func CreateSpace(dir string, limits lease.Limits) (made bool, err error) {
	return create(dir, func(dir string) error { return fillWithSpace(dir, lease.Config{Limits: limits}) })
}

func fillWithSecret(dir string) error {
	secret := randflake.NewSecret()
	if err := WriteSecret(filepath.Join(dir, secretName), secret); err != nil {
		return err
	}
	return fillWithSpace(dir, lease.Config{CheckValue: secret.CheckValue()})
}

// fillWithSpace makes a space whose leases start at once. That is safe with a secret because the
// secret is new, and without one because the IDs belong to this directory: removing the directory
// starts a new space of IDs.
func fillWithSpace(dir string, config lease.Config) error {
	engine, err := file.New(dir)
	if err != nil {
		return err
	}
	config.NeverUsed = true
	_, err = lease.Create(context.Background(), engine, config)
	return errors.Join(err, engine.Close())
}

// create makes dir unless something is there. fill fills the directory that becomes dir.
func create(dir string, fill func(dir string) error) (made bool, err error) {
	if dir == "" {
		return false, errors.New("randflake: state directory: no name: want that of a directory")
	}
	vacant, err := isVacant(dir)
	if vacant && err == nil {
		made, err = createVacant(dir, fill)
	}
	if err != nil {
		return false, fmt.Errorf("randflake: state directory %s: %w", dir, withoutPath(err))
	}
	return made, nil
}

// isVacant reports whether dir does not exist or is empty.
func isVacant(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return len(entries) == 0, err
}

// createVacant is create where nothing was just now. It returns false if another process was first.
func createVacant(dir string, fill func(dir string) error) (made bool, err error) {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target // a rename would hit the link
	}
	parent := filepath.Dir(dir)
	if err := makeDirs(parent); err != nil {
		return false, err
	}
	temp, err := os.MkdirTemp(parent, ".randflake-*.tmp")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(temp)
	if err := fill(temp); err != nil {
		return false, err
	}
	made, err = rename(temp, dir)
	if err != nil {
		return false, err
	}
	return made, localfile.SyncDir(parent)
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

// rename renames temp to dir, and returns false if another process was first.
func rename(temp, dir string) (made bool, err error) {
	removeErr := syscall.Rmdir(dir) // Rmdir removes only an empty directory, which would block the rename
	err = os.Rename(temp, dir)
	if err == nil {
		return true, nil
	}
	vacant, _ := isVacant(dir)
	switch {
	case !vacant:
		return false, nil
	case errors.Is(err, fs.ErrExist): // a mount point, or no permission to remove it
		return false, fmt.Errorf("can't replace the empty directory: %w: "+
			"make or mount the directory above it instead", removeErr)
	}
	return false, err
}

// withoutPath returns err without its operation and path, as the surrounding message already names
// the path.
func withoutPath(err error) error {
	if pathErr := (*os.PathError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
