package file

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/randflake/randflake/lease/internal/localfile"
)

// files are the operations on the file system that an Engine needs, so that tests can make each of
// them fail, or forget what was not synced. Errors name the path.
type files interface {
	network(path string) (kind string, err error) // of the file system, "" if it is local
	mkdir(path string) error
	list(path string) ([]fs.DirEntry, error) // in order
	read(path string, limit int) ([]byte, error)
	identify(path string) (id string, err error) // tells a file and its directory from copies
	write(path string, content []byte) error     // makes a file and syncs it
	link(from, to string) error                  // fails with fs.ErrExist if there is one
	remove(path string) error
	syncDir(path string) error
	lock(ctx context.Context, path string) (unlock func()) // if it can be had
}

type osFiles struct{}

func (osFiles) mkdir(path string) error                 { return os.Mkdir(path, 0o700) }
func (osFiles) list(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }
func (osFiles) link(from, to string) error              { return os.Link(from, to) }
func (osFiles) remove(path string) error                { return os.Remove(path) }
func (osFiles) network(path string) (string, error)     { return localfile.Network(path) }

func (osFiles) read(path string, limit int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(limit)))
}

// identify goes by the directory's time of birth where that is known: overlay file systems number directories anew at
// each mount.
func (osFiles) identify(path string) (id string, err error) {
	file, err := localfile.Stat(path)
	if err != nil {
		return "", err
	}
	dir, err := localfile.Stat(filepath.Dir(path))
	return file.Inode + file.Born + cmp.Or(dir.Born, dir.Inode), err
}

func (osFiles) write(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := share(f, filepath.Dir(path)); err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Sync()
}

// syncDir makes the names in a directory durable. Windows can't, and NTFS has a journal.
func (osFiles) syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// lock polls, as waiting in the kernel can't be given up, and only for a moment, as the process that has the lock may be stopped.
func (osFiles) lock(ctx context.Context, path string) (unlock func()) {
	f, err := os.Open(path)
	if err != nil {
		return func() {}
	}
	for end := time.Now().Add(100 * time.Millisecond); held(f) && ctx.Err() == nil && time.Now().Before(end); {
		time.Sleep(50*time.Microsecond + rand.N(500*time.Microsecond))
	}
	return func() { f.Close() }
}
