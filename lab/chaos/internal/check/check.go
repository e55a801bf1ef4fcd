// Package check finds out from the journals of worker processes whether any ID was made twice, or
// might have been. It makes four checks, each on evidence of its own:
//
//   - No raw value of an ID occurs twice in the whole run.
//   - Each ID's second and node lie inside a lease that the store had granted to that very process
//     before it made the ID, and not after the last second that the process gave the lease back with.
//   - No two leases share a second of a node.
//   - The calls of the store about each lease, as the workers saw them, are linearizable: as if each had
//     taken effect at one moment between its start and its end, by the rules of package lease.
package check

import (
	"time"

	"github.com/randflake/randflake"
)

// A Config says how to check.
type Config struct {
	Secret randflake.Secret

	// Keep keeps the segments that were checked; otherwise they are deleted.
	Keep bool

	// Timeout is how long the search for a linearization may take; zero stands for a minute.
	Timeout time.Duration

	// Picture is where an HTML page goes that shows the calls that can't be linearized, if there
	// are any; empty for none.
	Picture string
}

// A Verdict is what came of the search for a linearization.
type Verdict string

// The verdicts. Undecided is no pass: the search took too long.
const (
	Linearizable Verdict = "linearizable"
	Violated     Verdict = "not linearizable"
	Undecided    Verdict = "undecided"
)

// An Origin is where an ID was made.
type Origin struct {
	Worker  string `json:"worker"`
	Segment string `json:"segment"`
}

// A Duplicate is a raw value that was made twice.
type Duplicate struct {
	Second   int64  `json:"second"` // Unix seconds
	Node     uint32 `json:"node"`
	Sequence uint32 `json:"sequence"`
	First    Origin `json:"first"`
	Again    Origin `json:"again"`
}

// A Result is what a Checker found. Of each kind of fault it shows the first few.
type Result struct {
	Processes int    `json:"processes"`
	Killed    int    `json:"killed"` // processes that did not end by themselves
	Made      uint64 `json:"made"`   // IDs
	Written   uint64 `json:"written"`
	Runs      uint64 `json:"runs"` // of consecutive raw values, within segments

	Calls    map[string]uint64 `json:"calls"`    // of the store, by operation and outcome: "renew lost"
	Refusals map[string]uint64 `json:"refusals"` // of generators, by class
	Leases   int               `json:"leases"`

	Duplicates      uint64         `json:"duplicates"` // IDs that were made once more
	FirstDuplicates []Duplicate    `json:"firstDuplicates,omitempty"`
	LastDuplicate   int64          `json:"lastDuplicate,omitempty"` // the latest second that a duplicate carries
	Outside         uint64         `json:"outside"`                 // IDs outside of any lease of their process
	FirstOutside    []OutsideLease `json:"firstOutside,omitempty"`
	Overlap         string         `json:"overlap,omitempty"` // two leases that share a second of a node, or an owner
	Linearizable    Verdict        `json:"linearizable"`
	Violations      []string       `json:"violations,omitempty"` // leases whose calls are not, or undecided
}

// An OutsideLease stands for IDs that no lease of their process allowed.
type OutsideLease struct {
	Origin Origin `json:"origin"` // of IDs that were released, only the worker is known
	Second int64  `json:"second"`
	Node   uint32 `json:"node"`
	Count  uint64 `json:"count"`
	Why    string `json:"why"`
}

// few is how many faults of a kind a Result shows.
const few = 10

// OK reports whether nothing was found, and nothing left undecided.
func (r Result) OK() bool {
	return r.Duplicates == 0 && r.Outside == 0 && r.Overlap == "" && r.Linearizable == Linearizable
}
