package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/protocol"
	"github.com/randflake/randflake/store"
)

// leases is the Source of On.
type leases struct {
	space *store.Space

	mu    sync.Mutex
	meta  *store.Meta // whose cells these are
	cells cells
}

// On returns the Source of the leases in a space. All generators with one secret must have their leases from one space.
// The caller closes the space.
func On(space *store.Space) Source { return &leases{space: space} }

// cellsOf returns how the nodes are cut.
func (l *leases) cellsOf(meta *store.Meta) (cells, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.meta != meta {
		all, err := decodeCells(meta.Body)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w: nothing was changed", store.ErrCorrupt, l.space, err)
		}
		l.meta, l.cells = meta, all
	}
	return l.cells, nil
}

// Renew implements Source. It takes one round trip unless the record or the space has changed.
func (l *leases) Renew(ctx context.Context, held Record, renewal Renewal) (renewed Record, err error) {
	until, err := untilSecond(renewal.Until)
	if err != nil {
		return Record{}, err
	}
	now, err := l.update(ctx, held, open, func(v *store.View, current Record) (Record, error) {
		limits := v.Meta.Limits()
		if err := checkTTL(renewal.TTL, limits); err != nil {
			return Record{}, err
		}
		if err := l.holds(v, held, current); err != nil { // before the clock: that may stand still in a copy
			return Record{}, err
		}
		if err := v.Clock(); err != nil {
			return Record{}, err
		}
		if v.Now > current.HighWater+limits.TTL()+limits.Skew() { // Acquire checks the clock
			return Record{}, &LostError{held.FirstNode, held.LastNode, current.HighWater + 1, "it ended long ago"}
		}
		changed, err := v.CheckSecret(renewal.Keys, v.Now)
		if err != nil {
			return Record{}, fmt.Errorf("%s: %w", l.space, err)
		}
		last := min(v.Now+seconds(renewal.TTL), until, changed) - 1
		if b := v.Meta.Barred; b != nil && current.Start < b.From {
			last = min(last, b.From-1)
		}
		renewed = current
		renewed.Version++
		renewed.Change, renewed.Changed = renewal.Token, v.Now
		renewed.HighWater = max(current.HighWater, last)
		return renewed, nil
	})
	if err != nil {
		return Record{}, err
	}
	if late := now + seconds(renewal.TTL)/2 - 1 - renewed.HighWater; late > 0 && renewed.HighWater+1 < until && !l.capped(renewed, renewal.Keys) {
		// The process was suspended, so the time it assumed was long past. The first renewal stays in force.
		again, err := l.Renew(ctx, renewed, renewal)
		if err == nil || errors.As(err, new(protocol.UnknownError)) {
			return again, err
		}
	}
	return renewed, nil
}

// capped reports whether r ends where seconds are barred, or where its holder lacks the key.
func (l *leases) capped(r Record, keys store.Keys) bool {
	v := l.space.Assume()
	changed, _ := v.CheckSecret(keys, 0)
	b := v.Meta.Barred
	return b != nil && r.HighWater == b.From-1 || r.HighWater == changed-1
}

// Release implements Source. It also removes the hint that saves callers a search.
func (l *leases) Release(ctx context.Context, held Record, lastUsed time.Time) error {
	_, err := l.update(ctx, held, evenClosed, func(v *store.View, current Record) (Record, error) {
		if held.Owner == (Token{}) || current.Owner != held.Owner || current.Version != held.Version || current.Change != held.Change {
			return Record{}, lost(held, current, "its record has changed")
		}
		current.Owner, current.Changed = Token{}, v.Now
		current.Version++
		current.HighWater = min(current.HighWater, max(lastUsed.Unix(), current.Start-1))
		return current, nil
	}, hint{}.item())
	return err
}

// Lookup implements Source. It writes the record back unchanged, which makes it as durable as a renewed one.
func (l *leases) Lookup(ctx context.Context, held Record) (found Record, err error) {
	_, err = l.state(held, open).Update(ctx, nil, Record{}, func(v *store.View, current Record) ([]store.Item, error) {
		if held.Owner == (Token{}) || current.Owner != held.Owner {
			return nil, lost(held, current, "somebody else holds it, or nobody")
		}
		found = current
		if current.Start < v.Meta.Floor {
			// It may have been raised after a loss of data, by a store that had lost the record of an owner that took
			// the range over.
			found.HighWater = min(current.HighWater, held.HighWater)
		}
		return []store.Item{v.Find(recordName(held.FirstNode))}, nil
	})
	if err != nil {
		return Record{}, err
	}
	return found, nil
}

// update replaces the record of held's range by the result of decide, and puts other items with it. It first assumes that
// the stored record is held. It returns the current time by the last answer.
func (l *leases) update(ctx context.Context, held Record, which cellState, decide func(*store.View, Record) (Record, error), also ...store.Item) (now int64, err error) {
	assumed := l.space.Assume(held.item())
	current, err := l.current(assumed, held, held, which)
	if err != nil {
		return 0, err
	}
	v, err := l.state(held, which).Update(ctx, assumed, current, func(v *store.View, current Record) ([]store.Item, error) {
		next, err := decide(v, current)
		if err != nil {
			return nil, err
		}
		return append([]store.Item{next.item()}, also...), nil
	})
	if err != nil {
		return 0, err
	}
	return v.Now, nil
}

