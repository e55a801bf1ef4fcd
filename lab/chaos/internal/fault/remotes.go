package fault

import (
	"slices"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/simulation"
	"github.com/randflake/randflake/store"
)

// What happens to a service, and on the way to it.
var remotes = []Fault{
	{
		Name:   "replica-kill",
		Does:   "one of two replicas of the service is killed (SIGKILL) and starts again, and so is the other; then both are, for longer than a lease",
		Expect: "while there is a replica workers notice nothing; without any IDs go on to the end of the leases",
		Stores: Remote,
		Script: replicaKill,
		Limits: roomy,
		May:    cutOff,
		Shows:  []journal.Outcome{journal.Unknown},
	},
	{
		Name:   "rolling-restart",
		Does:   "replicas are asked to end (SIGTERM) and start again, one after the other",
		Expect: "each ends by itself, in time; workers notice nothing",
		Stores: Remote,
		Script: rollingRestart,
		Limits: roomy,
	},
	{
		Name:   "answers-lost",
		Does:   "replicas do what they are asked to, and their answers are lost: those of one, and then of both",
		Expect: "workers find out what became of their requests, and go on",
		Stores: Remote,
		Script: answersLost,
		May:    slices.Concat(cutOff, waiting),
		Shows:  []journal.Outcome{journal.Unknown},
	},
	{
		Name:   "certificate-expired",
		Does:   "the certificate of some workers expires; later they get another one",
		Expect: "their IDs go on to the end of their leases, and with the new certificate; a worker with the old one gets no lease; those with a token notice nothing",
		Stores: []string{RemoteFile, RemoteEtcd},
		Script: certificateExpired,
		Limits: roomy,
		May:    append(cutOff, page.Denied),
		Shows:  []journal.Outcome{journal.Unknown},
	},
	{
		Name:   "token-revoked",
		Does:   "the token of some workers is revoked: replicas read a configuration without it (SIGHUP); later they get another one",
		Expect: "their IDs go on to the end of their leases, and with the new token; a worker with the old one is denied a lease; those with a certificate notice nothing",
		Stores: []string{RemoteFile, RemoteEtcd},
		Script: tokenRevoked,
		Limits: roomy,
		May:    append(cutOff, page.Denied),
		Shows:  []journal.Outcome{journal.Unknown},
	},
	{
		Name:   "replica-clocks",
		Does:   "the clock of one of two replicas is a day ahead, and then a day behind; workers reach either",
		Expect: "no worker gets a first lease by the wrong clock; IDs go on with the replica whose clock is right",
		Stores: []string{RemoteFile, RemoteEtcd, RemotePostgres}, // of which the last has a clock of its own
		Script: replicaClocks,
		May:    append(wrongClock, page.Unreachable),
	},
	{
		Name:   "count-replica-kill",
		Does:   "replicas of the service that gives processes numbers are killed (SIGKILL) and start again, one after the other, and both at once",
		Expect: "numbers go on while there is a replica; none is given twice",
		Stores: Remote,
		Script: countReplicaKill,
		May:    []page.Kind{page.Unreachable},
		Counts: true,
	},
	{
		Name:   "count-answers-lost",
		Does:   "replicas give blocks of numbers away, and take some back, and their answers are lost: those of one, and then of both",
		Expect: "processes ask again, and go on; none is given twice, nor taken back when it was used",
		Stores: Remote,
		Script: countAnswersLost,
		May:    []page.Kind{page.Unreachable},
		Counts: true,
	},
}

// Leases of workers that are to notice nothing. A call that a replica does not answer has half of its time left for the
// other one, and that must be enough on a busy machine.
const calm = 2 * simulation.TTL

var roomy = store.Limits{MaxTTL: calm + time.Second, MaxSkew: time.Second}

func remote(w *simulation.Simulation) *engine.Remote { return w.Engine.(*engine.Remote) }

func replicaKill(w *simulation.Simulation) {
	replicas := remote(w).Replicas
	w.Worker.TTL = calm
	workers := w.Start(3)
	for _, victim := range replicas {
		w.During(workers, func() {
			victim.Kill()
			w.Recover(append(w.Launch(1), workers...)...)
			w.Must(victim.Start())
			w.Must(victim.Ready(w.Context()))
		})
	}
	for _, victim := range replicas {
		victim.Kill()
	}
	w.Refuse(workers, page.Ended)
	workers = append(workers, w.Launch(1)...)
	for _, victim := range replicas {
		w.Must(victim.Start())
	}
	w.Recover(workers...)
}

