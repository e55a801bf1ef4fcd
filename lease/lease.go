// Package lease grants node leases that are disjoint, and keeps a generator's lease alive.
//
// Randflake IDs are unique as long as no two generators embed the same second for the same node. A [Source] sees to
// that. For each range of nodes that it ever granted it keeps one permanent [Record] with the newest second that any
// holder may ever embed, and it grants the range anew only for seconds after that one. What counts is the second
// written into an ID, never the moment at which it is written, so clocks that step, processes that sleep and messages
// that arrive late cost availability and never a duplicate.
//
// [On] makes a Source of whatever package store has opened: a directory, etcd, Redis, PostgreSQL or MariaDB. [Keep] is
// what a service calls: it takes a lease from a store and hands out a generator, renews the lease in the background and
// gives it back on Close.
package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/alike"
	"github.com/randflake/randflake/store"
)

// A Source grants leases on node ranges. Each change of a record is one atomic and durable compare-and-set: when a
// method returns without an error, a crash of the store can't undo what it did. When it returns an error that is none
// of this package's or of package store's, the outcome is unknown. A store does not repeat a change of unknown outcome
// by itself.
//
// A Source is safe for concurrent use, also by many processes on the same underlying data.
type Source interface {
	// Acquire grants a range of req.Nodes nodes, all below req.Below if that is set, to a new owner for req.TTL,
	// starting at the store's present or, where the range is younger than that, later; then it may be shorter. It fails
	// with ErrInvalidRequest, with ErrNoRange when every fitting range is taken, or when the store lost data and may
	// not grant anything yet, and with store.ErrClock or store.ErrWrongSecret.
	//
	// With an Owner in the request it may be called again after an unknown outcome: the same token gets the same lease,
	// if that was granted.
	Acquire(ctx context.Context, req Request) (Record, error)

	// Renew raises the high-water mark of the lease that held describes to renewal.TTL from now; it never lowers it. It
	// fails with a *LostError, which wraps ErrLost, when the store's record is not what held says.
	Renew(ctx context.Context, held Record, renewal Renewal) (Record, error)

	// Lookup reads the record of held's range back, after an unknown outcome: its Change tells whose change it shows.
	// It fails as Renew does when the owner is another one. What it returns is as durable as what Renew returns.
	Lookup(ctx context.Context, held Record) (Record, error)

	// Release gives the lease back, once no generator can use it any more: no owner, and the high-water mark lowered to
	// lastUsed, the last second that was really used (the second before Start if none was). It fails as Renew does.
	Release(ctx context.Context, held Record, lastUsed time.Time) error

	// List returns every record, ordered by FirstNode.
	List(ctx context.Context) ([]Record, error)

	// Limits returns what the store grants at most, and from when on.
	Limits(ctx context.Context) (Limits, error)

	// ReportLoss is the operator's word that the data may be an older copy, as when a backup was restored: no lease is
	// renewed that was granted before, and none is granted that starts before the floor.
	ReportLoss(ctx context.Context) error
}

// A Request says what lease is wanted.
type Request struct {
	// Nodes is how many contiguous nodes are wanted, 1 to 131,072; each gives 131,072 IDs a second.
	Nodes int

	// Below, if not 0, asks for nodes below this one only, for formats with fewer node bits than Randflake's. It is
	// Nodes at least and 131,072 at most, which bounds nothing.
	Below uint32

	TTL time.Duration // how long, in whole seconds, up to the store's MaxTTL

	// Until is the first second that IDs can't embed any more, where their format ends. The zero Time stands for
	// Randflake's end, 2058-11-05 17:10:24 UTC.
	Until time.Time

	// Owner is a fresh token, from NewToken, by which the caller holds the lease. A token serves for two minutes, and
	// for one lease: later, or once that lease was renewed or released, it is refused with ErrInvalidRequest. So
	// nothing that lasts, such as the name of a host, can make two processes share a lease. With the zero Token the
	// store makes one.
	Owner Token

	// Check is the check value of the secret that is used with the lease. The first one that a store is told is the
	// only one that it serves. The zero value says nothing of a secret.
	Check store.CheckValue
}

// A Renewal says how a lease is to be renewed.
type Renewal struct {
	TTL   time.Duration // how long from now, in whole seconds, up to the store's MaxTTL
	Until time.Time     // as in Request

	// Token becomes the Change of the record, so that its maker knows it again; see NewToken.
	Token Token
}

// Limits are what a store grants.
type Limits struct {
	store.Limits

	// Floor is the first second that may be granted, as data was lost or may have been; the zero Time if there is no
	// such bound.
	Floor time.Time

	// BarredFrom and BarredTo, exclusive, bound the seconds that an operator gave up because a clock was wrong; zero
	// Times if there are none.
	BarredFrom, BarredTo time.Time
}

// A Record is what a store keeps of one range of nodes, forever.
type Record struct {
	FirstNode, LastNode uint32 // both included

	// Owner is the token of the newest lease's holder, or zero when it was released.
	Owner Token

	// Change is the token of the newest change, and Changed the store's present then, in Unix seconds.
	Change  Token
	Changed int64

	// Version counts the changes of this record.
	Version uint64

	// Start is the first second of the newest lease, in Unix seconds.
	Start int64

	// HighWater is the newest second that any holder, past or present, may ever embed, in Unix seconds.
	HighWater int64

	// Seal is zero but in records from a store that must know its own word again, such as a service over the network. A
	// held record goes back with the seal that it came with.
	Seal Token
}

// Lease returns the interval that the holder of r may use, [Start, HighWater], as the generator takes it.
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

// The errors of stores. Those that carry more detail wrap one of these, so compare with errors.Is. Those of package
// store may come as well.
var (
	// ErrLost says that the lease is held by another owner or was released; a *LostError wraps it.
	ErrLost = errors.New("lease: lease is lost")

	// ErrNoRange says that no range of nodes is free.
	ErrNoRange = errors.New("lease: no free range of nodes")

	// ErrInvalidRequest says that a request can't be granted as it is, ever. As requests are made of the options of Keep, it
	// wraps randflake.ErrInvalidOption.
	ErrInvalidRequest = alike.Error("lease: invalid request", randflake.ErrInvalidOption)
)

// A LostError says which lease is lost, and whether its holder may go on to its end. It wraps ErrLost.
type LostError struct {
	FirstNode, LastNode uint32

	// Others is the first second that another owner was granted, or can be, on these nodes. A holder whose lease ends
	// before that shares no second with another owner, and may use its lease to the end. It must stop at once when its
	// lease ends later, or when Others is 0, which says that this second is unknown: another process holds the same
	// lease, as a copy of this one does, or got the nodes after a copy released them.
	Others int64

	Why string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%v: nodes %d to %d: %s", ErrLost, e.FirstNode, e.LastNode, e.Why)
}

func (e *LostError) Unwrap() error { return ErrLost }

// Spares reports whether the holder of a lease that ends with this second, in Unix seconds, may use it to its end.
func (e *LostError) Spares(last int64) bool { return e.Others > last }
