package main

import (
	"strings"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/engine"
	. "github.com/randflake/randflake/lab/chaos/internal/worker" // the kinds of refusals
)

func restarted(w *world) {
	w.lost = strings.HasPrefix(w.URL, "redis:")
	workers := w.start(3)
	for i := range w.rounds(2) {
		w.must(w.Kill())
		if i%2 == 1 {
			w.refuse(workers, Ended)
		}
		w.must(w.Start())
		workers = append(workers, w.launch(1)...)
		w.recover(workers...)
	}
}

func stalled(w *world) { w.unreachable(w.Pause, w.Resume) }

func cutOffStore(w *world) {
	w.unreachable(func() error { w.Link.Refuse(); return nil }, func() error { w.Link.Heal(); return nil })
}

// unreachable has nobody reach the store for longer than a lease.
func (w *world) unreachable(begin, end func() error) {
	workers := w.start(3)
	w.must(begin())
	w.refuse(workers, Ended)
	late := w.launch(1)
	w.refuse(late, Unreachable)
	w.must(end())
	w.recover(append(workers, late...)...)
}

func repliesLost(w *world) {
	workers := w.start(3)
	for i := range w.rounds(3) {
		w.Link.Mute(true)
		workers = append(workers, w.launch(1)...)
		w.linger(reach / 2)
		if i == 1 && !strings.HasPrefix(w.URL, "redis:") {
			w.must(w.Kill())
			w.must(w.Start())
		}
		w.Link.Heal()
		w.linger(reach / 3)
	}
	w.recover(workers...)
}

// Who finds out that data are lost: whoever comes, or only a process that saw the data before.
const anybody, witness = false, true

// loses has a copy made, or begin to follow, workers take nearly all main nodes of some windows, and the copy take the place of the
// data before these are over. Then it loses data once more, where that can be done again.
func loses(failover, seen bool) func(*world) {
	return func(w *world) {
		begin, end := w.Copy, w.Restore
		if failover {
			begin = w.Follow
		}
		w.lost = true
		w.worker.Nodes = 1
		saw := w.start(1)
		w.must(begin())
		w.worker.Nodes = half - 1
		lost := w.start(2)
		w.recover(lost...) // so that the ends are far
		w.recover(saw...)
		for _, p := range lost {
			p.pause()
		}
		if !seen {
			w.close(saw...)
		}
		if failover {
			end = w.Promote
		}
		since := time.Now()
		w.must(end())
		for _, p := range lost {
			left := time.Until(time.Unix(p.End.Load(), 0))
			w.ensure(left > 0, "the leases of %s ended %v before the data were replaced: that shows nothing", p.name, -left)
		}
		if seen {
			w.wantFloor(since)
		}
		others := w.launch(2)
		small := w.fromReserve(since)
		if !failover {
			since = w.loseAgain(seen)
			small = append(small, w.fromReserve(since)...)
		}
		for _, p := range lost {
			p.resume()
		}
		w.wantFloor(since)
		w.close(lost...)
		w.recover(append(others, small...)...)
	}
}

// loseAgain puts a copy back that was made after the first loss was noted, while workers have leases of the reserve.
func (w *world) loseAgain(seen bool) (since time.Time) {
	w.must(w.Copy())
	w.linger(time.Second)
	since = time.Now()
	w.must(w.Restore())
	if seen {
		w.wantFloor(since)
	}
	return since
}

// fromReserve starts workers that want few nodes. They make IDs long before the floor.
func (w *world) fromReserve(since time.Time) []*process {
	all := w.worker.Nodes
	w.worker.Nodes = 8
	small := w.start(2)
	w.worker.Nodes = all
	w.wantFloor(since)
	_, floor, err := w.Losses(w.ctx)
	w.must(err)
	w.ensure(time.Now().Before(floor), "%s had no lease before the floor", small[0].name)
	return small
}

func wiped(w *world) {
	w.lost = true
	workers := w.start(3)
	since := time.Now()
	w.must(w.Wipe())
	w.refuse(workers, Ended)
	late := w.launch(1)
	w.refuse(late, NoSpace)
	w.must(w.Create(w.ctx, false))
	w.wantFloor(since)
	w.recover(append(workers, late...)...)
}

func leaderKilled(w *world) {
	workers := w.start(3)
	for range w.rounds(2) {
		w.must(w.KillLeader())
		workers = append(workers, w.launch(1)...)
		w.recover(workers...)
		w.must(w.Start())
		w.recover(workers...)
	}
}

func poolerKilled(w *world) {
	workers := w.start(3)
	for range w.rounds(1) {
		w.must(w.KillPooler())
		w.recover(workers...)
		w.must(w.Kill())
		w.sleep(reach / 2) // so that some worker calls
		w.must(w.Start())
		workers = append(workers, w.launch(1)...)
		w.recover(workers...)
	}
}

func replicaKilled(w *world) {
	workers := w.start(3)
	for _, victim := range w.Replicas {
		w.during(workers, func() {
			victim.Kill()
			w.recover(append(w.launch(1), workers...)...)
			w.must(victim.Start())
		})
	}
	for _, victim := range w.Replicas {
		victim.Kill()
	}
	w.refuse(workers, Ended)
	workers = append(workers, w.launch(1)...)
	for _, victim := range w.Replicas {
		w.must(victim.Start())
	}
	w.recover(workers...)
}

func answersLost(w *world) { w.loseAnswers(w.start(3)) }

// loseAnswers loses those of a replica, of the other one, and of both.
func (w *world) loseAnswers(workers []*process) {
	for _, replicas := range [][]*engine.Replica{w.Replicas[:1], w.Replicas[1:], w.Replicas} {
		for _, r := range replicas {
			r.Link.Mute(true)
		}
		workers = append(workers, w.launch(1)...)
		w.linger(reach / 2)
		for _, r := range replicas {
			r.Link.Heal()
		}
		w.recover(workers...)
	}
}
