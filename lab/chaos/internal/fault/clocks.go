package fault

import (
	"slices"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/simulation"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// What happens to clocks. Where a store asks the worker's process for the time, that clock is the one that is
// stepped; where it asks its server, first the clock of one worker is, then that of the server.
var clocks = []Fault{
	{
		Name:    "clock-back-1s",
		Does:    "a clock is set back by a second: under a worker that runs, and under one that starts",
		Expect:  "IDs go on, before the clock is right again",
		Stores:  all,
		Script:  stepped(-time.Second),
		May:     wrongClock,
		Clocked: true,
	},
	{
		Name:    "clock-back-1h",
		Does:    "a clock is set back by an hour: under a worker that runs, and under one that starts",
		Expect:  "a worker that shares its clock with the store moves to nodes that nobody ever had; one whose clock contradicts the store's makes no IDs until both agree again",
		Stores:  all,
		Script:  stepped(-time.Hour),
		May:     wrongClock,
		Clocked: true,
	},
	{
		Name:    "clock-forward-1y-and-back",
		Does:    "a clock is set forward by a year, and back: under a worker that runs, and under one that starts",
		Expect:  "IDs go on when it is right again, on other nodes: those that are marked a year ahead are passed over; a worker whose clock contradicts the store's makes no IDs until both agree again, nor may one that starts where others go on renewing what would be long over",
		Stores:  all,
		Script:  stepped(year),
		May:     wrongClock,
		Clocked: true,
	},
	{
		Name:    "clock-strobe",
		Does:    "each second, a clock is set to and fro by up to ten seconds",
		Expect:  "IDs go on when it is right again",
		Stores:  all,
		Script:  strobe,
		May:     wrongClock,
		Clocked: true,
	},
	{
		Name:    "fast-clock",
		Does:    "a worker whose clock, and that of the store's server if it has one, is a year ahead is killed and starts again, four times; then somebody with such a clock reports a loss",
		Expect:  "the others go on; right clocks get leases, after forgive-clock where all nodes, or the floor, are a year ahead",
		Stores:  all,
		Script:  fastClock,
		May:     wrongClock,
		Clocked: true,
	},
	{
		Name:   "fast-clock-crash-loop",
		Does:   "three workers hold a quarter of all nodes each; another one, whose clock is two leases ahead, starts and is killed, eight times",
		Expect: crashLoopExpect,
		Stores: []string{File, Etcd},
		Script: fastClockCrashLoop(2 * simulation.TTL),
		May:    wrongClock,
	},
	{
		Name:   "fast-clock-crash-loop-1y",
		Does:   "as fast-clock-crash-loop, with a clock that is a year ahead",
		Expect: crashLoopExpect,
		Stores: []string{File, Etcd},
		Script: fastClockCrashLoop(year),
		May:    wrongClock,
	},
}

const crashLoopExpect = "it takes the nodes of one of the others at most; when one of the others has renewed, it is refused because of its clock"

// wrongClock are the refusals under a clock that is wrong, or differs from the store's.
var wrongClock = []page.Kind{page.NotStarted, page.Ended, page.Backward, page.NoRange, page.Exhausted, page.WrongClock, page.Invalid}

const year = 365 * 24 * time.Hour

func fastClock(w *simulation.Simulation) {
	w.Worker.Nodes = sixteenth
	others := w.Start(2)
	for range 4 {
		if w.ServerClock != nil {
			w.StepServer(year)
		}
		w.Worker.Nodes = quarter
		fast := w.LaunchWrong(year)
		granted(w, fast)
		fast.Kill()
	}
	if w.ServerClock != nil {
		w.StepServer(0)
	}
	w.Recover(others...)
	late := w.Launch(1)
	forgiveIfNeeded(w, "nodes", late...)

	w.Must(w.Store(store.WithClock(func() time.Time { return time.Now().Add(year) })).ReportLoss(w.Context(), "a test"))
	m, err := w.Store().Info(w.Context())
	w.Must(err)
	w.Ensure(m.Floor > time.Now().Add(year/2).Unix(), "the floor is %d", m.Floor)
	late = w.Launch(1)
	w.Refuse(late, page.NoRange)
	forgiveIfNeeded(w, "the floor", late...)
	w.Recover(append(others, late...)...)
}

// fastClockCrashLoop is for stores that have no clock but that of the process.
func fastClockCrashLoop(ahead time.Duration) func(*simulation.Simulation) {
	return func(w *simulation.Simulation) {
		w.Worker.Nodes = quarter
		good := w.Start(3)
		w.Recover(good...)
		owners := make(map[*simulation.Process]lease.Token)
		for _, p := range good {
			owners[p] = p.Held().Owner
		}
		refused := 0
		for range 8 {
			fast := w.LaunchWrong(ahead)
			if !granted(w, fast) && fast.Refused[page.WrongClock].Load() > 0 {
				refused++
			}
			fast.Kill()
		}
		records := w.Records()
		keep := slices.DeleteFunc(good, func(p *simulation.Process) bool {
			return !slices.ContainsFunc(records, func(r lease.Record) bool { return r.Owner == owners[p] })
		})
		w.Note("%d of 3 kept their nodes, and of 8 starts with a fast clock %d were refused because of it", len(keep), refused)
		w.Ensure(len(keep) >= 2, "%d of 3 workers with right clocks kept their nodes, want 2", len(keep))
		w.Recover(keep...)
		fast := w.LaunchWrong(ahead)
		w.Refuse([]*simulation.Process{fast}, page.WrongClock)
		fast.Kill()
		w.Recover(keep...)
	}
}

// granted waits until a worker has a lease, or is refused one, and reports which.
func granted(w *simulation.Simulation, p *simulation.Process) bool {
	w.Await(p.Name+" has a lease, or is refused", func() bool {
		return p.Holding.Load() > 0 || p.Refused[page.WrongClock].Load()+p.Refused[page.NoRange].Load() > 0
	})
	return p.Holding.Load() > 0
}

// forgiveIfNeeded waits until workers have leases, after an operator forgives the clock if they are refused.
func forgiveIfNeeded(w *simulation.Simulation, why string, workers ...*simulation.Process) {
	if !granted(w, workers[0]) {
		w.Doubt()
		_, err := w.Store().ForgiveClock(w.Context(), time.Now().Add(time.Hour))
		w.Must(err)
		w.Note("the clock had to be forgiven for %s", why)
	}
	w.GoOn(workers...)
}

// stepped steps clocks by off, and back.
func stepped(off time.Duration) func(*simulation.Simulation) {
	return func(w *simulation.Simulation) {
		w.Worker.ShiftClock = true
		victim, others := w.Choose(w.Start(3))
		w.During(others, func() {
			victim.Step(off)
			bear(w, victim, off)
			w.Linger(simulation.TTL)
			victim = victim.Restart()
			if w.ServerTime || off < time.Minute || granted(w, victim) {
				bear(w, victim, off)
			}
			victim.Step(0)
			w.Recover(victim)
		})
		if w.ServerClock != nil {
			steppedServer(w, off)
		}
	}
}

// bear waits until a worker whose clock is off makes IDs all the same, or makes none where its clock
// contradicts the store's by more than a little.
func bear(w *simulation.Simulation, p *simulation.Process, off time.Duration) {
	if w.ServerTime && off.Abs() > time.Minute {
		w.Refuse([]*simulation.Process{p}, wrongClock...)
	} else {
		w.GoOn(p)
	}
}

func steppedServer(w *simulation.Simulation, off time.Duration) {
	w.Worker.ShiftClock = false
	workers := w.Start(3)
	victim, others := w.Choose(workers)
	w.StepServer(off)
	w.Linger(simulation.TTL)
	victim = victim.Restart()
	w.Linger(simulation.TTL / 3)
	w.StepServer(0)
	w.Recover(append(others, victim)...)
}

func strobe(w *simulation.Simulation) {
	w.Worker.ShiftClock = true
	victim, others := w.Choose(w.Start(3))
	w.During(others, func() {
		for range w.Rounds(6) {
			w.Sleep(time.Second)
			victim.Step(time.Duration(w.Int(-10, 10)) * time.Second)
		}
		victim.Step(0)
		w.Start(1)
		w.Recover(victim)
	})
	if w.ServerClock == nil {
		return
	}
	w.Worker.ShiftClock = false
	workers := w.Start(3)
	for range w.Rounds(6) {
		w.Sleep(time.Second)
		w.StepServer(time.Duration(w.Int(-10, 10)) * time.Second)
	}
	w.StepServer(0)
	w.Start(1)
	w.Recover(workers...)
}
