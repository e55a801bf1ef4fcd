// Package lease grants disjoint leases on nodes, and keeps the lease of a generator alive.
//
// Randflake IDs are unique as long as no two generators embed the same second for the same node. A [Source] ensures
// that. It has one permanent [Record] for each range of nodes that it ever granted, with the newest second that any
// holder may ever embed, and grants the range again only for later seconds. What counts is the second in an ID, not the
// moment at which the ID is made. So a clock that steps, a process that sleeps or a message that is late costs
// availability, but makes no duplicate.
//
// Services call [Keep]: it acquires a lease, returns a [Keeper] with a generator, renews the lease in the background and
// releases it on Close. [On] makes a Source of a space that package store has opened in a directory, SQLite, etcd,
// Redis, PostgreSQL or MariaDB.
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

// A Source grants leases on ranges of nodes. Each change of a record is one atomic and durable compare-and-set: once a
// method has returned without an error, no crash of the store undoes the change. After store.ErrUnknownOutcome, and after
// an error that is neither of this package nor of package store, the outcome is unknown, and the Source does not try
// again.
//
// A Source is safe for concurrent use, and many processes may use the same data.
type Source interface {
	// Acquire grants a lease on req.Nodes nodes to a new owner, for req.TTL from the store's present. If the nodes were
	// used until later than that, the lease starts later, and may be shorter. Acquire returns ErrInvalidRequest,
	// store.ErrClock, store.ErrWrongSecret, or ErrNoRange if every suitable range is taken, or if the store has lost
	// data and can't grant anything yet.
	//
	// After an unknown outcome Acquire may be called again with the same Owner and Retry, and returns the lease that was
	// granted.
	Acquire(ctx context.Context, req Request) (Record, error)

	// Renew extends the lease held to renewal.TTL from now; it never shortens it. If the stored record differs from held,
	// it returns a *LostError, which wraps ErrLost.
	Renew(ctx context.Context, held Record, renewal Renewal) (Record, error)

	// Lookup reads the record of held's range after an unknown outcome; its Change says which change was the last one. If
	// the owner has changed, Lookup returns a *LostError. The returned record is as durable as that of Renew.
	Lookup(ctx context.Context, held Record) (Record, error)

	// Release gives the lease back, once no generator can use it any more: the record has no owner then, and its
	// high-water mark is lastUsed, the last second that was really used (the second before Start if none was). If the
	// stored record differs from held, Release returns a *LostError.
	Release(ctx context.Context, held Record, lastUsed time.Time) error

	// List returns every record, ordered by FirstNode. A Source that serves several users may replace the owner by a
	// hash, and leave out change and signature, so that only the holder can renew a lease.
	List(ctx context.Context) ([]Record, error)

	// Limits returns the limits of what the store grants.
	Limits(ctx context.Context) (Limits, error)

	// ReportLoss says that the data may be an older copy, for instance a restored backup. From then on no earlier lease is
	// renewed, and no lease is granted that starts before the floor.
	ReportLoss(ctx context.Context) error
}

// A Request describes the wanted lease.
type Request struct {
	// Nodes is the number of contiguous nodes, 1 to 131,072. Each makes 131,072 IDs a second.
	Nodes int

	// Below, if not 0, restricts the lease to nodes below this one, for formats with fewer node bits than Randflake's.
	// It is at least Nodes and at most 131,072.
	Below uint32

	TTL time.Duration // in whole seconds, up to the store's MaxTTL

	// Until is the first second after the end of the ID format. The zero Time stands for the end of Randflake,
	// 2058-11-05 17:10:24 UTC.
	Until time.Time

	// Owner is the owner token of the lease, a new one from NewToken. A token is good for two minutes and for one lease:
	// later, or once the lease was renewed or released, it is refused with ErrInvalidRequest. So no permanent name, such
	// as a host name, can make two processes share a lease. For the zero Token the store makes one.
	Owner Token

	// Retry says that an earlier call with the same Owner had an unknown outcome.
	Retry bool

	// Keys are those of the secret that makes IDs under the lease, by store.KeysOf. The first request with keys binds the
	// space to the first of them; Rotate adds the others. If the space and the secret differ in a later key, the lease ends
	// before that key begins.
	Keys store.Keys

	// Label says who wants the lease, for people: see Record.
	Label string
}

