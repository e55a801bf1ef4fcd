// Package file keeps entries in a directory on a local disk, which many processes of one machine may share.
//
//	s, err := file.Create("/var/lib/app/leases", store.ForNewSecret()) // once, by hand
//	s, err := file.Open("/var/lib/app/leases")
//
// The file system must have hard links. Network file systems and FUSE are refused, as far as they can be told, and so
// is OrCreate: a directory that is empty may be one that is not mounted. New files are open to the users whom the mode
// of the directory lets in, whatever the umask; they get its group, and when root makes them its owner. Users who
// share a directory share its group: mode 2770, no sticky bit.
//
// What a Swap puts is a numbered file, a change. Now and then such a file is a snapshot, with all entries. The newest
// snapshot and the changes after it are the data; what is older than the snapshot before is removed, in ascending order.
// A file gets its number by link(2), which fails where there is one, so two Swaps never follow the same file. Locks,
// which some file systems only pretend to have, are a courtesy. Each file names the checksum of the one before. Files
// that are damaged, missing or of another store are refused; nothing is repaired or overwritten.
//
// Lineage is a random token in the file "store", that file's inode number and on Linux its time of birth, and the time of
// birth of the directory, or its inode number where that is not known. It changes in a copy of the directory, even one that shares the files by hard links, and in one
// that was removed and restored. Without inode numbers, as on Windows, it is the token alone. Position is the newest number; it counts from 0 again in a handle that finds an older or another file in
// place of the newest that it saw. What can't show: a snapshot of the whole disk, older files that are put back while no
// process has the directory open, or that have two new snapshots by the time a handle looks. Then call ReportLoss.
package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/store"
)

// An Engine keeps entries in a directory. It holds no file open between calls.
type Engine struct {
	dir    string
	files  files
	opened bool // by Open, so that nothing is created
	often  int  // changes that come before a snapshot, at least
	closed atomic.Bool
	turn   chan struct{} // holds one token while a call has what follows mu and waiting

	mu      sync.Mutex
	waiting []*request

	state   state  // as far as this handle has read
	durable string // head of the newest file whose number is known to be durable
	origin  uint64 // the number that counts as position 0
}

// Open opens the space that options name in dir. It fails with store.ErrNoStore where there is none.
func Open(dir string, options ...store.Option) (*store.Space, error) {
	return start(dir, true, store.Open, options)
}

// Create makes a space in dir, and dir if there is none, for this user alone; its parent must be there.
func Create(dir string, options ...store.Option) (*store.Space, error) {
	return start(dir, false, store.Create, options)
}

type starter func(context.Context, store.Engine, ...store.Option) (*store.Space, error)

func start(dir string, opened bool, with starter, options []store.Option) (*store.Space, error) {
	e, err := New(dir)
	if err != nil {
		return nil, err
	}
	e.opened = opened
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return with(ctx, e, options...)
}

// New returns an engine on dir, which Prepare makes if there is none.
func New(dir string) (*Engine, error) { return newOn(osFiles{}, dir) }

func newOn(files files, dir string) (*Engine, error) {
	abs, err := filepath.Abs(dir)
	if err != nil || dir == "" {
		return nil, fmt.Errorf("filestore: directory %q: want a path: %w", dir, errors.Join(err, fs.ErrInvalid))
	}
	kind, err := files.network(abs)
	if errors.Is(err, fs.ErrNotExist) {
		kind, err = files.network(filepath.Dir(abs))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("filestore: %w", err)
	}
	if kind != "" {
		return nil, fmt.Errorf("filestore: %s: %w: the file system is %s, want a local one: what was synced may be lost there, and what others wrote missed: take a local disk, or an engine with a server", abs, store.ErrUnsafe, kind)
	}
	return &Engine{dir: abs, files: files, often: 256, turn: make(chan struct{}, 1)}, nil
}

// Read implements [store.Engine]. It takes no lock.
func (e *Engine) Read(ctx context.Context, names []string, page store.Page) (answer store.Answer, err error) {
	if err := e.enter(ctx); err != nil {
		return answer, err
	}
	defer e.leave(&err)
	if err := e.catchUp(); err != nil {
		return answer, err
	}
	for _, name := range names {
		answer.Named = append(answer.Named, e.state.get(name))
	}
	first, _ := e.state.find(page.From)
	for _, entry := range e.state.all[first:] {
		if len(answer.Page) >= page.Limit || entry.Name >= page.To {
			break
		}
		answer.Page = append(answer.Page, e.state.get(entry.Name))
	}
	answer.Evidence, err = e.evidence(e.state.file)
	return answer, err
}

