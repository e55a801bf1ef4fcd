package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/filestore"
	"golang.org/x/sys/unix"
)

// A File is a directory.
type File struct {
	Dir   string
	rules lease.Rules
	mount string // what to unmount, if anything
	copy  []byte // of the state
}

// StartFile creates a store in a directory.
func StartFile(_ context.Context, dir string, rules lease.Rules) (Engine, error) {
	f := &File{Dir: filepath.Join(dir, "leases"), rules: rules}
	return f, f.create(filestore.ForNewSecret())
}

// ErrNotPermitted says that the user may not do what it takes to start an engine.
var ErrNotPermitted = errors.New("not permitted: want root")

// StartFileOnSmallDisk creates a store on a file system of its own, in memory, which FillDisk fills. It fails
// with an error that wraps ErrNotPermitted without the right to mount.
func StartFileOnSmallDisk(ctx context.Context, dir string, rules lease.Rules) (Engine, error) {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		if errors.Is(err, unix.EPERM) {
			err = ErrNotPermitted
		}
		return nil, fmt.Errorf("engine: mount a small disk: %w", err)
	}
	f := &File{Dir: filepath.Join(dir, "leases"), rules: rules, mount: dir}
	return f, f.create(filestore.ForNewSecret())
}

func (f *File) create(options ...filestore.Option) error {
	store, err := filestore.Create(f.Dir, append(options, filestore.WithRules(f.rules))...)
	if err != nil {
		return err
	}
	return store.Close()
}

func openFile(dir string, clocks Clocks) (lease.Store, error) {
	if clocks.Process == nil {
		return notNil(filestore.Open(dir))
	}
	return notNil(filestore.Open(dir, filestore.WithClock(clocks.Process)))
}

// URL implements Engine.
func (f *File) URL() string { return "file://" + f.Dir }

// Stop implements Engine.
func (f *File) Stop() {
	if f.mount != "" {
		unix.Unmount(f.mount, unix.MNT_DETACH)
	}
}

// State returns the path of the file with all records.
func (f *File) State() string { return filepath.Join(f.Dir, "state") }

// Locked calls change while no worker has the directory locked.
func (f *File) Locked(change func() error) error {
	lock, err := os.Open(filepath.Join(f.Dir, "lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	return change()
}

// Copy implements Copied.
func (f *File) Copy() error {
	return f.Locked(func() (err error) {
		f.copy, err = os.ReadFile(f.State())
		return err
	})
}

// Restore implements Copied.
func (f *File) Restore() error {
	return f.Locked(func() error {
		restored := filepath.Join(filepath.Dir(f.Dir), "restored")
		if err := os.WriteFile(restored, f.copy, 0o600); err != nil {
			return err
		}
		return os.Rename(restored, f.State())
	})
}

// CreateAnew does what the store's errors advise when its files are damaged or gone: it creates a store, and
// not as one for a new secret.
func (f *File) CreateAnew() error {
	if err := os.RemoveAll(f.Dir); err != nil {
		return err
	}
	return f.create()
}

// FillDisk leaves no space on a small disk.
func (f *File) FillDisk() error {
	filler, err := os.Create(f.filler())
	if err != nil {
		return err
	}
	defer filler.Close()
	for err == nil {
		_, err = filler.Write(make([]byte, os.Getpagesize()))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return nil
}

// FreeDisk undoes FillDisk.
func (f *File) FreeDisk() error { return os.Remove(f.filler()) }

func (f *File) filler() string { return filepath.Join(f.mount, "filler") }
