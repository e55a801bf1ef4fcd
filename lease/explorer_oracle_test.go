package lease

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/randflake/randflake/lease/internal/taken"
)

// An oracle knows nothing of the protocol. It writes down every second of a node that a generator uses, and
// every number that a counter gives, and neither may have two users. It also knows what processes were told,
// and so which losses they must notice.
type oracle struct {
	wrong   string // the first thing that is
	uses    map[use]*held
	numbers map[number]bool
	top     map[string]int64 // by counter: the first number that was never stored as taken
	most    map[place]newest // the newest values, without positions
	began   map[string]int   // by term: after how many entries a space had its first one
	entries int              // that were stored
	metas   map[string]*meta // by what was decoded
}

type use struct{ node, second int64 }

// A place is an entry of a space.
type place struct{ id, name string }

// A newest value of a place, and after how many entries it was stored.
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

// fail says what is wrong, unless something was before.
func (w *world) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
		w.note("wrong: %s", w.wrong)
	}
}

// used writes down that a generator makes IDs with the nodes of a lease.
func (w *world) used(h *held, second int64) {
	for node := int64(h.FirstNode); node <= int64(h.LastNode); node++ {
		user, ok := w.uses[use{node, second}]
		switch {
		case node < int64(w.limits.First) || node >= int64(w.limits.First+w.limits.Nodes):
			w.fail("node %d is used, of %d from %d on", node, w.limits.Nodes, w.limits.First)
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
		if at.name == name && (at.id == m.Term || most.after >= w.began[m.Term]) && lower(m, name, value, most.value) {
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
	return ok && c.put != nil && c.put[0].Name != "s/meta" && h.stops < p.world.stops
}

// hear notes an answer, which was made after a number of stops of the server.
func (p *process) hear(ctx context.Context, c call, a Answer, stops int) {
	w := p.world
	h, ok := ctx.Value(hearingKey{}).(*hearing)
	if ok {
		h.stops = stops
	}
	if c.put != nil && !a.Swapped {
		return
	}
	if a.Swapped && c.put[0].Name == "s/meta" { // the space says nothing of it
		if m := w.decodeMeta(string(c.put[0].Value)); m.isOf(a) && (!m.Trust || a.Doubt == "") {
			p.told.hear(told{meta: *m, position: a.Position})
		}
		return
	}
	if !ok {
		return
	}
	if !a.Swapped { // and what it reads need not be durable
		if m := w.decodeMeta(string(a.Entries[0].Value)); m != nil {
			h.told = told{meta: *m}
		}
		return
	}
	m := w.decodeMeta(string(c.expect[0].Value))
	if m == nil {
		return
	}
	h.told = told{meta: *m, position: a.Position, values: map[string]string{c.put[0].Name: string(c.put[0].Value)}}
}
