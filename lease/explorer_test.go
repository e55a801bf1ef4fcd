package lease

import "testing"

// The explorer plays random schedules of processes that take leases and numbers from one store:
//
//	schedule_test.go               what any random schedule has: its seed, its events, and a journal
//	explorer_test.go               the scenes, and how a schedule of one is played
//	explorer_world_test.go         the world: time, the processes, and the events that may happen
//	explorer_process_test.go       a process: the real keeper and space, and a generator that uses each lease
//	explorer_copy_test.go          a process whose machine is copied
//	explorer_call_test.go          a call of the store by a process, and what can go wrong with it
//	explorer_store_test.go         the store: an engine in memory, which loses data
//	explorer_oracle_test.go        the oracle: what must never happen
//	explorer_acknowledged_test.go  what was acknowledged to a process, and so which losses it must notice
//
// lab/planted has the bugs that it must find.

// A scene is a kind of schedules: what may happen in them.
type scene struct {
	name    string
	losses  bool // of data
	blind   bool // the engine has no position
	clocks  bool // that are wrong: without it they are right, see world
	copies  bool // of machines
	counter bool
	parts   bool // two spaces of one secret, each with its own store and processes
}

var scenes = []scene{
	{name: "losses", losses: true},
	{name: "losses without positions", losses: true, blind: true},
	{name: "wrong clocks", clocks: true},
	{name: "copies, losses", copies: true, losses: true},
	{name: "copies, wrong clocks", copies: true, clocks: true},
	{name: "counters, losses", counter: true, losses: true},
	{name: "counters, losses without positions", counter: true, losses: true, blind: true},
	{name: "parts, losses", parts: true, losses: true},
}

// TestExplore plays schedules of each scene.
func TestExplore(t *testing.T) {
	for _, scene := range scenes {
		t.Run(scene.name, func(t *testing.T) {
			playMany(t, 80, func(seed uint64, logs bool) string { return play(seed, scene, logs) })
		})
	}
}

// play plays the schedule of a seed.
//
// Two parts know nothing of each other, so their worlds are played one after the other, in the same seconds.
// The oracle looks at the uses of both.
func play(seed uint64, scene scene, logs bool) string {
	w := newWorld(seed, scene)
	w.logs = logs
	w.play()
	if scene.parts && w.wrong == "" {
		other := newWorld(seed+1, scene)
		other.logs = logs
		other.limits.FirstNode = w.limits.Nodes
		other.uses = w.uses
		other.play()
		w = other
	}
	return w.result()
}

func (w *world) play() {
	for range 4 {
		w.start()
	}
	for range 120 {
		if w.wrong == "" {
			w.happen()
		}
	}
	if w.wrong == "" {
		w.useUp()
	}
}
