package lease

import "strings"

// An oracle knows nothing of the protocol. It has every second of a node that a generator used, and every number
// that a counter gave: neither may have two users. It also has what was stored, for what a person can know when
// a counter is set, and for which losses a process must notice: explorer_acknowledged_test.go.
type oracle struct {
	uses    map[use]*held
	numbers map[number]bool
	metas   map[string]*meta // decoded, by the value of the entry

	firstUntaken map[string]int64 // by counter: the first number that was never stored as taken

	// Of the rest only engines without positions have need.
	highest          map[entryKey]storedValue
	firstEntryOfTerm map[string]int // by term: how many entries were stored when the first one of the term was
	entries          int            // how many were stored
}

type use struct{ node, second int64 }

// An entryKey is an entry of a space in one of its terms.
type entryKey struct{ term, name string }

// A storedValue is a value of an entry, and how many entries were stored by then.
type storedValue struct {
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
		metas:   map[string]*meta{},

		firstUntaken:     map[string]int64{},
		highest:          map[entryKey]storedValue{},
		firstEntryOfTerm: map[string]int{},
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
		w.firstUntaken[e.Name] = max(w.firstUntaken[e.Name], c.Next)
	}
	m := w.metaIn(w.data.state)
	if !w.blind || m == nil {
		return
	}
	w.entries++
	if w.firstEntryOfTerm[m.Term] == 0 {
		w.firstEntryOfTerm[m.Term] = w.entries
	}
	if e.Name == "s/meta" {
		return
	}
	key := entryKey{m.Term, e.Name}
	if !isOlder(m, e.Name, string(e.Value), w.highest[key].value) {
		w.highest[key] = storedValue{string(e.Value), w.entries}
	}
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
