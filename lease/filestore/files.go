package filestore

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// files are the operations on the file system that a Store needs, so that tests can make each of
// them fail, or forget what was not synced. Errors name the path.
type files interface {
	mkdir(path string) error
	read(path string) ([]byte, error)
	create(path string) (file, error) // fails with fs.ErrExist if there is one
	rename(from, to string) error
	remove(path string) error
	syncDir(path string) error
	lock(ctx context.Context, path string, create bool) (unlock func(), err error)
}

type file interface {
	io.WriteCloser
	Sync() error
}

// osFiles are the files of the operating system.
type osFiles struct{}

func (osFiles) mkdir(path string) error { return os.Mkdir(path, 0o700) }

// read returns at most one byte more than the largest state has, which decode then refuses.
func (osFiles) read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSize+1))
}

func (osFiles) create(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err // and not a nil *os.File in an interface
	}
	return f, nil
}

func (osFiles) rename(from, to string) error { return os.Rename(from, to) }

func (osFiles) remove(path string) error { return os.Remove(path) }

// lock polls, as a lock that is waited for in the kernel can't be given up when ctx ends.
func (osFiles) lock(ctx context.Context, path string, create bool) (func(), error) {
	const shortest, longest = 100 * time.Microsecond, 10 * time.Millisecond
	for pause := shortest; ; pause = min(2*pause, longest) {
		f, err := tryLockFile(path, create)
		if err != nil {
			return nil, err
		}
		if f != nil {
			return func() { f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s is held by another process: %w", path, ctx.Err())
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// tryLockFile returns the lock file, locked until it is closed, or nil if somebody else has it
// locked. Each call opens the file anew, so that goroutines of one process exclude each other too.
func tryLockFile(path string, create bool) (*os.File, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	locked, err := tryLock(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w: the directory must be on a local disk", path, err)
	}
	if !locked || !stillAt(f, path) {
		f.Close()
		return nil, nil
	}
	return f, nil
}

// stillAt reports whether path still leads to f: the directory may have been replaced meanwhile.
func stillAt(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(opened, there)
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(path string) error {
	d, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
