package file

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"

	"github.com/randflake/randflake/store"
)

// catchUp brings the state up to the newest file, and makes the number of that durable: the process that linked
// it may have been killed, or have failed, before the sync. One sync is for all names in the directory, so the numbers
// before are durable too; and as it comes before the next link, a crash leaves no gap.
// (Where the writer's sync failed, this one may not try again. A file system with a journal stops altogether then;
// in others the next link changes the same directory, which is written anew.)
func (e *Engine) catchUp() error {
	err := e.follow(&e.state)
	for try := 0; try < 5 && errors.Is(err, store.ErrCorrupt); try++ { // others may just remove files
		err = e.load()
	}
	if err != nil || e.durable == e.state.head {
		return err
	}
	if err = e.files.syncDir(e.dir); err == nil {
		e.durable = e.state.head
	}
	return err
}

// follow applies the files after s. A process that finds no file N+1, and then finds N still there, has not missed N+1: N
// is removed first. Nor was N a bogus file, which takes the number of a file that was removed (see publish). Another
// file N will not do, so heads are compared, which also shows files that were put back.
func (e *Engine) follow(s *state) error {
	for {
		f, err := e.read(s.Number + 1)
		if head, headErr := e.head(s.Number); headErr != nil {
			return headErr
		} else if head == "" || head != s.head {
			return e.corrupt(numbered(s.Number), "is missing, or another one")
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		if f.Before != s.head || f.Token != s.Token || f.Base != f.Number && f.Base != s.Base {
			return e.corrupt(numbered(f.Number), "does not follow the file before: one of them is of another store or copy")
		}
		s.apply(f)
	}
}

// load reads the newest snapshot and what follows it.
func (e *Engine) load() error {
	top, err := e.top()
	if errors.Is(err, fs.ErrNotExist) || err == nil && top == 0 {
		return fmt.Errorf("%s: %w; if there was one, is it mounted?", e.dir, store.ErrNoStore)
	}
	var s state
	next := top
	for err == nil && s.Number != next {
		var f file
		if f, err = e.read(next); err == nil {
			next = f.Base
		}
		if f.Base == f.Number {
			s.apply(f)
		}
	}
	if err == nil { // listed again, as a list need not be of one moment: top may be a bogus file
		var last uint64
		last, err = e.top()
		if err = errors.Join(err, e.follow(&s)); err == nil && s.Number < max(top, last) {
			next, err = s.Number+1, fs.ErrNotExist
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return e.corrupt(numbered(next), "is missing")
	} else if err != nil {
		return err
	}
	// What was seen last may have been removed in favour of snapshots. But then no file follows another one in its
	// place; a bogus one there has no followers.
	seen := e.state.file
	follower, err := e.read(seen.Number + 1)
	if s.Number < seen.Number || s.Number == seen.Number && s.head != seen.head || err == nil && follower.Before != seen.head {
		e.origin = s.Number
	}
	e.state = s
	return nil
}

// read reads a numbered file.
func (e *Engine) read(n uint64) (f file, err error) {
	content, err := e.files.read(e.path(numbered(n)), math.MaxInt)
	if err != nil {
		return f, err
	}
	head, body, _ := bytes.Cut(content, []byte("\n"))
	f.head, f.size = string(head)+"\n", len(content)
	if want := headOf(body); f.head != want {
		return f, e.corrupt(numbered(n), "begins with %.90q, want %q", f.head, want)
	}
	if err := json.Unmarshal(body, &f); err != nil || f.Number != n || f.Base > n || f.Base == 0 {
		return f, e.corrupt(numbered(n), "is file %d, based on %d: %v", f.Number, f.Base, err)
	}
	return f, nil
}

func headOf(body []byte) string { return fmt.Sprintf("%s%x\n", magic, sha256.Sum256(body)) }

// head returns what file n begins with, or "" if there is none.
func (e *Engine) head(n uint64) (string, error) {
	head, err := e.files.read(e.path(numbered(n)), headSize)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(head), err
}

// top returns the highest number, or 0 where there is none.
func (e *Engine) top() (n uint64, err error) {
	entries, err := e.files.list(e.dir)
	for _, entry := range entries {
		n = max(n, numberOf(entry.Name()))
	}
	return n, err
}

// numbered returns the name of file n. In order of names they are in order of numbers.
func numbered(n uint64) string { return fmt.Sprintf("%020d", n) }

// numberOf returns the number of a numbered file, and 0 for any other.
func numberOf(name string) uint64 {
	if n, err := strconv.ParseUint(name, 10, 64); err == nil && name == numbered(n) {
		return n
	}
	return 0
}
