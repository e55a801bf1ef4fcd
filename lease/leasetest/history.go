package leasetest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/randflake/randflake/lease"
)

// A Clock stands still until it is told to move, in either direction. It is safe for concurrent
// use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the time that c shows. The method value c.Now is what stores and generators take
// as their clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set makes c show now.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// Advance moves c by d, back if d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A History notes what holders were told they may embed, and finds any second of any node that
// two of them may. It is safe for concurrent use; the zero History is empty.
type History struct {
	mu    sync.Mutex
	spans map[lease.Token]span
}

// A span is a rectangle of nodes and seconds, all four bounds included.
type span struct {
	owner                 lease.Token
	firstNode, lastNode   uint32
	firstSecond, lastUsed int64
}

// Granted notes a record that Acquire, Renew or Lookup returned to its holder.
func (h *History) Granted(rec lease.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.spans == nil {
		h.spans = make(map[lease.Token]span)
	}
	s, ok := h.spans[rec.Owner]
	if !ok {
		s = span{rec.Owner, rec.FirstNode, rec.LastNode, rec.Start, rec.HighWater}
	}
	s.lastUsed = max(s.lastUsed, rec.HighWater)
	h.spans[rec.Owner] = s
}

// Released notes that the holder of held embedded no second after lastUsed and never will. It
// must be called before the store's Release is, for the range may be granted anew at once.
func (h *History) Released(held lease.Record, lastUsed time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s, ok := h.spans[held.Owner]; ok {
		s.lastUsed = min(s.lastUsed, lastUsed.Unix())
		h.spans[held.Owner] = s
	}
}

// Len returns how many leases h knows.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.spans)
}

// Check returns an error that names two leases which share a second of a node, or nil when there
// are none.
func (h *History) Check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	spans := make([]span, 0, len(h.spans))
	for _, s := range h.spans {
		if s.firstSecond <= s.lastUsed {
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.firstSecond, b.firstSecond) })
	for i, a := range spans {
		for _, b := range spans[i+1:] {
			if b.firstSecond > a.lastUsed {
				break
			}
			if a.firstNode <= b.lastNode && b.firstNode <= a.lastNode {
				return fmt.Errorf("storetest: granted twice: second %d of node %d: %v and %v",
					b.firstSecond, max(a.firstNode, b.firstNode), a, b)
			}
		}
	}
	return nil
}

// String describes s for error messages.
func (s span) String() string {
	return fmt.Sprintf("owner %v: nodes %d to %d, seconds %d to %d", s.owner, s.firstNode, s.lastNode, s.firstSecond, s.lastUsed)
}
