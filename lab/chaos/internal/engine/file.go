package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/filestore"
)

// A File is a directory.
type File struct {
	Dir   string
	made  []store.Option
	mount string // what to unmount, if anything
}

// StartFile creates a store in a directory.
func StartFile(ctx context.Context, s Setup) (Engine, error) {
	f := &File{Dir: filepath.Join(s.Dir, "leases"), made: made(s)}
	return f, Create(ctx, f.URL(), forNew(s)...)
}

// ErrNotPermitted says that the user may not do what it takes to start an engine.
var ErrNotPermitted = errors.New("not permitted: want root")

// StartFileOnSmallDisk creates a store on a file system of its own, in memory, which FillDisk fills. It fails
// with an error that wraps ErrNotPermitted without the right to mount.
func StartFileOnSmallDisk(ctx context.Context, s Setup) (Engine, error) {
	if err := unix.Mount("tmpfs", s.Dir, "tmpfs", 0, "size=8m"); err != nil {
		if errors.Is(err, unix.EPERM) {
			err = ErrNotPermitted
		}
		return nil, fmt.Errorf("engine: mount a small disk: %w", err)
	}
	f := &File{Dir: filepath.Join(s.Dir, "leases"), made: made(s), mount: s.Dir}
	return f, Create(ctx, f.URL(), forNew(s)...)
}

func connectFile(_ context.Context, url string) (store.Engine, error) {
	return filestore.New(dirOf(url))
}

func dirOf(url string) string { return strings.TrimPrefix(url, "file://") }

// URL implements Engine.
func (f *File) URL() string { return "file://" + f.Dir }

// Stop implements Engine.
func (f *File) Stop() {
	if f.mount != "" {
		unix.Unmount(f.mount, unix.MNT_DETACH)
	}
}

// Newest returns the path of the newest numbered file.
func (f *File) Newest() (string, error) {
	files, err := filepath.Glob(filepath.Join(f.Dir, numbered))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("engine: no numbered file in %s: %w", f.Dir, err)
	}
	return slices.Max(files), nil
}

// numbered is a pattern for the names of files with entries.
var numbered = strings.Repeat("[0-9]", 20)

// Locked calls change while no worker is about to write.
func (f *File) Locked(change func() error) error {
	lock, err := os.Open(filepath.Join(f.Dir, "store"))
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
	return f.Locked(func() error { return os.CopyFS(f.copy(), os.DirFS(f.Dir)) })
}

// Restore implements Copied: a directory made of the copy takes the place of the one that was there.
func (f *File) Restore() error {
	return f.Locked(func() error {
		return errors.Join(os.Rename(f.Dir, f.Dir+"-lost"), os.Rename(f.copy(), f.Dir))
	})
}

// SaveRows implements Rows.
func (f *File) SaveRows(name string) error {
	return f.Locked(func() error { return os.CopyFS(f.Dir+"-"+name, os.DirFS(f.Dir)) })
}

// PutRows implements Rows: numbered files are put back, and the directory stays.
func (f *File) PutRows(name string) error {
	const replace = `rm "$1"/$3 && cp "$2"/$3 "$1"`
	return f.Locked(func() error {
		return exec.Command("sh", "-c", replace, "sh", f.Dir, f.Dir+"-"+name, numbered).Run()
	})
}

// Link makes a copy of hard links, as cp -al does, and rsnapshot.
func (f *File) Link() error {
	return f.Locked(func() error { return exec.Command("cp", "-al", f.Dir, f.copy()).Run() })
}

// RestoreLinks removes the directory and gives its name to the copy of links.
func (f *File) RestoreLinks() error {
	return f.Locked(func() error { return errors.Join(os.RemoveAll(f.Dir), os.Rename(f.copy(), f.Dir)) })
}

func (f *File) copy() string { return f.Dir + "-copy" }

// CreateAnew does what the store's errors advise when its files are damaged or gone: it creates a store, and
// not as one for a new secret.
func (f *File) CreateAnew() error {
	if err := os.RemoveAll(f.Dir); err != nil {
		return err
	}
	return Create(context.Background(), f.URL(), f.made...)
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