// A Renewal describes how to renew a lease.
type Renewal struct {
	TTL   time.Duration // from now, in whole seconds, up to the store's MaxTTL
	Until time.Time     // as in Request

	// Token becomes the Change of the record, by which the caller recognizes it; see NewToken.
	Token Token

	Keys store.Keys // as in Request
}

// Limits are the limits of a store, and the seconds that it does not grant.
type Limits struct {
	store.Limits

	// Floor is the first second that may be granted after a loss of data, or the zero Time.
	Floor time.Time

	// Seconds from BarredFrom to BarredTo, exclusive, are never granted, because an operator has forgiven a fast clock.
	// Both are zero Times otherwise.
	BarredFrom, BarredTo time.Time
}

// A Record is the permanent record of one range of nodes.
type Record struct {
	FirstNode, LastNode uint32 // both included

	// Owner is the owner token of the newest lease, or zero if that was released.
	Owner Token

	// Change is the token of the newest change, and Changed its time by the store, in Unix seconds.
	Change  Token
	Changed int64

	// Version counts the changes of this record.
	Version uint64

	// Start is the first second of the newest lease, in Unix seconds.
	Start int64

	// HighWater is the newest second that any holder, past or present, may ever embed, in Unix seconds.
	HighWater int64

	// Label says who got the newest lease, such as host and process, as that process named itself. It stays when the
	// lease is released. It has up to 80 visible ASCII characters; Acquire cuts a longer one, and puts "_" in place of
	// other characters.
	Label string

	// Signature is the signature of a service over the network, which must recognize its own records. It is sent back
	// unchanged, and is zero in records of other stores.
	Signature Token
}

// Lease returns the nodes and the seconds that the holder of r may use, for a generator.
func (r Record) Lease() randflake.Lease {
	return randflake.Lease{
		FirstNode: r.FirstNode,
		LastNode:  r.LastNode,
		Start:     time.Unix(r.Start, 0).UTC(),
		End:       time.Unix(r.HighWater+1, 0).UTC(),
	}
}

// Nodes returns the number of nodes of the range.
func (r Record) Nodes() int { return int(r.LastNode) - int(r.FirstNode) + 1 }

// The errors of a Source, beside those of package store. An error with more detail wraps one of them, so compare with
// errors.Is.
var (
	// ErrLost says that the lease is held by another owner or was released; a *LostError wraps it.
	ErrLost = errors.New("lease: lease is lost")

	// ErrNoRange says that no range of nodes is free.
	ErrNoRange = errors.New("lease: no free range of nodes")

	// ErrNoLease says that there is no lease on a node to be revoked.
	ErrNoLease = errors.New("lease: no lease on the node")

	// ErrInvalidRequest says that a request can never be granted as it is. It wraps randflake.ErrInvalidOption, because
	// the options of Keep become requests.
	ErrInvalidRequest = alike.Error("lease: invalid request", randflake.ErrInvalidOption)
)

// A LostError says which lease is lost, and whether its holder may use it to its end. It wraps ErrLost.
type LostError struct {
	FirstNode, LastNode uint32

	// Others is the first second on these nodes that another owner has been granted or may be granted. If the lost
	// lease ends before that, no second is shared, and its holder may use it to the end. Otherwise the holder must stop
	// at once. 0 means that the second is unknown: a copy of this process holds the same lease, or the record has
	// changed more than once, so that a copy may have used more seconds than this process knows of.
	Others int64

	Why string
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%v: nodes %d to %d: %s", ErrLost, e.FirstNode, e.LastNode, e.Why)
}

func (e *LostError) Unwrap() error { return ErrLost }

// Spares reports whether the holder of a lost lease whose last Unix second is last may use it to its end.
func (e *LostError) Spares(last int64) bool { return e.Others > last }
