package store

import (
	"context"
	"time"
)

// An Engine keeps entries durably, and compares and sets them. It decides nothing and knows nothing of
// what they mean; docs/engines.md tells how to write one, and package storetest checks it.
//
// Entries are ordered by the bytes of their names. No entry is ever removed. An Engine is safe for
// concurrent use, also by many processes on the same data.
type Engine interface {
	// Read returns the entries with these names, and a page of entries, all as of one moment. It sees
	// every Swap that was acknowledged before it began. What it returns need not be durable yet; a Swap
	// that expects it makes it so.
	Read(ctx context.Context, names []string, page Page) (Answer, error)

	// Swap puts entries if every one of expect is there with just this value, or is not there where the
	// value is nil. All of that is one atomic step: no other Swap takes effect in between. Otherwise it
	// changes nothing. At least one entry is put; no name is in expect twice, nor in put.
	//
	// When it took effect, what it expected and what it put is durable: no crash undoes it. When
	// it returns an error the outcome is unknown, and the Swap may even take effect later; an engine does not
	// try again unless it is certain that nothing was changed, and never will be.
	Swap(ctx context.Context, expect, put []Entry) (Answer, error)

	// Prepare makes what the engine needs before it can hold entries, such as a table. It does nothing
	// where that is there, or nothing is needed. Without it Read and Swap fail with an error that wraps ErrNoStore.
	Prepare(ctx context.Context) error

	// Close frees what the engine holds. Calls fail with an error that wraps fs.ErrClosed from then on.
	Close() error

	// String says where the entries are, for messages, without any password.
	String() string
}

// Bounds of what an Engine is asked for. What one call puts has less than a megabyte.
const (
	MaxName    = 100     // bytes of a name, which are of a-z, 0-9, "/", "-", "_" and "."
	MaxValue   = 1 << 16 // bytes of a value
	MaxEntries = 64      // names of a Read; expected and put entries of a Swap, each
	MaxPage    = 1000    // entries of a page
)

// An Entry is a name and what is stored under it.
type Entry struct {
	Name  string
	Value []byte // nil where there is no such entry; entries that are put are not nil
}

// A Page asks for the first Limit entries, by name, with From <= name < To. The zero Page asks for none.
type Page struct {
	From, To string
	Limit    int
}

// An Answer is what an Engine returns.
type Answer struct {
	// Named has an entry for each one that Read named or Swap expected, in the same order, as found.
	Named []Entry

	// Page has the entries of the page in order.
	Page []Entry

	// Swapped says that Swap took effect.
	Swapped bool

	Evidence
}

// Evidence is what an answer tells about where it comes from. It is taken while the call is carried
// out, and need not be of the same moment as the entries.
type Evidence struct {
	// Time is the server's clock, or zero where there is no server, or it does not tell: then the clock of
	// the process serves.
	Time time.Time

	// Lineage tells this copy of the data from others that were made of it, or took its place: a restored
	// backup or dump, a promoted replica, a server that came back and can't prove that it forgot nothing. It
	// changes whenever acknowledged entries may be gone, and otherwise seldom. It must go by nothing that
	// the server may forget. It is at most 200 bytes long.
	Lineage string

	// Position only grows as long as the lineage stays, and grows with each Swap that takes effect, at
	// least by the end of it. A lower one than was seen before shows that an older copy of the data is
	// back. It counts only what is durable, or is when the call returns; a Read, or a Swap that changed
	// nothing, may leave it 0, which tells nothing.
	Position uint64
}
