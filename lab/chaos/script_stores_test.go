package chaos

import (
	"strings"
	"time"
)

func restarted(w *world) { w.restartServer(w.start(3), Ended) }

func countRestarted(w *world) { w.restartServer(w.startCounting(3), Unreachable) }

// restartServer has the server killed and started again: at once, and when workers are refused.
func (w *world) restartServer(workers []*process, by refusal) {
	for i := range w.rounds(2) {
		must(w.store.Kill())
		if i%2 == 1 {
			w.refuse(workers, by)
		}
		must(w.store.Start())
		workers = append(workers, w.launch(1)...)
		w.recover(workers...)
	}
}

func stalled(w *world) {
	w.unreachable(w.start(3), Ended, mustDo(w.store.Pause), mustDo(w.store.Resume))
}

func diskFull(w *world) {
	w.unreachable(w.start(3), Ended, mustDo(w.store.FillDisk), mustDo(w.store.FreeDisk))
}

func cutOffStore(w *world) { w.unreachable(w.start(3), Ended, w.store.Link.Refuse, w.store.Link.Heal) }

func countCutOff(w *world) {
	workers := w.startCounting(3)
	for range w.rounds(1) {
		workers = w.unreachable(workers, Unreachable, w.store.Link.Refuse, w.store.Link.Heal)
		workers = w.unreachable(workers, Unreachable, func() { w.store.Link.Mute(true) }, w.store.Link.Heal)
	}
}

// unreachable has nobody reach the store until workers are refused, and one that starts meanwhile.
func (w *world) unreachable(workers []*process, by refusal, begin, end func()) []*process {
	begin()
	w.refuse(workers, by)
	late := w.launch(1)
	w.refuse(late, Unreachable)
	end()
	workers = append(workers, late...)
	w.recover(workers...)
	return workers
}

func repliesLost(w *world) {
	workers := w.start(3)
	for i := range w.rounds(3) {
		w.store.Link.Mute(true)
		workers = append(workers, w.launch(1)...)
		w.linger(w.reach / 2)
		if i == 1 && !strings.HasPrefix(w.store.URL, "redis:") {
			must(w.store.Kill())
			must(w.store.Start())
		}
		w.store.Link.Heal()
		w.linger(w.reach / 3)
	}
	w.recover(workers...)
}

// Who finds out that data are lost: whoever comes, or only a process that saw the data before.
const anybody, witness = false, true

// loses has data replaced twice by copies, before the floor of the first loss.
//
// The first time all main nodes are leased, far ahead, which the copy doesn't have. The second copy is made as soon as that loss is
// noted, so that it lacks all leases that the reserve grants after it.
func loses(seen bool) func(*world) {
	return func(w *world) {
		w.lost = true
		w.worker.Nodes = 1
		saw := w.start(1)
		must(w.store.Copy())
		w.worker.Nodes = half - 1
		lost := w.start(2)
		w.recover(saw...)
		w.getAhead(lost)
		w.standStill(lost...)
		if !seen {
			w.close(saw...)
		}
		must(w.store.Restore())
		w.wantLeased(lost)
		if seen {
			w.wantLosses(1)
		}
		w.worker.Nodes = quarter
		large := w.launch(2) // wait for the floor: the reserve is too small for them
		w.wantLosses(1)

		must(w.store.Copy())
		small := w.startOnReserve()
		w.recover(small...)
		if seen {
			w.standStill(large...) // they can't tell that data are lost, as they had no lease yet
		}
		floor := w.floor()
		must(w.store.Restore())
		ensure(time.Now().Before(floor), "the second loss came after %v, the floor of the first", floor)
		w.wantLosses(2)
		small = append(small, w.startOnReserve()...)
		for _, p := range append(lost, large...) {
			p.resume()
		}
		w.close(lost...)
		w.recover(append(large, small...)...)
	}
}

// restartedRedis has a server start again on the data that it had, which can't be told from older data.
func restartedRedis(w *world) {
	w.lost = true
	w.worker.Nodes = few
	workers := w.start(3)
	for i := range w.rounds(2) {
		must(w.store.Kill())
		if i%2 == 1 {
			w.refuse(workers, Ended)
		}
		must(w.store.Start())
		workers = append(workers, w.startOnReserve()...)
		w.recover(workers...)
		w.wantLosses(i + 1)
	}
}

