package lease

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/randflake/randflake/store"
)

// A watch is kept on holders that seem to have gone without giving their leases back, while nobody is seen to renew a
// lease by the same clock. By a clock that is ahead all holders seem to have gone. A process that went by it would take the
// nodes of one after another, each time that it starts, for seconds that are far away. So a cell is spared until the watch
// has shown that its holder renews no more. If one of them renews, and still seems to have gone, the clock is ahead: then
// nothing is granted until nobody has done so for a while.
//
// Uniqueness does not rest on this.
type watch struct {
	Seen  map[uint32]glance `json:"seen"`            // records of holders that seem to have gone, by their first nodes
	Ahead int64             `json:"ahead,omitempty"` // when one of them was seen to have renewed, or 0
}

// A glance says since when the record of a range has its version, as far as anyone has seen.
type glance struct {
	Version uint64 `json:"v"`
	Start   int64  `json:"s"` // of the lease
	Since   int64  `json:"t"`
}

// Distrusted returns when a process last found its clock ahead of those by which others renew, or the zero Time. Processes
// that start by such a clock get store.ErrClock until half a TTL after that.
func Distrusted(ctx context.Context, space *store.Space) (time.Time, error) {
	v, err := space.Look(ctx, []string{watchName}, store.Page{})
	var w watch
	if err != nil || json.Unmarshal(v.Find(watchName).Body, &w) != nil || w.Ahead == 0 {
		return time.Time{}, err
	}
	return time.Unix(w.Ahead, 0).UTC(), nil
}

const (
	watchName = "gone" // before the records, so that Open reads it with the first of them
	maxSeen   = 500
)

// withWatch returns what to put: items, and the watch if it has changed. The watch has no second, as nothing was granted
// by it: the clock may be wrong.
func (a *acquisition) withWatch(items ...store.Item) []store.Item {
	if a.watch == nil {
		return items
	}
	body, err := json.Marshal(a.watch)
	if err != nil {
		panic(err) // never: these are numbers
	}
	return append(items, store.Item{Name: watchName, Body: body})
}

// gone reports whether a lease ended that was not given back.
func (s situation) gone(r Record) bool { return r.Owner != (Token{}) && r.HighWater < s.Now }

// renewed reports whether the holder of r has renewed its lease.
func (r Record) renewed() bool { return r.Owner != (Token{}) && r.Change != r.Owner }

// renews reports whether the holder of r has renewed, and not longer before now, or later, than a live one whose clock
// agrees. That a lease was granted shows nothing: the process whose clock is wrong may have got it.
func (s situation) renews(r Record, now int64) bool {
	return r.renewed() && r.Changed <= now+s.limits.Skew() && now-r.Changed <= r.halfTTL()+s.limits.Skew()
}

// halfTTL returns half the TTL in seconds, within which a live holder renews: it does so each third of the TTL.
func (r Record) halfTTL() int64 { return (r.HighWater - r.Changed + 1) / 2 }

// A census has the records that are known, by their first nodes.
type census map[uint32]Record

func (a *acquisition) census(seen []sight) census {
	known := census{}
	for _, r := range a.sample {
		known[r.FirstNode] = r
	}
	for _, c := range seen {
		known[c.FirstNode] = c.Record
	}
	return known
}

// renewing returns how many holders renew by a clock that says now.
func (c census) renewing(s situation, now int64) (n int) {
	for _, r := range c {
		if s.renews(r, now) {
			n++
		}
	}
	return n
}

// gone returns the holders that seem to have gone. It returns none if at least as many renew by this clock as renewed before
// they went, or if there is only one holder.
func (c census) gone(s situation) (gone []Record, agreed bool) {
	holders, renewed, here := 0, 0, 0
	for _, r := range c {
		if r.Owner != (Token{}) {
			holders++
		}
		switch {
		case s.gone(r):
			gone = append(gone, r)
			if r.renewed() {
				renewed++
			}
		case s.renews(r, s.Now):
			here++
		}
	}
	if here > 0 && here >= renewed {
		return nil, true
	}
	if holders < 2 {
		return nil, false
	}
	slices.SortFunc(gone, func(x, y Record) int { return cmp.Compare(x.FirstNode, y.FirstNode) }) // so that the first are watched
	return gone, false
}

