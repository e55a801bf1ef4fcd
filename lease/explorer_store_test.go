package lease

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A storage is the store of a world. What can happen to its data:
//
//	restart    another incarnation goes on, perhaps without what was put last
//	failOver   another lineage goes on, with the same data
//	loseAll    everything is gone
//	restore    a backup is back, in another lineage
//	rollBack   a backup is back, in the same lineage
//	doubt      the engine says that a restart may forget what is put from now on
type storage struct {
	data     *memory
	backups  []state // the data after each swap that took effect
	delayed  []call  // swaps that the engine gets later
	stops    int     // how often the server was stopped, which breaks connections
	lineages int     // how many lineages and incarnations have a name

	lastBackup  *state  // the one that the data went back to last
	doubtful    []state // where a restart may go back to, although the space trusts incarnations
	unnotedTerm string  // the term of data that went back without a trace, until that is noted; see unnoted
}

// do has the engine do what a call asks for.
func (w *world) do(c call) Answer {
	a := w.data.do(c)
	if a.Swapped {
		for _, e := range c.put {
			w.stored(e)
		}
		w.backups = append(w.backups, w.data.snapshot())
		w.keepDoubtful()
		if m := w.metaIn(w.data.state); m == nil || m.Term != w.unnotedTerm {
			w.unnotedTerm = ""
		}
	}
	return a
}

// arrive has the engine get a swap that whoever sent it has given up.
func (w *world) arrive() {
	w.note("a swap arrives late")
	w.do(w.delayed[0])
	w.delayed = w.delayed[1:]
}

// replace puts other data in the place of those that are there.
func (w *world) replace(by state) {
	w.data.restore(by)
	w.doubtful = nil
}

// doubt has the engine say that a restart may forget what is put from now on, or no longer say so.
func (w *world) doubt() {
	if w.data.doubt == "" && !w.unnoted() {
		w.data.doubt = "a restart may forget it"
	} else {
		w.data.doubt = ""
	}
	w.note("doubt: %q", w.data.doubt)
	w.doubtful = nil
	w.keepDoubtful()
}

// keepDoubtful adds what is there to what a restart may go back to. What is put without trust counts, even in
// doubt, so a restart may not go back before that.
func (w *world) keepDoubtful() {
	if w.data.doubt == "" || !w.trusts(w.data.state) {
		w.doubtful = nil
		return
	}
	w.doubtful = append(w.doubtful, w.data.snapshot())
}

func (w *world) trusts(s state) bool {
	m := w.metaIn(s)
	return m != nil && m.Trust
}

// restart has another incarnation of the data go on. To a space that does not trust it, it may have forgotten
// something, and to others what was put in doubt.
func (w *world) restart() {
	s := w.data.snapshot()
	trusted := w.trusts(s)
	switch {
	case trusted && len(w.doubtful) > 0 && !w.unnoted():
		s = w.doubtful[w.IntN(len(w.doubtful))]
	case !trusted && len(w.backups) > 0:
		backup := w.anyBackup()
		if !w.trusts(backup) {
			s = backup
		}
	}
	w.note("restart at position %d, trusted: %v", s.position, trusted)
	s.incarnation = w.newLineage()
	w.replace(s)
	if !trusted {
		w.unnotedTerm = ""
	}
}

// failOver changes the lineage, though nothing is lost.
func (w *world) failOver() {
	w.note("failover without a loss")
	w.data.lineage = w.newLineage()
	w.doubtful = nil
}

// loseAll loses everything. The server may come back under the same lineage. Then its stop breaks connections:
// a swap that makes the space again, and was decided before, would land as if nothing had been lost since.
func (w *world) loseAll() {
	w.note("everything is gone")
	lineage := w.newLineage()
	if w.IntN(2) == 0 {
		lineage = w.data.lineage
		w.stops++
	}
	w.replace(state{data: map[string]string{}, lineage: lineage, incarnation: w.data.incarnation})
	w.breakConnections()
	w.unnotedTerm = ""
}

// restore puts a backup back in a way that the engine shows.
func (w *world) restore() {
	backup := w.anyBackup()
	w.note("a backup is restored: position %d", backup.position)
	backup.lineage = w.newLineage()
	w.replace(backup)
	w.unnotedTerm = ""
}

// rollBack puts older data, or those of a former lineage, back in a way that the engine doesn't show. Either a
// person reports it at once, or a process must notice it by what it was told. In the second case those that
// need not notice it are killed.
func (w *world) rollBack() {
	backup := w.anyBackup()
	if w.lastBackup != nil && w.IntN(2) == 0 {
		backup = *w.lastBackup
	}
	m := w.metaIn(backup)
	isMade := m != nil && !m.isMarked()
	isGone := w.metaIn(w.data.state) == nil
	if !isMade || isGone || w.unnoted() {
		return
	}
	w.lastBackup = &backup
	noticed := slices.ContainsFunc(w.processes, func(p *process) bool { return w.mustNotice(p.acknowledged, backup) })
	reported := !noticed || w.IntN(3) == 0
	w.note("roll back to position %d of %q, reported: %v", backup.position, backup.lineage, reported)
	if reported {
		w.goBack(backup)
		w.reportLoss()
		return
	}
	w.killIgnorant(backup, nil) // by the data that is still there
	w.goBack(backup)
	w.unnotedTerm = m.Term
}

// goBack stops the server, and starts it again on a backup.
func (w *world) goBack(backup state) {
	w.breakConnections()
	w.stops++
	w.replace(backup)
	w.data.doubt = ""
}

// reportLoss reports a loss, by a handle that knows of none.
func (w *world) reportLoss() {
	clock := func() time.Time { return time.Unix(w.now+w.anyOff(), 0) }
	space, err := Open(context.Background(), conn{memory: w.data}, Config{Name: "s", Clock: clock})
	if err == nil {
		space.sleep = noSleep
		err = space.ReportLoss(context.Background(), "an old backup")
	}
	if err != nil {
		w.fail("a loss can't be reported: %v", err)
	}
}

// unnoted reports whether data went back without a trace, and no process has noted it yet. Until one has, the
// only processes are those that must notice it, and no others begin.
func (w *world) unnoted() bool { return w.unnotedTerm != "" }

// breakConnections loses the swaps that are on their way. But who was about to note a loss may have paused
// before that: then the swap is sent afterwards.
func (w *world) breakConnections() {
	w.delayed = slices.DeleteFunc(w.delayed, func(c call) bool { return c.put[0].Name != "s/meta" || w.IntN(4) == 0 })
}

// killIgnorant kills the processes but one that need not notice that the data are those of a backup.
func (w *world) killIgnorant(backup state, but *process) {
	for _, p := range slices.Clone(w.processes) {
		if p != but && !w.mustNotice(p.acknowledged, backup) {
			p.kill()
		}
	}
}

// anyBackup returns one, of late more often than not.
func (w *world) anyBackup() state {
	n := len(w.backups)
	if w.IntN(3) > 0 {
		return w.backups[n-1-w.IntN(min(n, 5))]
	}
	return w.backups[w.IntN(n)]
}

// newLineage makes one up.
func (w *world) newLineage() string {
	w.lineages++
	return fmt.Sprint("lineage ", w.lineages)
}
