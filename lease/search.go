package lease

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/randflake/randflake/store"
)

// search grants whatever is left, once the cells that were tried are taken: it reads all records. When no cell will do
// it merges free ones.
func (a *acquisition) search(ctx context.Context) (Record, bool, error) {
	v, err := a.space.Read(ctx, []string{hintName, watchName}, store.Page{})
	if err != nil {
		return Record{}, false, err
	}
	s, err := a.situate(v)
	if err != nil {
		return Record{}, false, err
	}
	if err := a.admit(s); err != nil {
		return Record{}, false, err
	}
	seen, err := a.scan(ctx, v, 0, allNodes)
	if err != nil {
		return Record{}, false, err
	}
	if seen, err = a.lookOut(ctx, s, seen); err != nil {
		return Record{}, false, err
	}
	if best, ok := a.best(s, seen); ok {
		return a.take(ctx, s, best)
	}
	if first, end, ok := a.window(s, seen); ok {
		return a.merge(ctx, s, first, end)
	}
	if all, closed := s.cells.open(); closed {
		_, _, err := a.space.Swap(ctx, v, store.Change{Body: all.encode()})
		return Record{}, false, err
	}
	return Record{}, false, a.refuse(ctx, s, seen)
}

// scan reads the records of the cells from node first to before node end, as they are cut in v. They need not be of one
// moment, but each is at least as new as v.
func (l *leases) scan(ctx context.Context, v *store.View, first, end uint32) (seen []sight, err error) {
	all, err := l.cellsOf(v.Meta)
	if err != nil {
		return nil, err
	}
	items := map[string]store.Item{}
	for item, err := range l.space.Items(ctx, recordName(first), recordsTo) {
		if err != nil {
			return nil, err
		}
		if item.Name >= recordName(end) && end < allNodes {
			break
		}
		items[item.Name] = item
	}
	for c := range all.each() {
		if c.first < first || c.first >= end {
			continue
		}
		name := recordName(c.first)
		item, ok := items[name]
		if !ok {
			item.Name = name
		}
		r, err := c.state(item, v.Meta)
		if err != nil {
			return nil, err
		}
		seen = append(seen, sight{r, c, item})
	}
	return seen, nil
}

// window returns the fewest nodes that will do in free cells side by side.
func (a *acquisition) window(s situation, seen []sight) (first, end uint32, ok bool) {
	from := 0 // seen[from:i] are free
	for i, c := range seen {
		if c.HighWater >= s.Now || c.LastNode >= a.Below {
			from = i + 1
			continue
		}
		upto := c.LastNode + 1
		for from < i && upto-seen[from+1].FirstNode >= uint32(a.Nodes) {
			from++
		}
		if n := upto - seen[from].FirstNode; n >= uint32(a.Nodes) && (!ok || n < end-first) {
			first, end, ok = seen[from].FirstNode, upto, true
		}
	}
	return first, end, ok
}

// merge makes one cell of free ones side by side and grants it. First it closes them: from then on nothing in there can
// be granted or renewed, as that would go by the cut as it was before. Then it makes sure that they are still free.
// Cells that stay closed, because this process ends in between, are opened by another search that finds nothing else.
func (a *acquisition) merge(ctx context.Context, s situation, first, end uint32) (Record, bool, error) {
	var closed cells
	for c := range s.cells.each() {
		if first <= c.first && c.first < end {
			closed = closed.add(run{c.first, c.run.Size, 1, c.run.Since, true})
		}
	}
	anew := s.cells.with(first, end, closed...)
	if len(anew) > maxRuns {
		return Record{}, false, fmt.Errorf("%w: for %s: nodes are in too many pieces of too many sizes", ErrNoRange, a.nodes())
	}
	done, v, err := a.space.Swap(ctx, s.View, store.Change{Body: anew.encode()})
	if err != nil || !done {
		return Record{}, false, err
	}
	if s, err = a.situate(v); err != nil {
		return Record{}, false, err
	}
	seen, err := a.scan(ctx, v, first, end)
	if err != nil {
		return Record{}, false, err
	}
	merged := seen[0].Record
	for _, c := range seen {
		if c.HighWater >= s.Now {
			all, _ := s.cells.open()
			_, _, err := a.space.Swap(ctx, v, store.Change{Body: all.encode()})
			return Record{}, false, err
		}
		merged.HighWater = max(merged.HighWater, c.HighWater)
	}
	merged.LastNode = first + uint32(a.Nodes) - 1
	granted, err := a.interval(s, merged)
	if err != nil {
		return Record{}, false, err
	}
	body := s.cells.with(first, end, cut(first, end, uint32(a.Nodes), 1, merged.HighWater)...).encode()
	return a.grant(ctx, s, granted, body, seen[0].item)
}