// wiped has all data removed while main nodes are leased, and the space made again at once.
func wiped(w *world) {
	w.lost = true
	w.worker.Nodes = quarter
	lost := w.start(2)
	w.getAhead(lost)
	w.standStill(lost...)
	since := time.Now()
	must(w.store.Wipe())
	late := w.launch(1)
	w.refuse(late, NoSpace)
	must(w.store.create(w.ctx))
	w.wantLeased(lost)
	ensure(w.floor().After(since), "the floor is %v, which is before the data were removed", w.floor())
	w.goOn(late...)
	ensure(!late[0].onReserve(), "%s had a lease of the reserve, which the earlier space may have had for other nodes", late[0].name)
	for _, p := range lost {
		p.resume()
	}
	w.recover(append(lost, late...)...)
}

func leaderKilled(w *world) {
	workers := w.start(3)
	for range w.rounds(2) {
		must(w.store.KillLeader())
		workers = append(workers, w.launch(1)...)
		w.recover(workers...)
		must(w.store.Start())
		w.recover(workers...)
	}
}

func poolerKilled(w *world) {
	workers := w.start(3)
	for range w.rounds(1) {
		must(w.store.KillPooler())
		w.recover(workers...)
		must(w.store.Kill())
		w.sleep(w.reach / 2) // so that some worker calls
		must(w.store.Start())
		workers = append(workers, w.launch(1)...)
		w.recover(workers...)
	}
}

func replicaKilled(w *world) {
	workers := w.start(3)
	for _, victim := range w.store.Replicas {
		w.during(workers, func() {
			must(victim.Kill())
			w.recover(append(w.launch(1), workers...)...)
			must(victim.Start())
		})
	}
	for _, victim := range w.store.Replicas {
		must(victim.Kill())
	}
	w.refuse(workers, Ended)
	workers = append(workers, w.launch(1)...)
	for _, victim := range w.store.Replicas {
		must(victim.Start())
	}
	w.recover(workers...)
}

func answersLost(w *world) { w.loseAnswers(w.start(3)) }

// loseAnswers loses those of a replica, of the other one, and of both.
func (w *world) loseAnswers(workers []*process) {
	for _, replicas := range [][]*replica{w.store.Replicas[:1], w.store.Replicas[1:], w.store.Replicas} {
		for _, r := range replicas {
			r.Link.Mute(true)
		}
		workers = append(workers, w.launch(1)...)
		w.linger(w.reach / 2)
		for _, r := range replicas {
			r.Link.Heal()
		}
		w.recover(workers...)
	}
}

// trusted has the trust changed, and then another incarnation of the data in their place.
func trusted(w *world) {
	w.lost = true
	w.worker.Nodes = few
	workers := w.start(10)
	w.rollTrust(workers, true)
	w.wantLosses(1)
	w.renew()
	workers = append(workers, w.launch(1)...)
	w.recover(workers...)
	w.wantLosses(1)
	w.rollTrust(workers, false)
	w.wantLosses(2)
	w.renew()
	workers = append(workers, w.launch(1)...)
	w.recover(workers...)
	w.wantLosses(3)
}

// rollTrust changes the trust while workers start again one by one. Half of them do so before, and those
// that don't have leases until the reserve opens.
func (w *world) rollTrust(workers []*process, trust bool) {
	w.getAhead(workers)
	half := len(workers) / 2
	w.rollAll(workers[:half])
	older := workers[half:]
	w.during(older, func() {
		w.setTrust(trust)
		w.rollAll(workers[:half])
	})
	w.rollAll(older)
}

// rollAll has workers start again one by one.
func (w *world) rollAll(workers []*process) {
	for i, p := range workers {
		workers[i] = p.restart()
		w.goOn(workers[i])
	}
}

// renew has another incarnation go on with all that was acknowledged.
func (w *world) renew() {
	if w.store.name == "postgres" {
		must(w.store.Restore())
		return
	}
	must(w.store.Kill())
	must(w.store.Start())
}