// state is the record of held's range, as current has it.
func (l *leases) state(held Record, which cellState) protocol.State[Record] {
	name := recordName(held.FirstNode)
	var last Record
	return protocol.State[Record]{
		Space: l.space, Names: []string{name}, What: "a lease's record",
		Decode: func(v *store.View) (Record, error) {
			stored, err := decodeRecord(v.Find(name))
			if err != nil {
				return Record{}, err
			}
			last = stored
			return l.current(v, held, stored, which)
		},
		WentBack: func(v *store.View, _ Record) bool { return forgotten(v, held, last) },
	}
}

// forgotten reports whether the stored record lacks the change that held shows. The versions of a record only grow, also
// when its range is granted to others, split or merged. For a lease that starts before the floor this proves no new loss,
// and neither does a lease that starts or ends later than any lease can.
func forgotten(v *store.View, held, current Record) bool {
	limits := v.Meta.Limits()
	return held.Start >= v.Meta.Floor && !v.Meta.Barred.Has(held.HighWater) &&
		held.Start < v.Now+limits.TTL()+limits.Skew() &&
		(current.Version < held.Version || current.Version == held.Version && !same(current.Change, held.Change))
}

// same reports whether two changes are the same, as far as both are known.
func same(a, b Token) bool { return a == b || a == (Token{}) || b == (Token{}) }

// A cellState says in which cells a record may be changed: while a caller is about to merge cells, they are closed.
type cellState bool

const (
	open       cellState = false
	evenClosed cellState = true // to release a lease, which only frees what the merge is about
)

// current returns the record of held's range, of the cell that has its first node, where that record is stored.
func (l *leases) current(v *store.View, held, stored Record, which cellState) (Record, error) {
	all, err := l.cellsOf(v.Meta)
	if err != nil {
		return Record{}, err
	}
	if held.FirstNode > randflake.MaxNode {
		return Record{}, fmt.Errorf("%w: first node %d", ErrInvalidRequest, held.FirstNode)
	}
	c, begins := all.find(held.FirstNode)
	if !begins || c.last() != held.LastNode || c.run.Closed && which == open {
		// Merged with others, or split, which is done only to nodes that had no holder by the clock of the process that
		// did it. That counts as a version.
		version := stored.Version
		if copied(held, stored) || version == held.Version && stored.Change == held.Change {
			version++
		}
		return Record{FirstNode: held.FirstNode, LastNode: held.LastNode, Version: version, HighWater: c.run.Since, Start: c.run.Since + 1}, nil
	}
	r := c.current(stored, v.Meta)
	if r.Change != stored.Change && (copied(held, stored) || r.Version == held.Version && stored.Change == held.Change) {
		r.Version++ // as above
	}
	return r, nil
}

// copied reports whether the stored record is what another process made of held: a copy of its holder, or an operator.
func copied(held, stored Record) bool {
	return stored.Version > held.Version && (stored.Owner == held.Owner || stored.Owner == Token{})
}

// holds returns an error unless held is current.
func (l *leases) holds(v *store.View, held, current Record) error {
	switch {
	case held.Start < v.Meta.Floor && (current.Version < held.Version || current.Version == held.Version && current.Change == held.Change):
		others := v.Meta.Floor
		if current.Owner != held.Owner && current.HighWater >= held.Start { // granted after the loss, before it was noticed
			others = min(others, current.Start)
		}
		return &LostError{held.FirstNode, held.LastNode, others, "it is older than a loss of the store's data"}
	case held.Owner == (Token{}) || current.Owner != held.Owner:
		return lost(held, current, "somebody else holds it, or nobody")
	case current.Version != held.Version || current.Change != held.Change:
		return lost(held, current, "another process renewed it: is this one a copy?")
	}
	return nil
}

// lost returns the error of a lease in whose place there is current. Only if current is the next version after held is it
// certain that no copy of held's process has used seconds after those that held knows of.
func lost(held, current Record, why string) error {
	others := current.Start
	if current.Version != held.Version+1 {
		others = 0
	}
	return &LostError{held.FirstNode, held.LastNode, others, why}
}

// List implements Source.
func (l *leases) List(ctx context.Context) ([]Record, error) {
	v, err := l.space.Look(ctx, nil, store.Page{})
	if err != nil {
		return nil, err
	}
	found, err := l.scan(ctx, v, 0, allNodes)
	var records []Record
	for _, s := range found {
		if s.Change != (Token{}) {
			records = append(records, s.Record)
		}
	}
	return records, err
}

// Limits implements Source.
func (l *leases) Limits(ctx context.Context) (Limits, error) {
	meta, err := l.space.Info(ctx)
	if err != nil {
		return Limits{}, err
	}
	return limitsOf(&meta), nil
}

func limitsOf(meta *store.Meta) Limits {
	limits := Limits{Limits: meta.Limits()}
	if meta.Floor != 0 {
		limits.Floor = time.Unix(meta.Floor, 0).UTC()
	}
	if b := meta.Barred; b != nil {
		limits.BarredFrom, limits.BarredTo = time.Unix(b.From, 0).UTC(), time.Unix(b.To, 0).UTC()
	}
	return limits
}

// ReportLoss implements Source.
func (l *leases) ReportLoss(ctx context.Context) error {
	return l.space.ReportLoss(ctx, "an operator reported it")
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
