package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
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
	stale   bool            // that sync failed, and does nothing until another name changes
	down    bool            // crashed: everything fails until reboot
	boots   int
	inodes  int

	steps int                                          // operations so far
	fault func(step int, op, path string) (bad mishap) // what goes wrong with an operation; nil for nothing

	bug string // planted: see the constants
}

// The bugs of disks, which the tests must find.
const (
	noSync       = "a file sync does nothing"
	linkReplaces = "a link replaces what is there"
)

type inode struct {
	number           int
	visible, durable []byte
	dir              bool
}

// A mishap is what goes wrong with one operation.
type mishap int

const (
	none        mishap = iota
	failBefore         // it fails, and what it left undone is not tried again
	failAfter          // it is done and reported as failed
	crashBefore        // the machine goes down before it
)

var (
	errFault = errors.New("injected fault")
	errDown  = errors.New("the machine is down")
)

const diskDir = "/leases"

func newDisk() *disk {
	root := &inode{dir: true}
	return &disk{visible: map[string]*inode{"/": root}, durable: map[string]*inode{"/": root}, dirty: map[string]bool{}}
}

// do runs one operation with the mishap that is due.
func (d *disk) do(boot int, op, path string, run func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down || boot != d.boots {
		return errDown
	}
	d.steps++
	bad := none
	if d.fault != nil {
		bad = d.fault(d.steps, op, path)
	}
	switch bad {
	case failBefore:
		d.stale = d.stale || op == "syncDir"
		return &fs.PathError{Op: op, Path: path, Err: errFault}
	case crashBefore:
		d.down = true
		return errDown
	}
	err := run()
	if bad == failAfter {
		return &fs.PathError{Op: op, Path: path, Err: errFault}
	}
	return err
}

// reboot brings the machine up again. Whatever was not synced survives where luck says so.
func (d *disk) reboot(luck func() bool) {
	names := maps.Clone(d.visible)
	maps.Copy(names, d.durable)
	for _, name := range slices.Sorted(maps.Keys(names)) {
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
	d.visible = map[string]*inode{}
	for _, name := range slices.Sorted(maps.Keys(d.durable)) {
		node := d.durable[name]
		if !luck() {
			node.visible = bytes.Clone(node.durable)
		}
		node.durable = bytes.Clone(node.visible)
		d.visible[name] = node
	}
	clear(d.dirty)
	d.down, d.stale, d.fault = false, false, nil
	d.boots++
}

func never() bool  { return false }
func always() bool { return true }

// byChance returns a luck that differs for each seed.
func byChance(seed int) func() bool {
	rng := rand.New(rand.NewPCG(uint64(seed), 3))
	return func() bool { return rng.IntN(2) == 0 }
}

// open returns an engine on the disk, as a program has it that runs until the next crash. It makes
// a snapshot of every third file or so.
func (d *disk) open() *Engine { return d.openBy(diskFiles{d, d.boots, nil}) }

func (d *disk) openBy(files files) *Engine {
	e, err := newOn(files, diskDir)
	if err != nil {
		panic(err)
	}
	e.often = 2
	return e
}

type diskFiles struct {
	*disk
	boot int
	turn func() error // waits for the caller's turn before each operation, or nil
}

func (d diskFiles) step(op, path string, run func() error) error {
	if d.turn != nil {
		if err := d.turn(); err != nil {
			return err
		}
	}
	return d.do(d.boot, op, path, run)
}

func (d diskFiles) change(name string, node *inode) {
	d.dirty[name], d.stale = true, false
	if d.visible[name] = node; node == nil {
		delete(d.visible, name)
	}
}

func (d diskFiles) network(string) (string, error) { return "", nil }

func (d diskFiles) mkdir(path string) error {
	return d.step("mkdir", path, func() error {
		if d.visible[path] != nil {
			return &fs.PathError{Op: "mkdir", Path: path, Err: fs.ErrExist}
		}
		d.change(path, &inode{dir: true})
		return nil
	})
}

func (d diskFiles) list(path string) (entries []fs.DirEntry, err error) {
	err = d.step("list", path, func() error {
		if d.visible[path] == nil {
			return notExist("list", path)
		}
		for _, name := range slices.Sorted(maps.Keys(d.visible)) {
			if name != path && filepath.Dir(name) == path {
				entries = append(entries, dirEntry{name: filepath.Base(name)})
			}
		}
		return nil
	})
	return entries, err
}

type dirEntry struct {
	fs.DirEntry
	name string
}

func (e dirEntry) Name() string { return e.name }

func (d diskFiles) read(path string, limit int) (content []byte, err error) {
	err = d.step("read", path, func() error {
		node := d.visible[path]
		if node == nil || d.visible[filepath.Dir(path)] == nil {
			return notExist("read", path)
		}
		content = bytes.Clone(node.visible[:min(limit, len(node.visible))])
		return nil
	})
	return content, err
}

func (d diskFiles) identify(path string) (id string, err error) {
	err = d.step("stat", path, func() error {
		node := d.visible[path]
		if node == nil {
			return notExist("stat", path)
		}
		id = fmt.Sprint("-", node.number)
		return nil
	})
	return id, err
}

func (d diskFiles) write(path string, content []byte) error {
	node := new(inode)
	err := d.step("create", path, func() error {
		if d.visible[filepath.Dir(path)] == nil {
			return notExist("create", path)
		}
		d.inodes++
		node.number = d.inodes
		d.change(path, node)
		return nil
	})
	for _, half := range [][]byte{content[:len(content)/2], content[len(content)/2:]} {
		if err == nil {
			err = d.step("write", path, func() error { node.visible = append(node.visible, half...); return nil })
		}
	}
	if err == nil {
		err = d.step("sync", path, func() error {
			if d.bug != noSync {
				node.durable = bytes.Clone(node.visible)
			}
			return nil
		})
	}
	return err
}

func (d diskFiles) link(from, to string) error {
	return d.step("link", to, func() error {
		switch {
		case d.visible[from] == nil:
			return notExist("link", from)
		case d.visible[to] != nil && d.bug != linkReplaces:
			return &fs.PathError{Op: "link", Path: to, Err: fs.ErrExist}
		}
		d.change(to, d.visible[from])
		return nil
	})
}

func (d diskFiles) remove(path string) error {
	return d.step("remove", path, func() error {
		if d.visible[path] == nil {
			return notExist("remove", path)
		}
		d.change(path, nil)
		return nil
	})
}

func (d diskFiles) syncDir(path string) error {
	return d.step("syncDir", path, func() error {
		if d.visible[path] == nil {
			return notExist("open", path)
		}
		if d.stale {
			return nil
		}
		for name := range d.dirty {
			if filepath.Dir(name) != path {
				continue
			}
			delete(d.dirty, name)
			if d.durable[name] = d.visible[name]; d.durable[name] == nil {
				delete(d.durable, name)
			}
		}
		return nil
	})
}

// lock does nothing, as that of some file systems.
func (d diskFiles) lock(context.Context, string) (unlock func()) { return func() {} }

func notExist(op, path string) error { return &fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist} }

// names returns those in the directory that have a prefix.
func (d *disk) names(prefix string) (names []string) {
	for name := range d.visible {
		if strings.HasPrefix(name, diskDir+"/"+prefix) {
			names = append(names, name)
		}
	}
	return names
}
