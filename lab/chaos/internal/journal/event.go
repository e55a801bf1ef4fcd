package journal

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// An Event is a line of a journal.
type Event struct {
	At   int64 `json:"at"`   // CLOCK_MONOTONIC, in ns
	Kind Kind  `json:"kind"` // which of the other fields are set depends on it

	Worker string `json:"worker,omitempty"` // Start: the name of the worker that writes
	Pid    int    `json:"pid,omitempty"`    // Start
	Text   string `json:"text,omitempty"`   // Note: whatever is worth knowing

	Call     uint64        `json:"call,omitempty"`     // Call, Return: which call of this process, from 1
	Op       Op            `json:"op,omitempty"`       // Call, Return
	Held     *lease.Record `json:"held,omitempty"`     // Call: of all but Acquire
	Token    lease.Token   `json:"token,omitzero"`     // Call: of Acquire the owner's, of Renew the change's
	Nodes    int           `json:"nodes,omitempty"`    // Call: of Acquire
	TTL      int64         `json:"ttl,omitempty"`      // Call: of Acquire and Renew, in seconds
	LastUsed int64         `json:"lastUsed,omitempty"` // Call: of Release, in Unix seconds
	Outcome  Outcome       `json:"outcome,omitempty"`  // Return
	Record   *lease.Record `json:"record,omitempty"`   // Return: of Acquire, Renew and Lookup that went well
	Error    string        `json:"error,omitempty"`    // Return: what the store said

	Counter string     `json:"counter,omitempty"` // Took, Closed: its name
	Handle  int        `json:"handle,omitempty"`  // Took, Closed: which one of this process and counter
	Began   int64      `json:"began,omitempty"`   // Took: when the call that gave the numbers began; At is when it had ended
	Runs    [][2]int64 `json:"runs,omitempty"`    // Took: first and last number of each run, a stride from one number to the next
	Books   *Books     `json:"books,omitempty"`   // Closed
}

// Books are what a handle on a counter says of itself in the end, in the terms of counter.Status.
type Books struct {
	Taken, Issued, Returned, Lost, Held, Unsure uint64

	Doubtful uint64 // those of Lost that were given back, or not, by calls that failed
}

// A Kind says what an Event is about.
type Kind string

// The kinds of events.
const (
	Start  Kind = "start"  // the process begins
	Stop   Kind = "stop"   // it ended by itself; without this it was killed
	Call   Kind = "call"   // a call of the store begins
	Return Kind = "return" // a call of the store ended
	Note   Kind = "note"   // anything else, such as a clock that steps
	Took   Kind = "took"   // numbers were given by a counter
	Closed Kind = "closed" // a handle on a counter was closed
)

// An Op names a method of a store.
type Op string

// The methods of a store.
const (
	Acquire Op = "acquire"
	Renew   Op = "renew"
	Lookup  Op = "lookup"
	Release Op = "release"
)

// An Outcome says how a call of the store ended.
type Outcome string

// The outcomes. All but OK and Unknown are refusals: the store says that the call had no effect.
const (
	OK      Outcome = "ok"
	Lost    Outcome = "lost"    // lease.ErrLost
	NoRange Outcome = "noRange" // lease.ErrNoRange
	Invalid Outcome = "invalid" // lease.ErrInvalidRequest
	NoStore Outcome = "noStore" // store.ErrNoStore
	Corrupt Outcome = "corrupt" // store.ErrCorrupt
	Clock   Outcome = "clock"   // store.ErrClock
	Secret  Outcome = "secret"  // store.ErrWrongSecret
	Ended   Outcome = "ended"   // randflake.ErrEndOfLife
	Unknown Outcome = "unknown" // any other error: the call may take effect at any time after its start
)

var refusals = []struct {
	err     error
	outcome Outcome
}{
	{lease.ErrLost, Lost},
	{lease.ErrNoRange, NoRange},
	{lease.ErrInvalidRequest, Invalid},
	{store.ErrNoStore, NoStore},
	{store.ErrCorrupt, Corrupt},
	{store.ErrClock, Clock},
	{store.ErrWrongSecret, Secret},
	{randflake.ErrEndOfLife, Ended},
}

// OutcomeOf returns what a store's error says of the call, by the contract of lease.Source.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return OK
	case errors.Is(err, store.ErrUnknownOutcome):
		return Unknown
	}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return r.outcome
		}
	}
	return Unknown
}

func (e Event) line() []byte {
	line, err := json.Marshal(e)
	if err != nil {
		panic("journal: " + err.Error()) // all of its fields can be marshalled
	}
	return append(line, '\n')
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
