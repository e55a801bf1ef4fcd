// Package file keeps entries in a directory on a local disk, which many processes of one machine may share.
//
//	engine, err := file.New("/var/lib/app/leases")
//	space, err := lease.Open(ctx, engine, lease.Config{})
//
// Network file systems and FUSE are refused, as far as they can be told. New files are open to the users whom the mode of the
// directory lets in, whatever the umask; they get its group, and when root makes them its owner. Users who share a directory
// share its group: mode 2770, no sticky bit.
//
// All entries are in one file, "entries", which a swap replaces as a whole: that suits some thousand counters; take SQLite for
// more. Who swaps holds the lock of the file "lock", writes the new file under another name, syncs it, renames it and syncs the
// directory. A crash leaves the old file or the new one. Files that are damaged or of another directory are refused; nothing is
// repaired or overwritten.
//
// Lineage is a random token in the file "lineage", that file's inode number and on Linux its time of birth, and the time of birth of
// the directory, or its inode number where that is not known. It changes in a copy of the directory, even one that shares files
// by hard links, and in one that was removed and restored. Without inode numbers, as on Windows, it is the token alone. Position
// is the number of swaps. What can't show: a snapshot of the whole disk, or older files that are put back while no process has
// seen the newer ones. Then report the loss.
package file

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/localfile"
	"github.com/randflake/randflake/lease/internal/swap"
)

// An Engine keeps entries in a directory. It holds no file open between calls.
type Engine struct {
	dir    string
	closed atomic.Bool
	before func(step string) error // is called before each step of a swap; for tests
}

// New returns an engine on dir, which Prepare makes for this user alone if there is none; its parent must be there.
func New(dir string) (*Engine, error) { return newEngine(dir, localfile.Network) }

// newEngine is New, where network says of a path on which kind of network file system it is, if any.
func newEngine(dir string, network func(path string) (kind string, err error)) (*Engine, error) {
	abs, err := filepath.Abs(dir)
	if err != nil || dir == "" {
		return nil, fmt.Errorf("file: directory %q: want a path: %w", dir, errors.Join(err, fs.ErrInvalid))
	}
	kind, err := network(abs)
	if errors.Is(err, fs.ErrNotExist) {
		kind, err = network(filepath.Dir(abs))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("file: %w", err)
	}
	if kind != "" {
		return nil, fmt.Errorf("file: %s: %w: the file system is %s, want a local one: what was synced may be lost there, and locks may not hold: take a local disk, or an engine with a server", abs, lease.ErrUnsafe, kind)
	}
	return &Engine{dir: abs, before: func(string) error { return nil }}, nil
}

const lockName, lineageName, entriesName = "lock", "lineage", "entries"

// A state is what the file of entries has, as JSON, after a line with its SHA-256.
type state struct {
	Token    string // of the directory
	Position uint64
	Entries  map[string][]byte
}

// Read implements [lease.Engine]. It takes no lock.
func (e *Engine) Read(ctx context.Context, names ...string) (answer lease.Answer, err error) {
	s, lineage, err := e.load(ctx)
	if err != nil {
		return answer, err
	}
	return s.answer(names, lineage), nil
}

