package lease

import (
	"context"
	"maps"
	"strings"

	"github.com/randflake/randflake/lease/internal/taken"
)

// An oracle knows nothing of the protocol. It has every second of a node that a generator used, and every number
// that a counter gave: neither may have two users. It also has what processes were told, and so knows which
// losses they must notice.
type oracle struct {
	uses    map[use]*held
	numbers map[number]bool
	top     map[string]int64 // by counter: the first number that was never stored as taken
	most    map[place]newest // the newest values; only if the engine has no positions
	began   map[string]int   // by term: how many entries were stored when the first one of the term was
	entries int              // how many were stored
	metas   map[string]*meta // decoded, by the value of the entry
}

type use struct{ node, second int64 }

// A place is an entry of a space.
type place struct{ term, name string }

// A newest value of a place, and how many entries were stored by then.
type newest struct {
	value string
	after int
}

type number struct {
	counter, period string
	n               int64
}

func newOracle() oracle {
	return oracle{
		uses:    map[use]*held{},
		numbers: map[number]bool{},
		top:     map[string]int64{},
		most:    map[place]newest{},
		began:   map[string]int{},
		metas:   map[string]*meta{},
	}
}

// used writes down that a generator makes IDs with the nodes of a lease.
func (w *world) used(h *held, second int64) {
	for node := int64(h.FirstNode); node <= int64(h.LastNode); node++ {
		user, ok := w.uses[use{node, second}]
		switch {
		case node < int64(w.limits.FirstNode) || node >= int64(w.limits.FirstNode+w.limits.Nodes):
			w.fail("node %d is used, of %d from %d on", node, w.limits.Nodes, w.limits.FirstNode)
		case ok && user != h:
			w.fail("node %d is used twice in second %d", node, second-genesis)
		}
		w.uses[use{node, second}] = h
	}
}

// given writes down numbers that a counter gave.
func (w *world) given(counter, period string, run Run) {
	for i := range run.N {
		n := number{counter, period, run.First + i*run.Step}
		if w.numbers[n] {
			w.fail("number %d of %s is given twice in period %q", n.n, counter, period)
		}
		w.numbers[n] = true
	}
}

// stored looks at an entry that a swap has put.
func (w *world) stored(e Entry) {
	if strings.HasPrefix(e.Name, "s/c/") {
		c, _ := decodeCounter("", e.Value, "")
		w.top[e.Name] = max(w.top[e.Name], c.Next)
	}
	m := w.metaIn(w.data.state)
	if !w.blind || m == nil {
		return
	}
	w.entries++
	if w.began[m.Term] == 0 {
		w.began[m.Term] = w.entries
	}
	if e.Name == "s/meta" {
		return
	}
	at := place{m.Term, e.Name}
	if !lower(m, e.Name, string(e.Value), w.most[at].value) {
		w.most[at] = newest{string(e.Value), w.entries}
	}
}

// entries are those of a space beside meta.
var entries = []string{"s/leases", "s/c/days", "s/c/orders"}

// told is what the engine has told a process of its own swaps that took effect.
type told struct {
	meta
	position uint64
	newest   int64 // window of its leases
	values   map[string]string
}

// hear adds what the engine told the process of a swap.
func (t *told) hear(news told) {
	switch {
	case t.Term != news.Term && t.Term != "" && t.Losses >= news.Losses:
		return // it comes late
	case t.Term != news.Term:
		t.meta, t.position, t.values = news.meta, 0, map[string]string{}
	}
	t.position = max(t.position, news.position)
	for name, value := range news.values { // one
		if !lower(&t.meta, name, value, t.values[name]) {
			t.values[name] = value
		}
	}
}

func (t told) clone() told {
	t.values = maps.Clone(t.values)
	return t
}

// mustNotice reports whether a process notices by what it was told that the data are those of a backup,
// whatever it does next.
func (w *world) mustNotice(t told, backup state) bool {
	m := w.metaIn(backup)
	if t.Term != m.Term {
		return t.Losses >= m.Losses || m.Floor <= t.newest
	}
	if !w.blind {
		return t.position > backup.position
	}
	notices := false
	for _, name := range entries {
		switch stored := backup.data[name]; {
		case lower(m, name, stored, t.values[name]):
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
	for at, most := range w.most {
		if at.name == name && (at.term == m.Term || most.after >= w.began[m.Term]) && lower(m, name, value, most.value) {
			return true
		}
	}
	return false
}

// lower reports whether a value of an entry is lower than another one anywhere that it matters. An empty one
// is lower than all.
func lower(m *meta, name, value, than string) bool {
	if than == "" || value == than {
		return false
	}
	if value == "" {
		return true
	}
	if name != "s/leases" {
		a, _ := decodeCounter("", []byte(value), "")
		b, _ := decodeCounter("", []byte(than), "")
		return a.Period < b.Period || a.Period == b.Period && a.Next < b.Next
	}
	a, _ := taken.Decode([]byte(value))
	b, _ := taken.Decode([]byte(than))
	for _, step := range append(a.Steps, b.Steps...) {
		if window := max(step.From, m.WindowOf(genesisTime)-20); a.At(window) < b.At(window) {
			return true
		}
	}
	return false
}

// metaIn returns the meta entry in a state, or nil.
func (w *world) metaIn(s state) *meta { return w.decodeMeta(s.data["s/meta"]) }

// decodeMeta decodes a meta entry once.
func (w *world) decodeMeta(value string) *meta {
	m, ok := w.metas[value]
	if !ok {
		m, _ = decodeMeta([]byte(value)) // nil if there is none
		w.metas[value] = m
	}
	return m
}

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
		if m.isOf(a) && (!m.Trust || a.Doubt == "") {
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
