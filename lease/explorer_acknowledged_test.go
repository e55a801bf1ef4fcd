package lease

import (
	"context"
	"maps"

	"github.com/randflake/randflake/lease/internal/taken"
)

// acknowledged is what the engine has told a process of its own swaps that took effect, and the process must
// remember. If the data go back to before that without a trace, it must notice that, and note a loss.
type acknowledged struct {
	meta       meta              // of the newest term
	position   uint64            // in that term
	lastWindow int64             // of which it has leases
	values     map[string]string // by entry, in that term
}

// add adds what the engine told the process of one swap.
func (told *acknowledged) add(news acknowledged) {
	if told.meta.Term != news.meta.Term {
		isLate := told.meta.Term != "" && told.meta.FloorsSet >= news.meta.FloorsSet
		if isLate {
			return
		}
		*told = acknowledged{meta: news.meta, lastWindow: told.lastWindow, values: map[string]string{}}
	}
	told.position = max(told.position, news.position)
	for name, value := range news.values { // one entry at most, as news is of one swap
		if !isOlder(&told.meta, name, value, told.values[name]) {
			told.values[name] = value
		}
	}
}

func (told acknowledged) clone() acknowledged {
	told.values = maps.Clone(told.values)
	return told
}

// A callEvidence collects what the engine tells a process in one call of the space. It counts once the space
// says that it succeeded.
type callEvidence struct {
	acknowledged acknowledged
	stops        int // of the server, before what was read
}

type callEvidenceKey struct{}

// withEvidence returns a context for one call of the space, and what it collects.
func withEvidence(ctx context.Context) (context.Context, *callEvidence) {
	evidence := new(callEvidence)
	return context.WithValue(ctx, callEvidenceKey{}, evidence), evidence
}

// outdated reports whether a call is a swap that was decided before the server was stopped and older data put
// back. It may bring the position back to where it was: then only the answer shows the loss, so it does
// arrive, and at once.
func (p *process) outdated(ctx context.Context, c call) bool {
	evidence, ok := ctx.Value(callEvidenceKey{}).(*callEvidence)
	return ok && isSwap(c) && !putsMeta(c) && evidence.stops < p.world.stops
}

// noteAnswer notes what an answer acknowledges. The call began after a number of stops of the server.
func (p *process) noteAnswer(ctx context.Context, c call, a Answer, stops int) {
	w := p.world
	evidence, collects := ctx.Value(callEvidenceKey{}).(*callEvidence)
	if collects {
		evidence.stops = stops
	}
	switch {
	case isSwap(c) && !a.Swapped: // it put nothing
	case putsMeta(c): // this counts at once: the space says nothing of it
		m := w.decodeMeta(string(c.put[0].Value))
		if m.matches(a) && (!m.Trust || a.Doubt == "") {
			p.acknowledged.add(acknowledged{meta: *m, position: a.Position})
		}
	case !collects: // as in ReportLoss
	case isRead(c): // position and value need not be durable
		if m := w.decodeMeta(string(a.Entries[0].Value)); m != nil {
			evidence.acknowledged = acknowledged{meta: *m}
		}
	default:
		if m := w.decodeMeta(string(c.expect[0].Value)); m != nil {
			values := map[string]string{c.put[0].Name: string(c.put[0].Value)}
			evidence.acknowledged = acknowledged{meta: *m, position: a.Position, values: values}
		}
	}
}

// mustNotice reports whether a process must notice by what it was told that the data are those of a backup,
// whatever it does next.
func (w *world) mustNotice(told acknowledged, backup state) bool {
	m := w.metaIn(backup)
	switch {
	case told.meta.Term != m.Term:
		return told.meta.FloorsSet >= m.FloorsSet || m.Floor <= told.lastWindow
	case !w.blind:
		return told.position > backup.position
	}
	notices := false
	for _, name := range recordsOfSpace {
		switch stored := backup.data[name]; {
		case isOlder(m, name, stored, told.values[name]):
			notices = true
		case w.lost(m, name, stored):
			return false // it may look at this entry alone
		}
	}
	return notices
}

var recordsOfSpace = []string{"s/leases", "s/c/days", "s/c/orders"}

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
