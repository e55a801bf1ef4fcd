// Package vmgen tells whether the virtual machine was copied: resumed from a snapshot, perhaps beside the original.
//
// The hypervisor counts that in a page of memory, which Linux maps for programs: see vmclock-abi.h, VMClock's
// vm_generation_counter, which a live migration leaves as it is. An older device, VMGENID, has a random number that the kernel
// keeps to itself, and announces a change by a uevent; those are counted here, milliseconds late, while somebody listens.
package vmgen

import (
	"sync"
	"sync/atomic"
)

// A Mark is a moment in the life of a machine. On a machine without either device it is never stale. The zero Mark is none.
type Mark struct {
	counter *atomic.Uint64
	at      uint64
}

// never is the counter of machines without a device, so that Stale, which comes before each ID, has nothing to ask.
var never atomic.Uint64

// Now returns the mark of this moment.
func Now() Mark { return Of(counter()) }

// Of returns the mark of this moment by a counter. Without one it is never stale.
func Of(c *atomic.Uint64) Mark {
	if c == nil {
		c = &never
	}
	return Mark{c, c.Load()}
}

// Stale reports whether the machine was copied since m, and this is not the original.
func (m Mark) Stale() bool { return m.counter.Load() != m.at }

// Watched reports whether m ever becomes stale when the machine is copied.
func (m Mark) Watched() bool { return m.counter != &never }

var (
	device  = sync.OnceValue(find)
	pretend atomic.Pointer[atomic.Uint64]
)

func counter() *atomic.Uint64 {
	if c := pretend.Load(); c != nil {
		return c
	}
	return device()
}

// Pretend takes c for the machine's counter until undo is called. It is for tests.
func Pretend(c *atomic.Uint64) (undo func()) {
	pretend.Store(c)
	return func() { pretend.Store(nil) }
}
