// Package lease grants node leases that are disjoint, and keeps a generator's lease alive.
//
// Randflake IDs are unique as long as no two generators embed the same second for the same
// node. A [Store] sees to that. For each range of nodes that it ever granted it keeps one
// permanent [Record] with the newest second that any holder may ever embed, and it grants the
// range anew only for seconds after that one. What counts is the second written into an ID,
// never the moment at which it is written, so clocks that step, processes that sleep and
// messages that arrive late cost availability and never a duplicate.
//
// [Keep] is what a service calls: it takes a lease from a store and hands out a generator,
// renews the lease in the background and gives it back on Close.
package lease

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake"
)

// A Store grants leases on node ranges. Each change of a record is one atomic and durable
// compare-and-set on its (Owner, Version): when a method returns without an error, a crash of
// the store can't undo what it did. When it returns an error that is none of this package's,
// the outcome is unknown. A store does not repeat a change of unknown outcome by itself: if the first
// one took effect, the second would report a lease as lost that is not.
//
// A Store is safe for concurrent use, also by many processes on the same underlying data.
type Store interface {
	// Acquire grants a range of at least req.Nodes nodes, all below req.Below if that is set, to a
	// new owner for req.TTL, starting at the store's present or, where the range is younger than
	// that, later; then it may be shorter. It fails with ErrInvalidRequest, or with ErrNoRange when every fitting range is
	// taken, or when the store lost data and may not grant anything yet.
	Acquire(ctx context.Context, req Request) (Record, error)

	// Renew raises the high-water mark of the lease that held describes to ttl from now; it
	// never lowers it. It fails with ErrLost when the store's record has another owner or
	// version.
	Renew(ctx context.Context, held Record, ttl time.Duration) (Record, error)

	// Lookup reads the record of held's range back, after an unknown outcome. It fails with
	// ErrLost when the owner is another one; the version may differ. What it returns is as
	// durable as what Renew returns.
	Lookup(ctx context.Context, held Record) (Record, error)

	// Release gives the lease back, once no generator can use it any more: no owner, and the
	// high-water mark lowered to lastUsed, the last second that was really used (the second
	// before Start if none was). It fails with ErrLost as Renew does.
	Release(ctx context.Context, held Record, lastUsed time.Time) error

	// List returns every record, ordered by FirstNode.
	List(ctx context.Context) ([]Record, error)

	// Close frees the store's resources. It releases no lease.
	Close() error
}

// A Request says what lease is wanted.
type Request struct {
	// Nodes is how many contiguous nodes are wanted, 1 to 131,072; each gives 131,072 IDs a second.
	// A range that was granted once keeps its size for good and serves one holder at a time, so ask
	// for few different sizes, and not for all nodes unless nobody else will need any.
	Nodes int

	// Below, if not 0, asks for nodes below this one only, for formats with fewer node bits than
	// Randflake's. It is Nodes at least and 131,072 at most, which bounds nothing. It says where a
	// new lease may be; renewals go by the nodes that are held.
	Below uint32

	TTL time.Duration // how long, in whole seconds, up to the store's MaxTTL
}

// A Record is what a store keeps of one range of nodes, forever.
type Record struct {
	FirstNode, LastNode uint32 // both included

	// Owner is the token of the newest lease's holder, or zero when it was released.
	Owner Owner

	// Version counts the changes of this record.
	Version uint64

	// Start is the first second of the newest lease, in Unix seconds.
	Start int64

	// HighWater is the newest second that any holder, past or present, may ever embed, in Unix
	// seconds.
	HighWater int64
}

// Lease returns the interval that the holder of r may use, [Start, HighWater], as the generator
// takes it.
func (r Record) Lease() randflake.Lease {
	return randflake.Lease{
		FirstNode: r.FirstNode,
		LastNode:  r.LastNode,
		Start:     time.Unix(r.Start, 0).UTC(),
		End:       time.Unix(r.HighWater+1, 0).UTC(),
	}
}

// Nodes returns how many nodes the range has.
func (r Record) Nodes() int { return int(r.LastNode) - int(r.FirstNode) + 1 }

// An Owner is the random token by which a store knows the holder of a lease. The zero Owner
// stands for nobody.
type Owner [16]byte

// String returns the token as 32 hexadecimal digits.
func (o Owner) String() string { return hex.EncodeToString(o[:]) }

// MarshalText returns the token as 32 hexadecimal digits.
func (o Owner) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (o *Owner) UnmarshalText(text []byte) error {
	if len(text) != 2*len(o) {
		return fmt.Errorf("lease: owner %q: want %d hexadecimal digits", text, 2*len(o))
	}
	var parsed Owner
	if _, err := hex.Decode(parsed[:], text); err != nil {
		return fmt.Errorf("lease: owner %q: %w", text, err)
	}
	*o = parsed
	return nil
}

// The errors of stores. Those that carry more detail wrap one of these, so compare with
// errors.Is.
var (
	// ErrLost says that the lease is held by somebody else or was released. What was granted
	// before stays usable up to its end.
	ErrLost = errors.New("lease: lease is lost")

	// ErrNoRange says that no range of nodes is free.
	ErrNoRange = errors.New("lease: no free range of nodes")

	// ErrInvalidRequest says that a request can't be granted as it is, ever.
	ErrInvalidRequest = errors.New("lease: invalid request")

	// ErrNoStore says that there is no store where one was expected: it was never created, or
	// it was lost.
	ErrNoStore = errors.New("lease: no store")

	// ErrCorrupt says that the store's data can't be trusted. Nothing is granted and nothing is
	// overwritten.
	ErrCorrupt = errors.New("lease: store is corrupt")
)
