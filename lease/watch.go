package lease

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/randflake/randflake/store"
)

// A watch is kept on holders that seem to have gone long ago without giving their lease back. When their records
// advance nevertheless, and still lie far behind the clock, then it is the clock that is ahead: a process that went by
// it would mark one range after another with seconds that are far away, and nobody else could use them until then.
type watch struct {
	At   int64     `json:"at"`
	Seen []watched `json:"seen"`
}

type watched struct {
	First   uint32 `json:"first"`
	Version uint64 `json:"version"`
}

const (
	watchName  = "watch"
	watchCells = 4
)

// long returns a second that is so long past that a holder whose lease ended then seems to be gone.
func (s situation) long() int64 { return s.Now - s.limits.TTL() - s.limits.Skew() }

// gone reports whether the cell had a holder long ago that never gave it back.
func (c sight) gone(s situation) bool { return c.Owner != (Token{}) && c.HighWater < s.long() }

// watchedNames returns the records that were watched when this handle looked last, but for those in names.
func (l *leases) watchedNames(names []string) (more []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.watch.Seen {
		if name := recordName(w.First); !slices.Contains(names, name) {
			more = append(more, name)
		}
	}
	return more
}

// lookOut fails with store.ErrClock when the clock is ahead of that of others, and otherwise returns what to put so
// that the next one finds out. Only where some holder seems to have gone long ago is there anything to do.
func (a *acquisition) lookOut(ctx context.Context, s situation, seen []sight) (put []store.Item, err error) {
	var gone []sight
	for _, c := range seen {
		if c.gone(s) {
			gone = append(gone, c)
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	var before watch
	if item := s.Find(watchName); item.Body == nil || json.Unmarshal(item.Body, &before) != nil || before.At > s.Now {
		before = watch{}
	}
	a.mu.Lock()
	a.watch = before
	a.mu.Unlock()
	advanced, err := a.advanced(ctx, s, before)
	if err != nil {
		return nil, err
	}
	if near, err := a.near(ctx, s, advanced); err != nil {
		return nil, err
	} else if advanced > near {
		return nil, fmt.Errorf("%w: it says %s, and others renew leases that ended before %s: set the clock right that is wrong", store.ErrClock, stamp(s.Now), stamp(s.long()))
	}
	if s.Now-before.At < s.limits.TTL() {
		return nil, nil
	}
	slices.SortFunc(gone, func(x, y sight) int { return cmp.Compare(y.HighWater, x.HighWater) })
	now := watch{At: s.Now}
	for _, c := range gone[:min(watchCells, len(gone))] {
		now.Seen = append(now.Seen, watched{c.FirstNode, c.Version})
	}
	body, err := json.Marshal(now)
	if err != nil {
		panic(err) // never: these are numbers
	}
	return []store.Item{{Name: watchName, Second: s.Now, Body: body}}, nil
}

// near counts holders whose records agree with the clock, among the first of all, where any advanced behind it. One
// process that is slow must not stop processes that agree with each other.
func (a *acquisition) near(ctx context.Context, s situation, advanced int) (n int, err error) {
	if advanced == 0 {
		return 0, nil
	}
	v, err := a.space.Read(ctx, nil, store.Page{From: recordsFrom, To: recordsTo, Limit: store.MaxPage})
	if err != nil {
		return 0, err
	}
	for _, item := range v.Page {
		r, err := decodeRecord(item)
		if err != nil {
			return 0, err
		}
		if r.Owner != (Token{}) && r.HighWater >= s.long() && r.HighWater <= s.Now+s.limits.TTL() {
			n++
		}
	}
	return n, nil
}

// advanced counts the watched records that were renewed since, and still ended long ago.
func (a *acquisition) advanced(ctx context.Context, s situation, before watch) (n int, err error) {
	var names []string
	for _, w := range before.Seen {
		if !slices.ContainsFunc(s.Items, func(i store.Item) bool { return i.Name == recordName(w.First) }) {
			names = append(names, recordName(w.First))
		}
	}
	items := s.Items
	if len(names) > 0 {
		v, err := a.space.Read(ctx, names, store.Page{})
		if err != nil {
			return 0, err
		}
		items = append(slices.Clone(items), v.Items...)
	}
	for _, w := range before.Seen {
		i := slices.IndexFunc(items, func(i store.Item) bool { return i.Name == recordName(w.First) })
		r, err := decodeRecord(items[i])
		if err != nil {
			return 0, err
		}
		if (r.Owner != Token{}) && r.Version > w.Version && r.HighWater < s.long() {
			n++
		}
	}
	return n, nil
}
