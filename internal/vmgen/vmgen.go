// Package vmgen tells whether the virtual machine was copied: resumed from a snapshot, perhaps
// beside the original.
//
// The hypervisor counts that in a page of memory, which Linux maps for programs: see vmclock-abi.h,
// VMClock's vm_generation_counter, which a live migration leaves as it is. An older device,
// VMGENID, has a random number that the kernel keeps to itself. The kernel announces a change by a
// uevent; those are counted here, milliseconds late, between Listen and its stop.
package vmgen

import (
	"sync"
	"sync/atomic"
)

// A Generation identifies this machine until it is copied. Without either device it is never stale. The zero
// Generation is invalid.
type Generation struct {
	counter *atomic.Uint64
	at      uint64
}

// never is the counter of machines without a device. It spares Stale, which is called for each ID, a
// check for nil.
var never atomic.Uint64

// Now returns the present generation.
func Now() Generation { return Of(counter()) }

// Of returns the present generation by a counter, or one that is never stale without a counter.
func Of(c *atomic.Uint64) Generation {
	if c == nil {
		c = &never
	}
	return Generation{c, c.Load()}
}

// Stale reports whether the machine was copied since m, and this is the copy.
func (m Generation) Stale() bool { return m.counter.Load() != m.at }

// Renew makes m the present generation, and reports whether it was stale.
func (m *Generation) Renew() (stale bool) {
	present := Of(m.counter)
	stale = present != *m
	*m = present
	return stale
}

// Detects reports whether m ever becomes stale when the machine is copied.
func (m Generation) Detects() bool { return m.counter != &never }

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

var listeners atomic.Int64

// Listen makes sure that uevents are counted, where those are what tells of copies, until all
// callers have called stop.
func Listen() (stop func()) {
	listeners.Add(1)
	unlisten := listen()
	return sync.OnceFunc(func() {
		unlisten()
		listeners.Add(-1)
	})
}

// Listeners returns how many callers of Listen have not called stop. It is for tests.
func Listeners() int { return int(listeners.Load()) }