func rollingRestart(w *simulation.Simulation) {
	w.Worker.TTL = calm
	workers := w.Start(4)
	w.During(workers, func() {
		for _, replica := range remote(w).Replicas {
			w.Must(replica.Terminate())
			w.Recover(workers...)
			w.Must(replica.Start())
			w.Must(replica.Ready(w.Context()))
		}
	})
}

func answersLost(w *simulation.Simulation) {
	w.Worker.Keepers = 2
	workers := w.Start(3)
	lost(w, func() {
		workers = append(workers, w.Launch(1)...)
		w.Linger(simulation.TTL / 2)
	}, func() { w.Recover(workers...) })
}

// lost runs f while the answers of a replica, of the other one, and of both don't arrive, and runs heal when they do.
func lost(w *simulation.Simulation, f, heal func()) {
	one, other := remote(w).Replicas[0].Link(), remote(w).Replicas[1].Link()
	for _, links := range [][]*engine.Link{{one}, {other}, {one, other}} {
		for _, l := range links {
			w.Must(l.Lose(engine.Replies))
		}
		f()
		for _, l := range links {
			w.Must(l.Heal())
		}
		heal()
	}
}

func countReplicaKill(w *simulation.Simulation) {
	replicas := remote(w).Replicas
	workers := startCounting(w)
	for _, victim := range replicas {
		victim.Kill()
		workers = append(workers, w.Launch(1)...)
		w.GoOn(workers...)
		w.Must(victim.Start())
		w.Must(victim.Ready(w.Context()))
	}
	for _, victim := range replicas {
		victim.Kill()
	}
	w.Refuse(workers, page.Unreachable)
	for _, victim := range replicas {
		w.Must(victim.Start())
	}
	w.GoOn(workers...)
}

func countAnswersLost(w *simulation.Simulation) {
	workers := startCounting(w)
	lost(w, func() {
		workers = append(workers, w.Launch(1)...)
		w.Linger(simulation.TTL / 2)
	}, func() { w.GoOn(workers...) })
}

func certificateExpired(w *simulation.Simulation) {
	service := remote(w)
	certified := w.Start(2)
	w.Worker.Service, w.Worker.TTL = service.Bearing(), calm
	w.During(w.Start(1), func() {
		end := time.Now().Add(simulation.TTL)
		w.Must(service.Certify(end))
		w.Sleep(time.Until(end))
		w.Refuse(certified, page.Ended)
		w.Worker.Service = service.Certified()
		late := w.Launch(1)
		w.Refuse(late, page.Unreachable, page.Denied)
		w.Must(service.Certify(service.Forever()))
		w.Recover(append(certified, late...)...)
	})
}

func tokenRevoked(w *simulation.Simulation) {
	service := remote(w)
	reload := func() {
		for _, replica := range service.Replicas {
			w.Must(replica.Reload())
		}
	}
	w.Worker.TTL = calm
	others := w.Start(1)
	w.Worker.Service, w.Worker.TTL = service.Bearing(), simulation.TTL
	bearing := w.Start(2)
	w.During(others, func() {
		w.Must(service.Revoke())
		reload()
		w.Refuse(bearing, page.Ended)
		late := w.Launch(1)
		w.Refuse(late, page.Denied)
		w.Must(service.Admit("of-the-second-day"))
		reload()
		w.Recover(append(bearing, late...)...)
	})
}

func replicaClocks(w *simulation.Simulation) {
	right, wrong := remote(w).Replicas[0], remote(w).Replicas[1]
	workers := w.Start(3)
	w.Doubt()
	for _, off := range []time.Duration{day, -day} {
		wrong.Kill()
		w.Must(wrong.StartWrong(off))
		w.Must(wrong.Ready(w.Context()))
		right.Link().Cut() // so that all ask the other one
		late := w.Launch(1)
		w.Refuse(late, page.Invalid, page.WrongClock)
		w.Linger(simulation.TTL)
		w.Must(right.Link().Heal())
		workers = append(workers, late...)
		w.Linger(simulation.TTL / 2)
		wrong.Kill()
		w.Recover(workers...)
	}
}

const day = 24 * time.Hour
