package cli

// A tally is what all IDs of an analysis tell together.
type tally struct {
	repeats  int            // how many IDs came before
	examples [][2]entry     // the first repeats, each after the entry that has the same ID
	workers  map[uint64]int // for each worker, how many repeats it has
	made     uint64         // how many IDs were made at least, by their sequence numbers
	hours    map[int64]int  // for each hour since 1970, how many IDs are of it
}

func (a *analysis) tally() tally {
	const hour = 3_600_000 // milliseconds
	t := tally{workers: map[uint64]int{}, hours: map[int64]int{}}
	made := madeCount{ends: map[uint64]uint64{}}
	var before entry
	for i := range a.entries.len() {
		e := a.entries.at(i)
		r := a.chosen.read(e)
		ms := max(0, r.time.UnixMilli())
		t.hours[ms/hour]++
		made.add(ms, r.evidence)
		worker := r.evidence.worker
		repeats := t.workers[worker] // one without repeats is there, too
		if i > 0 && e.id == before.id {
			repeats++
			t.addRepeat(before, e)
		}
		t.workers[worker] = repeats
		before = e
	}
	t.made = made.total
	return t
}

// A madeCount counts how many IDs were made at least: of each worker and time, up to the highest sequence number. Where
// IDs have sequence numbers, they come in the order of their times.
type madeCount struct {
	total uint64
	ms    int64             // of the latest ID
	ends  map[uint64]uint64 // for each worker of that time, one more than the highest sequence number
}

func (m *madeCount) add(ms int64, of evidence) {
	if ms != m.ms {
		clear(m.ends)
		m.ms = ms
	}
	if end := m.ends[of.worker]; of.sequence >= end {
		m.total += of.sequence + 1 - end
		m.ends[of.worker] = of.sequence + 1
	}
}

func (t *tally) addRepeat(before, e entry) {
	t.repeats++
	if t.repeats <= 5 {
		t.examples = append(t.examples, [2]entry{before, e})
	}
}
