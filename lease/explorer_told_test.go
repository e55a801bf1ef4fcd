package lease

import (
	"context"
	"maps"

	"github.com/randflake/randflake/lease/internal/taken"
)

// told is what the engine has told a process of its own swaps that took effect. If the data go back to before
// that without a trace, the process must notice it, and note a loss.
type told struct {
	meta                         // of the newest term
	position   uint64            // in that term
	lastWindow int64             // of which it has leases
	values     map[string]string // by entry, in that term
}

// hear adds what the engine told the process of a swap.
func (t *told) hear(news told) {
	switch {
	case t.Term != news.Term && t.Term != "" && t.FloorsSet >= news.FloorsSet:
		return // it comes late
	case t.Term != news.Term:
		t.meta, t.position, t.values = news.meta, 0, map[string]string{}
	}
	t.position = max(t.position, news.position)
	for name, value := range news.values { // one
		if !isOlder(&t.meta, name, value, t.values[name]) {
			t.values[name] = value
		}
	}
}

func (t told) clone() told {
	t.values = maps.Clone(t.values)
	return t
}

// mustNotice reports whether a process must notice by what it was told that the data are those of a backup,
// whatever it does next.
func (w *world) mustNotice(t told, backup state) bool {
	m := w.metaIn(backup)
	if t.Term != m.Term {
		return t.FloorsSet >= m.FloorsSet || m.Floor <= t.lastWindow
	}
	if !w.blind {
		return t.position > backup.position
	}
	notices := false
	for _, name := range entries {
		switch stored := backup.data[name]; {
		case isOlder(m, name, stored, t.values[name]):
			notices = true
		case w.lost(m, name, stored):
			return false // it may look at this entry alone
		}
	}
	return notices
}

// lost reports whether a value of an entry of a space is lower than what was stored there, or in another space
// since this one began.
func (w *world) lost(m *meta, name, value string) bool {
	for key, highest := range w.highest {
		isSince := key.term == m.Term || highest.after >= w.firstEntryOfTerm[m.Term]
		if key.name == name && isSince && isOlder(m, name, value, highest.value) {
			return true
		}
	}
	return false
}

// isOlder reports whether a value of an entry is lower than another one anywhere that it matters. An empty one
// is lower than all.
func isOlder(m *meta, name, value, than string) bool {
	switch {
	case than == "" || value == than:
		return false
	case value == "":
		return true
	case name != "s/leases":
		a, _ := decodeCounter("", []byte(value), "")
		b, _ := decodeCounter("", []byte(than), "")
		return a.Period < b.Period || a.Period == b.Period && a.Next < b.Next
	}
	a, _ := taken.Decode([]byte(value))
	b, _ := taken.Decode([]byte(than))
	const before = 20 // windows: takes by right clocks ask for nine before the present one at most
	first := m.WindowOf(genesisTime) - before
	for _, step := range append(a.Steps, b.Steps...) {
		window := max(step.From, first)
		if a.At(window) < b.At(window) {
			return true
		}
	}
	return false
}

// entries are those of a space beside meta.
var entries = []string{"s/leases", "s/c/days", "s/c/orders"}

// A hearing collects what the engine tells a process in one call of the space. It counts once the space says
// that it succeeded.
type hearing struct {
	told
	stops int // of the server, before what was read
}

type hearingKey struct{}

// listen returns a context for one call of the space.
func (p *process) listen(ctx context.Context) (context.Context, *hearing) {
	h := new(hearing)
	return context.WithValue(ctx, hearingKey{}, h), h
}

// outdated reports whether a call is a swap that was decided before the server was stopped and older data put
// back. It may bring the position back to where it was: then only the answer shows the loss, so it does
// arrive, and at once.
func (p *process) outdated(ctx context.Context, c call) bool {
	h, ok := ctx.Value(hearingKey{}).(*hearing)
	return ok && isSwap(c) && !putsMeta(c) && h.stops < p.world.stops
}

// hear notes an answer, which was made after a number of stops of the server.
func (p *process) hear(ctx context.Context, c call, a Answer, stops int) {
	w := p.world
	h, listens := ctx.Value(hearingKey{}).(*hearing)
	if listens {
		h.stops = stops
	}
	switch {
	case isSwap(c) && !a.Swapped:
	case putsMeta(c): // this counts at once: the space says nothing of it
		m := w.decodeMeta(string(c.put[0].Value))
		if m.matches(a) && (!m.Trust || a.Doubt == "") {
			p.told.hear(told{meta: *m, position: a.Position})
		}
	case !listens:
	case isRead(c): // position and value need not be durable
		if m := w.decodeMeta(string(a.Entries[0].Value)); m != nil {
			h.told = told{meta: *m}
		}
	default:
		if m := w.decodeMeta(string(c.expect[0].Value)); m != nil {
			put := c.put[0]
			h.told = told{meta: *m, position: a.Position, values: map[string]string{put.Name: string(put.Value)}}
		}
	}
}
