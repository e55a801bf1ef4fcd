package counter

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/randflake/randflake/internal/protocol"
	"github.com/randflake/randflake/store"
)

// dated matches names that end with a period, as those of series in package numbers do.
var dated = regexp.MustCompile(`/(fy)?(\d{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?|-q([1-4])|-w(0[1-9]|[1-4]\d|5[0-3]))?$`)

// PeriodEnd returns the time by which the period at the end of a counter's name is over in every time zone, and whether
// there is one, as in orders/2026-11-22, orders/2026-w47, orders/2026-11, orders/2026-q4, orders/2026 and orders/fy2026.
func PeriodEnd(name string) (end time.Time, ok bool) {
	found := dated.FindStringSubmatch(name)
	if found == nil {
		return time.Time{}, false
	}
	var n [7]int
	for i := range n {
		n[i], _ = strconv.Atoi(found[i]) // 0 if the name has no such part
	}
	year, month, day := n[2]+1, 1, 1 // a fiscal year ends within the year of its name
	switch {
	case n[4] > 0:
		year, month, day = n[2], n[3], n[4]+1
	case n[3] > 0:
		year, month = n[2], n[3]+1
	case n[5] > 0:
		year, month = n[2], 3*n[5]+1
	case n[6] > 0:
		year, day = n[2], 4+7*n[6] // week 1 has January 4
	}
	end = time.Date(year, time.Month(month), day, 24, 0, 0, 0, time.UTC) // a day later than in UTC
	if n[6] > 0 {
		end = end.AddDate(0, 0, -int(end.Weekday()+5)%7) // to the Tuesday
	}
	return end, true
}

// errPruned wraps ErrEnd, since no number of the period will be given again.
var errPruned = fmt.Errorf("%w: its period is over, and it was pruned", ErrEnd)

// pruned reports whether a counter was removed by Prune, if it existed.
func pruned(m *store.Meta, name string) bool {
	end, ok := PeriodEnd(name)
	for _, e := range m.Ended {
		if ok && strings.HasPrefix(prefix+name, e.Prefix) && end.Unix() <= e.Before {
			return true
		}
	}
	return false
}

// Prune removes the counters whose names begin with begin and end with a period that was over before a time in the past:
// see [PeriodEnd]. It returns how many there were. No counter of such a name is ever made again, so a wrong clock repeats
// no number: Open returns ErrEnd, also in programs that still have the counter open once they have used up their runs.
// Other counters stay. If Prune fails it may have removed a part; call it again.
func (s *Counters) Prune(ctx context.Context, begin string, before time.Time) (removed int, err error) {
	if s.source != nil {
		return 0, s.notHere("prune", begin)
	}
	if begin != "" && checkName(begin) != nil && checkName(begin+"0") != nil { // every change of the space would send it
		return 0, fmt.Errorf("%w: prune %.60q: no name begins so", ErrInvalidName, begin)
	}
	v, err := s.space.Read(ctx, nil, store.Page{})
	if err == nil {
		err = v.Clock()
	}
	if err != nil {
		return 0, err
	}
	if before.Unix() > v.Now {
		return 0, fmt.Errorf("%w: prune before %s: that is in the future", ErrInvalidOption, before.Format(time.RFC3339))
	}
	if err := s.space.End(ctx, store.Ended{Prefix: prefix + begin, Before: before.Unix()}); err != nil {
		return 0, err
	}
	what := fmt.Sprintf("prune %q before %s", begin, before.UTC().Format(time.RFC3339))
	var names []string
	remove := func() error {
		n, err := s.remove(ctx, names, what)
		removed, names = removed+n, names[:0]
		return err
	}
	for item, err := range s.space.Items(ctx, prefix+begin, prefix+begin+"~") {
		if err != nil {
			return removed, err
		}
		if name := item.Name[len(prefix):]; pruned(&store.Meta{Ended: []store.Ended{{Prefix: prefix, Before: before.Unix()}}}, name) {
			names = append(names, name)
		}
		if len(names) == (store.MaxEntries-2)/2 { // with their logs, the log of prunes, and the space's own entry
			if err := remove(); err != nil {
				return removed, err
			}
		}
	}
	return removed, remove()
}

// remove removes counters with their logs. It puts a log of its own, so that an item with the present time remains, by
// which later clocks are judged.
func (s *Counters) remove(ctx context.Context, names []string, what string) (removed int, err error) {
	items := []string{logName("")}
	for _, name := range names {
		items = append(items, prefix+name, logName(name))
	}
	state := protocol.State[struct{}]{Space: s.space, Names: items, What: "counters",
		Decode:   func(*store.View) (struct{}, error) { return struct{}{}, nil },
		WentBack: func(*store.View, struct{}) bool { return false }}
	_, err = state.Update(ctx, nil, struct{}{}, func(v *store.View, _ struct{}) (put []store.Item, err error) {
		removed = 0
		for _, name := range items[1:] {
			if item := v.Find(name); item.Body != nil {
				put = append(put, store.Item{Name: name})
				if strings.HasPrefix(name, prefix) {
					removed++
				}
			}
		}
		return append(put, s.logged(v, "", what)), nil
	})
	return removed, err
}
