package lease

import (
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/vmgen"
)

// A Status is a snapshot of a keeper.
type Status struct {
	// Healthy says that an ID can be made now, and also that the last attempt to take what is
	// wanted succeeded, or else that leases are left for longer than a window. So it turns false
	// while there is still time to act.
	Healthy bool

	Lease   randflake.Lease // in force
	End     time.Time       // until which leases follow each other
	Err     error           // of the last attempt to take what is wanted; nil if it succeeded
	Stopped time.Time       // since when no ID can be made, as there is no lease; zero while they can
	Closed  bool            // whether the keeper was closed

	// DetectsCopies says that the system tells at once when this machine was copied.
	DetectsCopies bool

	// Counts since Keep.
	Taken       uint64 // leases
	Failures    uint64 // takes that did not bring a lease of each window, for whatever reason
	Copies      uint64 // times that this machine turned out to be a copy, with the original's leases
	Made        uint64 // IDs made, but late, and without most of each processor's last run under a lease
	Refusals    uint64 // calls that returned an error because there was no ID, unless they were canceled
	Exhaustions uint64 // refusals with randflake.ErrExhausted: too few nodes
	Waits       uint64 // calls that had to wait for an ID, whatever came of it
}

// Status returns a snapshot. It never waits for the store.
func (k *Keeper[G]) Status() Status {
	s := k.loop.readStatus()
	s.Lease = k.generator.Lease()
	s.Closed = k.closed.Load()
	s.DetectsCopies = vmgen.Now().Detects()

	queue := k.loop.queue
	lasts := s.End.Sub(k.loop.now()) > k.loop.limits.Window
	s.Healthy = !s.Closed && queue.Ready() == nil && (s.Err == nil || lasts)

	s.Exhaustions = k.exhausted.Load() // before Refusals: see refused
	s.Refusals = k.refusals.Load()
	s.Made, s.Waits = queue.Counts()
	return s
}
