package lease

import (
	"context"
	"time"
)

// An Engine stores small entries durably, and compares and swaps them. It knows nothing of their
// meaning and decides nothing. It is safe for concurrent use, and many processes may use the same
// data. Read and Swap must refuse to answer while the store's settings could lose a write.
type Engine interface {
	// Read returns the entries with these names, all as of one moment. It sees every Swap that was
	// acknowledged before Read began.
	Read(ctx context.Context, names ...string) (Answer, error)

	// Swap compares the entries of expect with the stored ones. A nil value expects that there is
	// no such entry. If all are as expected, Swap stores the entries of put, whose values are not
	// nil. The comparison and the change are one atomic step:
	//
	//   - If all entries are as expected, Swapped is set, and the entries of put are durable.
	//   - If one is not, nothing is changed. Swapped is not set, the answer has the entries of
	//     expect as they are stored, and there is no error.
	//   - An error that wraps ErrStore says that nothing was changed, nor will be.
	//   - After another error the outcome is unknown: the swap may still take effect. So an engine
	//     must not try again unless the first attempt can't take effect any more.
	//
	// An empty expect is always met. put is not empty, and may have names that expect does not
	// have. Neither list has a name twice.
	Swap(ctx context.Context, expect, put []Entry) (Answer, error)

	// List returns entries whose names begin with prefix and come after the name after, in the
	// order of the names' bytes: the first limit of them, 1 to 1,000.
	List(ctx context.Context, prefix, after string, limit int) ([]Entry, error)

	// Prepare creates what the engine needs, such as a table, unless it exists. Until then Read, Swap and List
	// return an error that wraps ErrNoSpace. That of Swap wraps ErrStore too, as nothing was changed.
	Prepare(ctx context.Context) error

	// Close frees the engine's resources.
	Close() error

	// String says where the entries are, without passwords.
	String() string
}

// How large an entry may be. Each engine must take such entries.
const (
	MaxName  = 100     // bytes of a name, which are of a-z, 0-9, "/", "-", "_" and "."
	MaxValue = 1 << 16 // bytes of a value
)

// An Entry is a name and the value that is stored under it.
type Entry struct {
	Name  string
	Value []byte // nil where there is no such entry
}

// An Answer is what an Engine returns: entries, and the evidence of where they come from, which is
// all but Swapped and Entries. The evidence is never older than the entries, and it was taken within
// the call, without a stop of the server between the two: a connection that broke is an error.
type Answer struct {
	Swapped bool // the Swap took effect

	// Entries are those that Read named or Swap expected, in that order, as they are stored. If
	// Swapped is set they mean nothing: the caller knows what it expected and what it put.
	Entries []Entry

	// Time is the time by the server's clock, or zero if the engine has no such clock.
	Time time.Time

	// Lineage says which data these are. Other copies, and what replaced them, such as a restored
	// backup, should have another lineage. An engine says which of them it can't tell apart.
	Lineage string

	// Incarnation says which incarnation of these data answers: another one may have forgotten
	// something, as a promoted replica, or a server that started again. It is "" if the engine has
	// no incarnations. A space says by its trust whether another one is a loss of data.
	Incarnation string

	// Doubt says why another incarnation may lack what a swap of now has put, such as a setting, or
	// is "" if the engine knows of nothing. It is not "" if that was so at any time while a Swap
	// made its change. Where a space trusts incarnations, it changes nothing while there is a doubt.
	Doubt string

	// Position never decreases within a lineage, and has increased by the end of each Swap that
	// takes effect. The Position that such a Swap returns must itself be durable: no crash takes it
	// back. 0 means that the engine has no positions.
	//
	// Read returns it too: a handle must notice older data before it swaps, or its swaps could bring
	// them up to the position that it knows, and hide the loss if their answers are lost.
	Position uint64
}
