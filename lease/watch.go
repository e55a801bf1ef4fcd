package lease

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/randflake/randflake/store"
)

// A watch is kept on holders that seem to have gone without giving their leases back, while nobody is seen to renew a
// lease by the same clock. By a clock that is ahead all holders seem to have gone. A process that went by it would take the
// nodes of one after another, each time that it starts, for seconds that are far away. So their cells are spared until the
// watch has shown that they renew no more. If one of them renews, and still seems to have gone, the clock is ahead: then
// nothing is granted until another watch has shown that nobody does any more.
//
// Uniqueness does not rest on this.
type watch struct {
	At    int64     `json:"at"`
	Seen  []watched `json:"seen"` // those that renewed first, the newest changes first
	Ahead bool      `json:"ahead,omitempty"`
}

type watched struct {
	First   uint32 `json:"first"`
	Owner   Token  `json:"owner"`
	Version uint64 `json:"version"`
	Changed int64  `json:"changed"`
}

const (
	watchName  = "gone" // before the records, so that Open reads it with the first of them
	watchCells = 4
)

// withWatch returns what to put: items, and the watch if it is a new one.
func (a *acquisition) withWatch(items ...store.Item) []store.Item {
	if a.watch == nil {
		return items
	}
	body, err := json.Marshal(a.watch)
	if err != nil {
		panic(err) // never: these are numbers
	}
	return append(items, store.Item{Name: watchName, Second: a.watch.At, Body: body})
}

// gone reports whether a lease ended that was not given back.
func (s situation) gone(r Record) bool { return r.Owner != (Token{}) && r.HighWater < s.Now }

// renewed reports whether the holder of r has renewed its lease.
func (r Record) renewed() bool { return r.Owner != (Token{}) && r.Change != r.Owner }

// renews reports whether the holder of r has renewed, and not longer before now, or later, than a live one whose clock
// agrees. That a lease was granted shows nothing: the process whose clock is wrong may have got it.
func (s situation) renews(r Record, now int64) bool {
	return r.renewed() && r.Changed <= now+s.limits.Skew() && now-r.Changed <= r.patience()+s.limits.Skew()
}

// patience returns the time in seconds within which a live holder renews: it does so each third of the TTL.
func (r Record) patience() int64 { return (r.HighWater - r.Changed + 1) / 2 }

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

// gone returns the holders that seem to have gone: those that renewed first, the newest changes first. It returns none if at
// least as many renew by this clock as renewed before they went, or if there is only one holder.
func (c census) gone(s situation) (gone []Record, agreed bool) {
	holders, renewed := 0, 0
	for _, r := range c {
		if r.Owner != (Token{}) {
			holders++
		}
		if s.gone(r) {
			gone = append(gone, r)
			if r.renewed() {
				renewed++
			}
		}
	}
	if here := c.renewing(s, s.Now); here > 0 && here >= renewed {
		return nil, true
	}
	if holders < 2 {
		return nil, false
	}
	slices.SortFunc(gone, func(x, y Record) int {
		if x.renewed() != y.renewed() {
			return map[bool]int{true: -1, false: 1}[x.renewed()]
		}
		return cmp.Or(cmp.Compare(y.Changed, x.Changed), cmp.Compare(x.FirstNode, y.FirstNode))
	})
	return gone, false
}

// lookOut returns the cells with those marked as leased that must be spared. It fails with store.ErrClock if the clock is
// ahead of that of others.
func (a *acquisition) lookOut(ctx context.Context, s situation, seen []sight) ([]sight, error) {
	a.watch, a.spared, a.agreed = nil, 0, false
	if len(a.sample) == 0 && !slices.ContainsFunc(seen, func(c sight) bool { return s.gone(c.Record) }) {
		return seen, nil
	}
	known := a.census(seen)
	var gone []Record
	if gone, a.agreed = known.gone(s); a.agreed {
		return seen, nil
	}
	stored, behind, err := a.watched(ctx, s, known)
	if err != nil {
		return nil, err
	}
	if gone, a.agreed = known.gone(s); len(gone) == 0 {
		return seen, nil
	}
	now, patience := watch{At: s.Now, Ahead: behind}, int64(0)
	for _, r := range gone[:min(watchCells, len(gone))] {
		patience = max(patience, r.patience())
		now.Seen = append(now.Seen, watched{r.FirstNode, r.Owner, r.Version, r.Changed})
	}
	ends := stored.At + patience
	if stored.At == 0 || ends <= s.Now && (behind || now.Seen[0] != stored.Seen[0]) {
		a.watch, ends = &now, s.Now+patience
	}
	if behind || stored.Ahead && s.Now < ends {
		if a.watch != nil {
			a.space.Swap(ctx, s.View, store.Change{Put: a.withWatch()})
		}
		return nil, fmt.Errorf("%w: it says %s, and others renew leases by clocks that are far behind that: set the clock right that is wrong; if this one is right, try again from %s on", store.ErrClock, stamp(s.Now), stamp(ends))
	}
	if ends <= s.Now {
		return seen, nil
	}
	seen = slices.Clone(seen)
	for i, c := range seen {
		if s.gone(c.Record) {
			seen[i].HighWater = ends - 1
			a.spared++
		}
	}
	return seen, nil
}

// watched returns the stored watch, and whether a holder that it is on renewed since, by a clock that is behind and that more
// holders renew by than by this one. It adds what it reads to what is known.
func (a *acquisition) watched(ctx context.Context, s situation, known census) (stored watch, behind bool, err error) {
	if json.Unmarshal(s.Find(watchName).Body, &stored) != nil || stored.At > s.Now || len(stored.Seen) == 0 {
		return watch{}, false, nil
	}
	var names []string
	for _, w := range stored.Seen {
		names = append(names, recordName(w.First))
	}
	v, err := a.space.Read(ctx, names, store.Page{From: recordsFrom, To: recordsTo, Limit: store.MaxPage})
	if err != nil {
		return watch{}, false, err
	}
	for _, r := range records(slices.Concat(v.Page, v.Items)) {
		known[r.FirstNode] = r
	}
	last := int64(0) // when one of them renewed
	for _, w := range stored.Seen {
		if r := known[w.First]; r.Owner == w.Owner && r.Version > w.Version {
			last = max(last, r.Changed)
		}
	}
	return stored, last != 0 && known.renewing(s, last) > known.renewing(s, s.Now), nil
}

// sampled returns some of the records among items, at random.
func sampled(items []store.Item) []Record {
	const enough = 64
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