// open returns the cells with none of them closed, and whether any was.
func (a cells) open() (all cells, any bool) {
	for _, r := range a {
		any = any || r.Closed
		r.Closed = false
		all = all.add(r)
	}
	return all, any
}

// A hint spares the callers after a search that found nothing another search. Uniqueness does not rest on it. Like the
// watch it has no second.
type hint struct {
	// No cell for so many Nodes below Below is free before the second Until, unless one is released or the cells are
	// cut anew, as of the version Changes of the meta entry after its loss LossID.
	Nodes   int    `json:"nodes,omitempty"`
	Below   uint32 `json:"below,omitempty"`
	Since   int64  `json:"since,omitempty"`
	Until   int64  `json:"until,omitempty"`
	Changes uint64 `json:"changes,omitempty"`
	LossID  string `json:"lossID,omitempty"`
	Ahead   int    `json:"ahead,omitempty"` // how many are marked further ahead than any lease may reach
}

const hintName = "hint"

func (h hint) item() store.Item {
	body, err := json.Marshal(h)
	if err != nil {
		panic(err) // never: these are numbers and texts
	}
	return store.Item{Name: hintName, Body: body}
}

// hinted refuses by the hint, if there is one for what is wanted.
func (a *acquisition) hinted(s situation) error {
	var h hint
	if json.Unmarshal(s.Find(hintName).Body, &h) != nil {
		return nil
	}
	if h.Nodes == 0 || h.Nodes > a.Nodes || h.Below < a.Below || s.Now < h.Since || s.Now >= h.Until || h.Changes != s.Meta.Changes || h.LossID != s.Meta.LossID {
		return nil
	}
	err := fmt.Errorf("%w: for %s: all are leased, until %s at least unless one is released", ErrNoRange, a.nodes(), stamp(h.Until))
	return fmt.Errorf("%w: try again, or ask for fewer nodes", withAhead(err, h.Ahead))
}

// withAhead adds to err what only an operator can mend.
func withAhead(err error, ranges int) error {
	if ranges == 0 {
		return err
	}
	return fmt.Errorf("%w, %d are marked further ahead than any lease may reach: was a clock wrong? see randflake lease forgive-clock", err, ranges)
}

// refuse leaves a hint, and explains why nothing can be granted.
func (a *acquisition) refuse(ctx context.Context, s situation, seen []sight) error {
	leased, ahead, across := 0, 0, 0
	until := s.Now + s.limits.TTL()
	for _, c := range seen {
		switch {
		case c.FirstNode >= a.Below: // of no concern
		case c.LastNode >= a.Below:
			across++
		case c.HighWater > s.Now+s.limits.TTL():
			ahead++
		case c.HighWater >= s.Now:
			leased++
			until = min(until, c.HighWater+1)
		}
	}
	h := hint{Nodes: a.Nodes, Below: a.Below, Since: s.Now, Until: until, Changes: s.Meta.Changes, LossID: s.Meta.LossID, Ahead: ahead}
	if until > s.Now {
		a.space.Swap(ctx, s.View, store.Change{Expect: []store.Item{s.Find(hintName)}, Put: a.withWatch(h.item())})
	}
	err := fmt.Errorf("%w: for %s: %d ranges are leased", ErrNoRange, a.nodes(), leased)
	if across > 0 {
		err = fmt.Errorf("%w, %d reach beyond", err, across)
	}
	if a.spared > 0 {
		err = fmt.Errorf("%w, of which %d seem to have ended, but a clock may be ahead, as nobody renews a lease by this one: they are free from %s on, unless renewed", err, a.spared, stamp(until))
	}
	return fmt.Errorf("%w: release one, wait until one ends, or ask for fewer nodes", withAhead(err, ahead))
}
