package lease

import (
	"context"
	"time"
)

// An Engine stores small entries durably, and compares and swaps them. It knows nothing of their meaning and
// decides nothing. It is safe for concurrent use, and many processes may use the same data. It refuses to
// open, or to answer, while the store's settings could lose a write.
type Engine interface {
	// Read returns the entries with these names, all as of one moment. It sees every Swap that was
	// acknowledged before Read began.
	Read(ctx context.Context, names ...string) (Answer, error)

	// Swap stores the entries of put if every entry of expect has exactly the given value, or does not exist
	// where the value is nil. Otherwise it changes nothing. The comparison and the change are one atomic
	// step. When Swapped is returned, all these entries are durable. An error that wraps ErrStore says that
	// nothing was changed. After another one the outcome is unknown: the swap may still take effect, so an
	// engine must not try again unless the first attempt can't take effect any more.
	Swap(ctx context.Context, expect, put []Entry) (Answer, error)

	// List returns the first limit entries, 1 to 1,000, whose names begin with prefix and come after the name
	// after, ordered by name.
	List(ctx context.Context, prefix, after string, limit int) ([]Entry, error)

	// Prepare creates what the engine needs, such as a table, unless it exists. Until then Read and Swap
	// return an error that wraps ErrNoSpace.
	Prepare(ctx context.Context) error

	// Close frees the engine's resources.
	Close() error

	// String says where the entries are, without passwords.
	String() string
}

// Limits of entries.
const (
	MaxName  = 100     // bytes of a name, which are of a-z, 0-9, "/", "-", "_" and "."
	MaxValue = 1 << 16 // bytes of a value
)

// An Entry is a name and the value that is stored under it.
type Entry struct {
	Name  string
	Value []byte // nil where there is no such entry
}

// An Answer is what an Engine returns: entries, and the evidence of where they come from. The evidence is of
// the moment of the entries or later, and still within the call.
type Answer struct {
	Entries []Entry // those that Read named or Swap expected, in that order; not needed where Swapped is set
	Swapped bool    // Swap took effect

	// Time is the time by the server's clock, or zero if the engine has no such clock.
	Time time.Time

	// Lineage distinguishes this copy of the data from other copies and from what replaced it: a restored
	// backup, a promoted replica, a server that can't prove that it forgot nothing. It must not depend on
	// anything that the server may forget or that a copy keeps.
	Lineage string

	// Position never decreases within a lineage, and has increased by the end of each Swap that takes effect.
	// After such a Swap it counts only what is durable. 0 means that the engine has none.
	//
	// The answers of Read have it too. So older data are noticed before a swap onto them, which would raise
	// their position, and whose answer may be lost.
	Position uint64
}
