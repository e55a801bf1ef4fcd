package store

import (
	"context"
	"time"
)

// An Engine stores entries durably, and compares and sets them. It knows nothing of their meaning and makes no
// decisions. docs/engines.md says how to write one, and package storetest tests it.
//
// Entries are ordered by the bytes of their names. An Engine is safe for concurrent use, and many processes may use the
// same data.
type Engine interface {
	// Read returns the entries with these names and a page of entries, all as of one moment. It sees every Swap that
	// was acknowledged before Read began. What it returns may not be durable yet; a Swap that expects it makes it durable.
	Read(ctx context.Context, names []string, page Page) (Answer, error)

	// Swap stores the entries of put, and removes those whose value is nil, if every entry of expect has exactly the given
	// value, or does not exist where the value is nil. Otherwise it changes nothing. The comparison and the change are one
	// atomic step. put has at least one entry, and neither list has a name twice.
	//
	// After a Swap that took effect, the expected and the stored entries are durable: no crash undoes them. After an
	// error the outcome is unknown, and the Swap may still take effect later. So an engine must not try again unless it
	// is certain that the first attempt changed nothing and never will.
	Swap(ctx context.Context, expect, put []Entry) (Answer, error)

	// Prepare creates what the engine needs before it can store entries, such as a table, unless it exists. Until
	// then Read and Swap return an error that wraps ErrNoStore.
	Prepare(ctx context.Context) error

	// Close frees the engine's resources. Later calls return an error that wraps fs.ErrClosed.
	Close() error

	// String says where the entries are, without passwords. It is for messages.
	String() string
}

// Limits of a call of an Engine. The entries that one call puts have less than a megabyte together.
const (
	MaxName    = 100     // bytes of a name, which are of a-z, 0-9, "/", "-", "_" and "."
	MaxValue   = 1 << 16 // bytes of a value
	MaxEntries = 64      // names of a Read; expected and put entries of a Swap, each
	MaxPage    = 1000    // entries of a page
)

// An Entry is a name and the value that is stored under it.
type Entry struct {
	Name  string
	Value []byte // nil where there is no such entry, or is to be none
}

// A Page asks for the first Limit entries with From <= name < To, ordered by name. The zero Page asks for no entries.
type Page struct {
	From, To string
	Limit    int
}

// An Answer is what an Engine returns.
type Answer struct {
	// Named has the entries that Read named or Swap expected, in that order, as they are stored.
	Named []Entry

	// Page has the entries of the page, ordered by name.
	Page []Entry

	// Swapped says that Swap took effect.
	Swapped bool

	Evidence
}

// Evidence says where an answer comes from. It is taken during the call, though not necessarily at the same moment as
// the entries.
type Evidence struct {
	// Time is the time by the server's clock, or zero if the engine has no such clock. Then the clock of the process
	// is used.
	Time time.Time

	// Lineage distinguishes this copy of the data from other copies and from what replaced it: a restored backup or
	// dump, a promoted replica, or a server that came back and can't prove that it forgot nothing. It changes whenever
	// acknowledged entries may be gone, and otherwise rarely. It must not depend on anything that the server may
	// forget. It has at most 200 bytes.
	Lineage string

	// Position never decreases within one lineage, and has increased by the end of each Swap that takes effect. So a
	// lower position than before shows that an older copy of the data is back. It counts only changes that are durable
	// when the call returns. 0 means unknown; a Read, or a Swap that changed nothing, may return that.
	Position uint64

	// Kept says that Position is stored with the entries, so that it never decreases where nothing is lost, whatever
	// becomes of the lineage.
	Kept bool
}
