// Package file is an engine for stores in a directory on a local disk, which many processes of one
// machine may share.
//
//	engine, err := file.New("/var/lib/app/leases")
//	space, err := lease.Open(ctx, engine, lease.Config{})
//
// # Files
//
// The directory has three files (and NAME.next, while a new version of one is written):
//
//	entries   randflake 1 8c6f... (the SHA-256 of the second line)
//	          {"token":"4XK...","position":42,"entries":{"default/leases":...,"default/meta":...}}
//	lineage   4XK... (a random token, made by Prepare)
//	lock      (empty)
//
// A swap holds the lock of "lock" and replaces "entries" as a whole: it writes the new file under
// another name, syncs it, renames it and syncs the directory. So a crash leaves the old file or the
// new one. To write all entries at each swap suits some thousand counters; for more take package
// sqlite.
//
// Files that are damaged or of another directory are refused. Nothing is repaired or overwritten.
// Network file systems and FUSE are refused, as far as the system tells.
//
// # Lineage and position
//
// The lineage is made of
//
//   - the token,
//   - the inode number of the file "lineage", and on Linux that file's time of birth,
//   - on Linux the directory's time of birth; elsewhere, or if it is not known, the directory's
//     inode number.
//
// The lineage changes when the directory is copied, even if the copy shares files by hard links,
// and when the directory is removed and restored (but an inode number alone may be used again).
// Where there are no inode numbers, as on Windows, the lineage is the token alone.
//
// The position is the number of swaps.
//
// Older files that are put back, or a snapshot of the whole disk, may have the same lineage. Then
// only the position shows the loss of data, and only to a process that has seen the newer files.
// Report such a loss, with [lease.Space.ReportLoss].
//
// # Users
//
// The directory that lease.Create makes is for one user. To share a directory, make it beforehand,
// with a group that all its users are in, mode 2770, and no sticky bit. Whoever may use the
// directory may use its new files, whatever the umask is: these get the directory's group. Files
// made by root also get the directory's owner.
package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/localfile"
	"github.com/randflake/randflake/lease/internal/swap"
)

// An Engine keeps entries in a directory. It holds no file open between calls.
type Engine struct {
	dir    string
	closed atomic.Bool
	before func(step string) error // called before each step of lock and replace, for tests
}

// New returns an engine on dir. If there is no such directory, Prepare makes it with mode 0700, in
// a parent that must exist.
func New(dir string) (*Engine, error) { return newEngine(dir, localfile.Network) }

// newEngine is New, but takes network, which is another one in tests: it names the kind of network
// file system that a path is on, or "".
func newEngine(dir string, network func(path string) (kind string, err error)) (*Engine, error) {
	if dir == "" {
		return nil, fmt.Errorf("file: directory %q: want a path: %w", dir, fs.ErrInvalid)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("file: directory %q: %w", dir, err)
	}
	kind, err := network(abs)
	if errors.Is(err, fs.ErrNotExist) { // Prepare will make abs there
		kind, err = network(filepath.Dir(abs))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // if there is no parent, Prepare says so
		return nil, fmt.Errorf("file: %w", err)
	}
	if kind != "" {
		return nil, fmt.Errorf("file: %s: %w: the file system is %s, want a local one: "+
			"what was synced may be lost there, and locks may not hold: "+
			"take a local disk, or an engine with a server",
			abs, lease.ErrUnsafe, kind)
	}
	return &Engine{dir: abs, before: func(string) error { return nil }}, nil
}

// The files of a directory.
const (
	entriesName = "entries"
	lineageName = "lineage"
	lockName    = "lock"
)

// Read implements [lease.Engine]. It takes no lock.
func (e *Engine) Read(ctx context.Context, names ...string) (lease.Answer, error) {
	s, lineage, err := e.load(ctx)
	if err != nil {
		return lease.Answer{}, err
	}
	return s.answer(names, lineage), nil
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	s, _, err := e.load(ctx)
	if err != nil {
		return nil, err
	}
	return s.entries(swap.List(s.Entries, prefix, after, limit)), nil
}

// Swap implements [lease.Engine]. It changes nothing before it renames the new file: errors of the
// steps before that wrap lease.ErrStore.
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	unlock, err := e.lock(ctx)
	if err != nil {
		return lease.Answer{}, swap.Unmade(err)
	}
	defer unlock()
	s, lineage, err := e.load(ctx)
	if err != nil {
		return lease.Answer{}, swap.Unmade(err)
	}
	answer := s.answer(swap.Names(expect), lineage)
	if !swap.Matches(answer.Entries, expect) {
		return answer, nil
	}
	for _, entry := range put {
		s.Entries[entry.Name] = append([]byte{}, entry.Value...) // never nil: nil means no entry
	}
	s.Position++
	err = e.replace(entriesName, s.encode())
	if err != nil {
		return lease.Answer{}, err // of ErrStore only if nothing was changed: replace knows which step failed
	}
	answer.Lineage, err = e.lineage(s) // again: the directory may have been replaced meanwhile
	if err != nil {
		return lease.Answer{}, err // not of ErrStore: which directory has the swap is not known
	}
	answer.Swapped = true
	answer.Position = s.Position
	return answer, nil
}

// Prepare implements [lease.Engine]. It makes the file of the lineage last: while that is missing
// and there are no entries, no Prepare has run to its end.
func (e *Engine) Prepare(ctx context.Context) error {
	if err := e.checkUsable(ctx); err != nil {
		return e.withDir(err)
	}
	if err := e.makeDir(); err != nil {
		return e.withDir(err)
	}
	unlock, err := e.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	_, _, err = e.load(ctx)
	if !errors.Is(err, lease.ErrNoSpace) {
		return err // nil if all is there; and what is damaged is not overwritten
	}
	// Position 0 means that positions are not supported. That does no harm before the first swap, when
	// there is no earlier position to compare with.
	first := state{Token: rand.Text(), Entries: map[string][]byte{}}
	if err := e.replace(entriesName, first.encode()); err != nil {
		return err
	}
	return e.replace(lineageName, []byte(first.Token+"\n"))
}

// makeDir makes the directory and the file to lock, unless they are there.
func (e *Engine) makeDir() error {
	err := os.Mkdir(e.dir, 0o700)
	if err == nil {
		err = localfile.SyncDir(filepath.Dir(e.dir))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	lock, err := os.OpenFile(e.path(lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(share(lock, e.dir), lock.Close())
}

// Close implements [lease.Engine].
func (e *Engine) Close() error {
	e.closed.Store(true)
	return nil
}

// String returns the directory.
func (e *Engine) String() string { return e.dir }

// checkUsable returns why no call can be made, or nil.
func (e *Engine) checkUsable(ctx context.Context) error {
	if e.closed.Load() {
		return fs.ErrClosed
	}
	return ctx.Err()
}

func (e *Engine) path(name string) string { return filepath.Join(e.dir, name) }

// withDir adds the directory to an error. The errors of load, lineage, lock and replace have it.
func (e *Engine) withDir(err error) error { return fmt.Errorf("file: %s: %w", e.dir, err) }

// corrupt returns the error of a file that is damaged, or of another directory.
func (e *Engine) corrupt(name, what string) error {
	return fmt.Errorf("file: %s: %w: %s: "+
		"restore a whole backup into a new directory, no single files into this one, or create another space",
		e.path(name), lease.ErrCorrupt, what)
}
