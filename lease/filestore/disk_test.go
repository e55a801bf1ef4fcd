package filestore

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
)

// A disk is a file system in memory that can fail, and that keeps what it shows apart from what a
// crash leaves: content counts once its file was synced, a name once its directory was.
type disk struct {
	mu      sync.Mutex
	visible map[string]*inode
	durable map[string]*inode
	dirty   map[string]bool // names changed since their directory was synced
	locks   map[string]bool // lock files that are held
	down    bool            // crashed: everything fails until reboot
	boots   int

	steps int                                    // operations so far
	fault func(step int, op, path string) mishap // what goes wrong with an operation; nil for nothing

	skipSync, skipDirSync bool // planted bugs: syncs that do nothing
}

type inode struct {
	visible, durable []byte
	dir              bool
}

// A mishap is what goes wrong with one operation.
type mishap int

const (
	none        mishap = iota
	failBefore         // it fails; a write or sync may be done in part, and what it left is not tried again
	failAfter          // it is done and reported as failed
	crashBefore        // the machine goes down before it
	crashAfter         // the machine goes down after it
)

var (
	errFault = errors.New("injected fault")
	errDown  = errors.New("the machine is down")
)

func newDisk() *disk {
	root := &inode{dir: true}
	return &disk{
		visible: map[string]*inode{"/": root},
		durable: map[string]*inode{"/": root},
		dirty:   make(map[string]bool),
		locks:   make(map[string]bool),
	}
}

// do runs one operation with the mishap that is due. The operation holds d.mu.
func (d *disk) do(boot int, op, path string, run func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down || boot != d.boots {
		return errDown
	}
	d.steps++
	m := none
	if d.fault != nil {
		m = d.fault(d.steps, op, path)
	}
	switch m {
	case failBefore:
		if op == "syncDir" {
			clear(d.dirty) // as if it were done: the system won't try again
		}
		return &fs.PathError{Op: op, Path: path, Err: errFault}
	case crashBefore:
		d.down = true
		return errDown
	}
	err := run()
	switch m {
	case failAfter:
		return &fs.PathError{Op: op, Path: path, Err: errFault}
	case crashAfter:
		d.down = true
		return errDown
	}
	return err
}

// reboot brings the machine up again. Whatever was not synced survives where luck says so.
func (d *disk) reboot(luck func() bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := make(map[string]bool)
	for name := range d.visible {
		names[name] = true
	}
	for name := range d.durable {
		names[name] = true
	}
	for name := range names {
		from := d.durable
		if luck() {
			from = d.visible
		}
		if node := from[name]; node != nil {
			d.durable[name] = node
		} else {
			delete(d.durable, name)
		}
	}
	d.visible = make(map[string]*inode)
	for name, node := range d.durable {
		if !luck() {
			node.visible = bytes.Clone(node.durable)
		}
		node.durable = bytes.Clone(node.visible)
		d.visible[name] = node
	}
	clear(d.dirty)
	clear(d.locks)
	d.down, d.fault = false, nil
	d.boots++
}

func never() bool  { return false }
func always() bool { return true }

// byChance returns a luck that differs for each seed.
func byChance(seed int) func() bool {
	rng := rand.New(rand.NewPCG(uint64(seed), 3))
	return func() bool { return rng.IntN(2) == 0 }
}

// files returns the disk as a program sees it that runs until the next crash.
func (d *disk) files() files { return diskFiles{d, d.boots} }

// temps returns the names of temporary files.
func (d *disk) temps() (names []string) {
	for name := range d.visible {
		if strings.HasSuffix(name, tempSuffix) {
			names = append(names, name)
		}
	}
	return names
}

type diskFiles struct {
	*disk
	boot int
}

func notExist(op, path string) error { return &fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist} }

func (d diskFiles) mkdir(path string) error {
	return d.do(d.boot, "mkdir", path, func() error {
		if d.visible[path] != nil {
			return &fs.PathError{Op: "mkdir", Path: path, Err: fs.ErrExist}
		}
		d.visible[path], d.dirty[path] = &inode{dir: true}, true
		return nil
	})
}

func (d diskFiles) read(path string) (content []byte, err error) {
	err = d.do(d.boot, "read", path, func() error {
		node := d.visible[path]
		if node == nil || d.visible[filepath.Dir(path)] == nil {
			return notExist("read", path)
		}
		content = bytes.Clone(node.visible)
		return nil
	})
	return content, err
}

func (d diskFiles) create(path string) (file, error) {
	f := &diskFile{diskFiles: d, path: path, node: new(inode)}
	err := d.do(d.boot, "create", path, func() error {
		switch {
		case d.visible[filepath.Dir(path)] == nil:
			return notExist("create", path)
		case d.visible[path] != nil:
			return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
		}
		d.visible[path], d.dirty[path] = f.node, true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d diskFiles) rename(from, to string) error {
	return d.do(d.boot, "rename", to, func() error {
		if d.visible[from] == nil {
			return notExist("rename", from)
		}
		d.visible[to] = d.visible[from]
		delete(d.visible, from)
		d.dirty[from], d.dirty[to] = true, true
		return nil
	})
}

func (d diskFiles) remove(path string) error {
	return d.do(d.boot, "remove", path, func() error {
		if d.visible[path] == nil {
			return notExist("remove", path)
		}
		delete(d.visible, path)
		d.dirty[path] = true
		return nil
	})
}

func (d diskFiles) syncDir(path string) error {
	return d.do(d.boot, "syncDir", path, func() error {
		if d.visible[path] == nil {
			return notExist("open", path)
		}
		if d.skipDirSync {
			return nil
		}
		for name := range d.dirty {
			if filepath.Dir(name) != path {
				continue
			}
			delete(d.dirty, name)
			if node := d.visible[name]; node != nil {
				d.durable[name] = node
			} else {
				delete(d.durable, name)
			}
		}
		return nil
	})
}

func (d diskFiles) lock(ctx context.Context, path string, create bool) (unlock func(), err error) {
	err = d.do(d.boot, "lock", path, func() error {
		switch {
		case d.visible[filepath.Dir(path)] == nil || d.visible[path] == nil && !create:
			return notExist("lock", path)
		case d.locks[path]:
			return errors.New("deadlock: the tests of one disk run one call at a time")
		}
		if d.visible[path] == nil {
			d.visible[path], d.dirty[path] = new(inode), true
		}
		d.locks[path] = true
		return nil
	})
	if err != nil {
		// A lock that was taken and reported as failed goes with its descriptor.
		d.unlock(path)
		return nil, err
	}
	return func() { d.unlock(path) }, nil
}

func (d diskFiles) unlock(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.boot == d.boots {
		delete(d.locks, path)
	}
}

type diskFile struct {
	diskFiles
	path string
	node *inode
}

func (f *diskFile) Write(b []byte) (int, error) {
	n := 0
	err := f.do(f.boot, "write", f.path, func() error {
		f.node.visible = append(f.node.visible, b...)
		n = len(b)
		return nil
	})
	if err != nil && n == 0 {
		n = len(b) / 2
		f.node.visible = append(f.node.visible, b[:n]...)
	}
	return n, err
}

func (f *diskFile) Sync() error {
	return f.do(f.boot, "sync", f.path, func() error {
		if !f.skipSync {
			f.node.durable = bytes.Clone(f.node.visible)
		}
		return nil
	})
}

func (f *diskFile) Close() error {
	return f.do(f.boot, "close", f.path, func() error { return nil })
}