// List implements [lease.Engine].
func (e *Engine) List(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, error) {
	s, _, err := e.load(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range s.Entries {
		if strings.HasPrefix(name, prefix) && name > after {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return s.answer(names[:min(limit, len(names))], "").Entries, nil
}

// Swap implements [lease.Engine].
func (e *Engine) Swap(ctx context.Context, expect, put []lease.Entry) (answer lease.Answer, err error) {
	unlock, err := e.lock(ctx)
	if err != nil {
		return answer, swap.Unmade(err)
	}
	defer unlock()
	s, lineage, err := e.load(ctx)
	if err != nil {
		return answer, swap.Unmade(err)
	}
	var names []string
	for _, entry := range expect {
		names = append(names, entry.Name)
	}
	answer = s.answer(names, lineage)
	if !swap.Matches(answer.Entries, expect) {
		return answer, nil
	}
	for _, entry := range put {
		s.Entries[entry.Name] = append([]byte{}, entry.Value...)
	}
	s.Position++
	if err := e.replace(entriesName, s.encode()); err != nil {
		return lease.Answer{}, e.failed(err)
	}
	if answer.Lineage, err = e.lineage(s.Token); err != nil { // again: the directory may have been replaced meanwhile
		return lease.Answer{}, err
	}
	answer.Swapped, answer.Position = true, s.Position
	return answer, nil
}

// Prepare implements [lease.Engine].
func (e *Engine) Prepare(ctx context.Context) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	err := os.Mkdir(e.dir, 0o700)
	if err == nil {
		err = localfile.SyncDir(filepath.Dir(e.dir))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return e.failed(err)
	}
	lock, err := os.OpenFile(e.path(lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = errors.Join(share(lock, e.dir), lock.Close())
	}
	if err != nil {
		return e.failed(err)
	}
	unlock, err := e.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Lstat(e.path(lineageName)); !errors.Is(err, fs.ErrNotExist) {
		return err // it is made last; Read says if entries were lost
	}
	first := state{Token: rand.Text(), Entries: map[string][]byte{}}
	if err = e.replace(entriesName, first.encode()); err == nil {
		err = e.replace(lineageName, []byte(first.Token+"\n"))
	}
	if err != nil {
		return e.failed(err)
	}
	return nil
}

// Close implements [lease.Engine].
func (e *Engine) Close() error { e.closed.Store(true); return nil }

// String returns the directory.
func (e *Engine) String() string { return e.dir }

// load reads the entries, and then the lineage: if the directory is replaced meanwhile, that shows too much, not too little.
func (e *Engine) load(ctx context.Context) (s state, lineage string, err error) {
	if err := e.usable(ctx); err != nil {
		return s, "", err
	}
	content, err := os.ReadFile(e.path(entriesName))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(e.path(lineageName)); err == nil {
			return s, "", e.corrupt(entriesName, "it is missing")
		}
		return s, "", e.failed(fmt.Errorf("%w; if there was one, is it mounted?", lease.ErrNoSpace))
	} else if err != nil {
		return s, "", e.failed(err)
	}
	sum, body, _ := bytes.Cut(content, []byte("\n"))
	if string(sum) != sumOf(body) {
		return s, "", e.corrupt(entriesName, fmt.Sprintf("it begins with %.80q, want %q", sum, sumOf(body)))
	}
	if err := json.Unmarshal(body, &s); err != nil || s.Entries == nil {
		return s, "", e.corrupt(entriesName, fmt.Sprintf("it has other content: %v", err))
	}
	lineage, err = e.lineage(s.Token)
	return s, lineage, err
}

func (e *Engine) lineage(token string) (string, error) {
	path := e.path(lineageName)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", e.failed(fmt.Errorf("%w: it was not made to the end: make it again", lease.ErrNoSpace))
	} else if err != nil {
		return "", e.failed(err)
	}
	if string(content) != token+"\n" {
		return "", e.corrupt(lineageName, fmt.Sprintf("it has %.60q, and the entries are of %q", content, token))
	}
	file, err := localfile.Stat(path)
	if err != nil {
		return "", e.failed(err)
	}
	dir, err := localfile.Stat(e.dir)
	if err != nil {
		return "", e.failed(err)
	}
	return token + file.Inode + file.Born + cmp.Or(dir.Born, dir.Inode), nil // overlay file systems number directories anew at each mount
}

// lock waits until nobody else swaps. A process that is killed has no locks.
func (e *Engine) lock(ctx context.Context) (unlock func(), err error) {
	if err := e.usable(ctx); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(e.path(lockName), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; if there was one, is it mounted?", lease.ErrNoSpace)
	}
	if err != nil {
		return nil, e.failed(err)
	}
	if err := e.wait(ctx, f); err != nil {
		f.Close()
		return nil, e.failed(err)
	}
	if !sameFile(f, e.path(lockName)) { // the directory was replaced meanwhile
		f.Close()
		return e.lock(ctx)
	}
	return func() { f.Close() }, nil
}

// wait locks f. Who has waited for long looks seldom, so that a thousand processes leave the processors to the one that has the
// lock.
func (e *Engine) wait(ctx context.Context, f *os.File) error {
	if err := e.before("lock"); err != nil {
		return err
	}
	for pause := 50 * time.Microsecond; ; pause = min(pause*51/50, time.Second/2) {
		locked, err := tryLock(f)
		if locked || err != nil {
			return err
		}
		if err := e.usable(ctx); err != nil {
			return fmt.Errorf("another process holds the lock: %w", err)
		}
		time.Sleep(mathrand.N(pause))
	}
}

// sameFile reports whether f is the file at path.
func sameFile(f *os.File, path string) bool {
	own, _ := f.Stat()
	there, _ := os.Stat(path)
	return os.SameFile(own, there) // which is false where one of them failed
}

// replace makes a file durable in the place of what is there, under the lock. Until it is renamed, nothing is changed.
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
		if err != nil && step.name == "write" {
			err = swap.Unmade(err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// write writes a file and syncs it.
func (e *Engine) write(path string, content []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
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

func (s *state) encode() []byte {
	body, _ := json.Marshal(s) // can't fail on such fields
	return slices.Concat([]byte(sumOf(body)), []byte("\n"), body)
}

func sumOf(body []byte) string { return fmt.Sprintf("randflake 1 %x", sha256.Sum256(body)) }

func (s *state) answer(names []string, lineage string) lease.Answer {
	a := lease.Answer{Lineage: lineage, Position: s.Position}
	for _, name := range names {
		a.Entries = append(a.Entries, lease.Entry{Name: name, Value: s.Entries[name]})
	}
	return a
}

func (e *Engine) usable(ctx context.Context) error {
	if e.closed.Load() {
		return e.failed(fs.ErrClosed)
	}
	return ctx.Err()
}

func (e *Engine) path(name string) string { return filepath.Join(e.dir, name) }

func (e *Engine) failed(err error) error { return fmt.Errorf("file: %s: %w", e.dir, err) }

func (e *Engine) corrupt(name, what string) error {
	return fmt.Errorf("file: %s: %w: %s: nothing was changed: restore a whole backup into a new directory, no single files into this one, or create another space", e.path(name), lease.ErrCorrupt, what)
}