// lookOut returns the cells with those marked as leased that must be spared. It fails with store.ErrClock if the clock is
// ahead of that of others.
func (a *acquisition) lookOut(ctx context.Context, s situation, seen []sight) ([]sight, error) {
	a.watch, a.spared, a.agreed = nil, 0, false
	known := a.census(seen)
	if _, a.agreed = known.gone(s); a.agreed {
		return seen, nil
	}
	stored, err := a.watched(ctx, s, known)
	if err != nil {
		return nil, err
	}
	gone, agreed := known.gone(s)
	if a.agreed = agreed; len(gone) == 0 {
		return seen, nil
	}
	next := stored.next(s, gone)
	if stored.behind(s, known) {
		next.Ahead = s.Now
	}
	if next.Ahead != stored.Ahead || !maps.Equal(next.Seen, stored.Seen) {
		a.watch = &next
	}
	longest := slices.MaxFunc(gone, func(x, y Record) int { return cmp.Compare(x.halfTTL(), y.halfTTL()) }).halfTTL()
	if until := next.Ahead + longest; s.Now < until {
		if a.watch != nil {
			a.space.Swap(ctx, s.View, store.Change{Put: a.withWatch()})
		}
		return nil, fmt.Errorf("%w: it says %s, and others renew leases by clocks that are far behind that: set the clock right that is wrong; if this one is right, try again from %s on", store.ErrClock, stamp(s.Now), stamp(until))
	}
	return a.spare(s, next, seen), nil
}

// spare returns the cells with those marked as leased that the watch has not shown to have no holder.
func (a *acquisition) spare(s situation, w watch, seen []sight) []sight {
	seen = slices.Clone(seen)
	for i, c := range seen {
		since := s.Now
		if g, found := w.Seen[c.FirstNode]; found && g.Version == c.Version {
			since = g.Since
		}
		if until := since + c.halfTTL(); s.gone(c.Record) && s.Now < until {
			seen[i].HighWater = until - 1
			a.spared++
		}
	}
	return seen
}

// next returns the watch with those added that seem to have gone. Times that are still to come are of a clock that is ahead.
func (w watch) next(s situation, gone []Record) watch {
	next := watch{map[uint32]glance{}, w.Ahead}
	if w.Ahead > s.Now {
		next.Ahead = 0
	}
	for _, r := range gone[:min(maxSeen, len(gone))] {
		g := glance{r.Version, r.Start, s.Now}
		if before := w.Seen[r.FirstNode]; before.Version == r.Version {
			g.Since = min(before.Since, s.Now)
		}
		next.Seen[r.FirstNode] = g
	}
	for first, g := range w.Seen { // which another clock may have to see again
		if _, found := next.Seen[first]; !found && len(next.Seen) < maxSeen {
			next.Seen[first] = g
		}
	}
	return next
}

// behind reports whether a watched holder has renewed since, by a clock that shows an earlier time than the watch, and that
// more holders renew by than by this one.
func (w watch) behind(s situation, known census) bool {
	last := int64(0)
	for first, g := range w.Seen {
		if r := known[first]; s.gone(r) && r.renewed() && r.Version > g.Version && r.Start == g.Start && r.Changed < g.Since-s.limits.Skew() {
			last = max(last, r.Changed)
		}
	}
	return last != 0 && known.renewing(s, last) > known.renewing(s, s.Now)
}

// watched returns the stored watch, and adds records to what is known: those that are watched, as far as one call reads them,
// and others.
func (a *acquisition) watched(ctx context.Context, s situation, known census) (stored watch, err error) {
	if json.Unmarshal(s.Find(watchName).Body, &stored) != nil || len(stored.Seen) == 0 {
		return watch{}, nil
	}
	var names []string
	for first := range stored.Seen {
		if _, found := known[first]; !found && len(names) < manyProbes {
			names = append(names, recordName(first))
		}
	}
	v, err := a.space.Read(ctx, names, store.Page{From: recordsFrom, To: recordsTo, Limit: store.MaxPage})
	if err != nil {
		return watch{}, err
	}
	for _, r := range records(slices.Concat(v.Page, v.Items)) {
		known[r.FirstNode] = r
	}
	return stored, nil
}

// sampled returns some of the records among items, at random.
func sampled(items []store.Item) []Record {
	const enough = 32
	from, _ := slices.BinarySearchFunc(items, recordsFrom, func(i store.Item, name string) int { return cmp.Compare(i.Name, name) })
	if items = items[from:]; len(items) > enough {
		from := rand.IntN(len(items) - enough)
		items = items[from : from+enough]
	}
	return records(items)
}

// records returns the records among items that can be read.
func records(items []store.Item) (all []Record) {
	for _, item := range items {
		if r, err := decodeRecord(item); err == nil && r.Version > 0 && item.Name == recordName(r.FirstNode) {
			all = append(all, r)
		}
	}
	return all
}
