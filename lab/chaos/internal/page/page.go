// Package page is the memory that the harness and one worker share: a page of a file that both have mapped.
//
// The harness reads what the worker counts, also when the worker hangs, is stopped or is dead, and it
// steps the worker's clock in the middle of whatever the worker does.
package page

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/randflake/randflake/lease"
	"golang.org/x/sys/unix"
)

// A Page has one writer for each of its fields and is safe for concurrent use by two processes.
type Page struct {
	// Offset is how far the worker's clock is off, in seconds. The harness writes it.
	Offset atomic.Int64

	// What the worker counts. All of its keepers are in one sum.
	Made    atomic.Uint64        // IDs
	Refused [Kinds]atomic.Uint64 // attempts to make an ID, or to get a lease, that failed
	Holding atomic.Int64         // keepers that have got a first lease

	// What the worker's first keeper holds, in the terms of lease.Record.
	FirstNode, LastNode atomic.Uint32
	Start, HighWater    atomic.Int64
	Owner, Change       [2]atomic.Uint64
	Version             atomic.Uint64
}

// Map maps the page in the file at path, which it creates if there is none. The mapping stays until
// the process ends: it is one page, and unmapping it would race with goroutines that still count.
func Map(path string) (*Page, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := os.Getpagesize()
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("page: map %s: %w", path, err)
	}
	return (*Page)(unsafe.Pointer(&memory[0])), nil
}

// SetHeld publishes what the worker's first keeper holds.
func (p *Page) SetHeld(r lease.Record) {
	p.FirstNode.Store(r.FirstNode)
	p.LastNode.Store(r.LastNode)
	p.Start.Store(r.Start)
	p.HighWater.Store(r.HighWater)
	for i := range 2 {
		p.Owner[i].Store(binary.BigEndian.Uint64(r.Owner[8*i:]))
		p.Change[i].Store(binary.BigEndian.Uint64(r.Change[8*i:]))
	}
	p.Version.Store(r.Version)
}

// Held returns what SetHeld published: it reads until it has read the same twice, as a worker may be at it.
func (p *Page) Held() lease.Record {
	for r := p.read(); ; {
		again := p.read()
		if again == r {
			return r
		}
		r = again
	}
}

func (p *Page) read() lease.Record {
	r := lease.Record{
		FirstNode: p.FirstNode.Load(),
		LastNode:  p.LastNode.Load(),
		Start:     p.Start.Load(),
		HighWater: p.HighWater.Load(),
		Version:   p.Version.Load(),
	}
	for i := range 2 {
		binary.BigEndian.PutUint64(r.Owner[8*i:], p.Owner[i].Load())
		binary.BigEndian.PutUint64(r.Change[8*i:], p.Change[i].Load())
	}
	return r
}
