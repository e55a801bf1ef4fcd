package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/randflake/randflake/store"
)

const (
	markerName = "store"      // tells the store's token, and is locked by writers; made once
	tempName   = "temp-%d-%s" // Unix time, random text
)

// Prepare implements [store.Engine].
func (e *Engine) Prepare(ctx context.Context) (err error) {
	if err := e.enter(ctx); err != nil {
		return err
	}
	defer e.leave(&err)
	if e.opened {
		return fmt.Errorf("%s: OrCreate: a directory that is empty may be one that is not mounted: use Create", e.dir)
	}
	madeErr := e.files.mkdir(e.dir)
	if madeErr != nil && !errors.Is(madeErr, fs.ErrExist) {
		return madeErr
	}
	if err := e.files.syncDir(filepath.Dir(e.dir)); err != nil && madeErr == nil {
		return errors.Join(err, e.files.remove(e.dir)) // so that it is made anew, and not thought to be durable
	}
	top, err := e.top()
	if err != nil || top > 0 {
		return err // where there is a numbered file there was a marker; Read says if it was lost
	}
	if err := e.make(markerName, []byte(magic+rand.Text()+"\n")); err != nil {
		return err
	}
	marker, err := e.files.read(e.path(markerName), headSize) // another process may have been faster
	if err != nil {
		return err
	}
	first := file{Token: strings.TrimSpace(strings.TrimPrefix(string(marker), magic)), Number: 1, Base: 1}
	return e.make(numbered(1), first.finish())
}

// make makes a file durably, unless there is one.
func (e *Engine) make(name string, content []byte) error {
	if err := e.link(name, content); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return e.files.syncDir(e.dir)
}

// publish makes a file that puts entries follow the state, durably, and reports whether that took place.
//
// A writer that stalls before its link, until file N and those after it are removed, takes a number anew. Then it does
// not find its file N, and takes back the bogus one. If it is killed first, that one lies below the newest snapshot,
// where no process reads it, until it is removed. A writer that is killed before the link leaves a temporary file, and
// one that is killed, or fails, after the link a file that catchUp makes durable before it counts.
func (e *Engine) publish(entries []store.Entry) (f file, done bool, err error) {
	f = e.state.next(entries, e.often)
	content, name := f.finish(), numbered(f.Number)
	if err := e.link(name, content); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		return f, false, err
	}
	head, err := e.head(e.state.Number)
	if done = head == e.state.head; err == nil && done {
		err = e.files.syncDir(e.dir)
	} else if own, _ := e.head(f.Number); err == nil && own == f.head {
		err = e.files.remove(e.path(name))
	}
	if err != nil {
		return f, false, fmt.Errorf("%s: outcome unknown: %w", e.path(name), err)
	}
	if done {
		e.durable = f.head
	}
	if done && f.Base == f.Number {
		e.clean(e.state.Base)
	}
	return f, done, nil
}

// link makes a file that was synced under another name first. The error wraps fs.ErrExist if there is one of that name.
// What a sync that failed leaves may seem to be there when it is not, and gets no name.
func (e *Engine) link(name string, content []byte) error {
	temp := e.path(fmt.Sprintf(tempName, time.Now().Unix(), rand.Text()))
	defer e.files.remove(temp)
	if err := e.files.write(temp, content); err != nil {
		return err
	}
	err := e.files.link(temp, e.path(name))
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: the file system can't link files, or may not: take a directory on another one: %w", store.ErrUnsafe, err)
	}
	return err
}

// clean removes the numbered files before base, and temporary files of an hour ago. A snapshot after base is durable by
// now, so a crash may forget any of this. Base stays, so that handles that lag need not load all anew.
func (e *Engine) clean(base uint64) {
	entries, _ := e.files.list(e.dir)
	for _, entry := range entries {
		var made int64
		var text string
		_, err := fmt.Sscanf(entry.Name(), tempName, &made, &text)
		old := err == nil && time.Since(time.Unix(made, 0)) > time.Hour
		if n := numberOf(entry.Name()); n > 0 && n < base || old {
			if err := e.files.remove(e.path(entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return // to keep the order
			}
		}
	}
}
