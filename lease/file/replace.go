package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/randflake/randflake/lease/internal/localfile"
	"github.com/randflake/randflake/lease/internal/swap"
)

// replace replaces a file durably. It is called with the lock held. An error wraps lease.ErrStore
// if the new file could not be written, as nothing was changed then.
func (e *Engine) replace(name string, content []byte) error {
	next := e.path(name + ".next")
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"write", func() error { return e.write(next, content) }},
		{"rename", func() error { return os.Rename(next, e.path(name)) }},
		{"sync the directory", func() error { return localfile.SyncDir(e.dir) }},
	} {
		err := e.before(step.name)
		if err == nil {
			err = step.do()
		}
		if step.name == "write" {
			err = swap.Unmade(err)
		}
		if err != nil {
			return e.withDir(fmt.Errorf("%s: %w", step.name, err))
		}
	}
	return nil
}

// write writes a file and syncs it.
func (e *Engine) write(path string, content []byte) error {
	err := os.Remove(path) // what a crash left
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := share(f, e.dir); err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Sync()
}