// Swap implements [store.Engine]. Those that wait for their turn are carried out together, by the first whose turn it is:
// they share a file, and its syncs.
func (e *Engine) Swap(ctx context.Context, expect, put []store.Entry) (answer store.Answer, err error) {
	mine := &request{expect: expect, put: put}
	e.mu.Lock()
	e.waiting = append(e.waiting, mine)
	e.mu.Unlock()
	if err := e.enter(ctx); err != nil {
		e.take(mine)
		return answer, err
	}
	defer e.leave(&err)
	if !mine.over {
		e.carryOut(ctx, e.take(nil))
	}
	return mine.answer, mine.err
}

// A request is a Swap that waits for its turn.
type request struct {
	expect, put []store.Entry
	answer      store.Answer
	err         error
	over        bool // somebody else has carried it out
}

// take removes one swap from those that wait, or all, and returns them.
func (e *Engine) take(one *request) (taken []*request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if one == nil {
		taken, e.waiting = e.waiting, nil
	}
	e.waiting = slices.DeleteFunc(e.waiting, func(s *request) bool { return s == one })
	return taken
}

// carryOut makes one file of all swaps that take effect, each after those before it.
func (e *Engine) carryOut(ctx context.Context, batch []*request) {
	defer e.files.lock(ctx, e.path(markerName))()
	var evidence store.Evidence
	var err error
	for done := false; err == nil && !done; {
		if err = e.catchUp(); err == nil {
			evidence, err = e.evidence(e.state.file)
		}
		var after state // what is put
		for _, s := range batch {
			s.answer = store.Answer{Swapped: true}
			for _, want := range s.expect {
				found := e.state.get(want.Name)
				if _, changed := after.find(want.Name); changed {
					found = after.get(want.Name)
				}
				s.answer.Named = append(s.answer.Named, found)
				if (found.Value == nil) != (want.Value == nil) || !bytes.Equal(found.Value, want.Value) {
					s.answer.Swapped = false
				}
			}
			if s.answer.Swapped {
				after.put(s.put, true)
			}
		}
		if err != nil || len(after.all) == 0 {
			break
		}
		var f file
		if f, done, err = e.publish(after.all); err == nil && done { // else another process was faster
			evidence, err = e.evidence(f)
		}
	}
	for _, s := range batch {
		if s.over, s.err, s.answer.Evidence = true, err, evidence; err != nil {
			s.answer = store.Answer{}
		}
	}
}

// evidence is that of a call that found or made newest. It comes after everything else: if the
// directory is replaced meanwhile it shows too much, not too little.
func (e *Engine) evidence(newest file) (evidence store.Evidence, err error) {
	content, err := e.files.read(e.path(markerName), headSize)
	id := ""
	if err == nil {
		id, err = e.files.identify(e.path(markerName))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return evidence, err
	}
	if err != nil || string(content) != magic+newest.Token+"\n" {
		return evidence, e.corrupt(markerName, "has %.60q, want the token of file %d, %s", content, newest.Number, newest.Token)
	}
	return store.Evidence{Lineage: newest.Token + id, Position: newest.Number - min(e.origin, newest.Number)}, nil
}

// Close implements [store.Engine].
func (e *Engine) Close() error { e.closed.Store(true); return nil }

// String returns the directory.
func (e *Engine) String() string { return e.dir }

// enter waits for the turn of a call.
func (e *Engine) enter(ctx context.Context) error {
	if e.closed.Load() {
		return fmt.Errorf("filestore: %s: engine %w", e.dir, fs.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case e.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Engine) leave(err *error) {
	if <-e.turn; *err != nil {
		*err = fmt.Errorf("filestore: %w", *err)
	}
}

func (e *Engine) path(name string) string { return filepath.Join(e.dir, name) }

func (e *Engine) corrupt(name, what string, args ...any) error {
	return fmt.Errorf("%s: %w: %s: nothing was changed: restore a whole backup into a new directory, no single files into this one, or create another store", e.path(name), store.ErrCorrupt, fmt.Sprintf(what, args...))
}
