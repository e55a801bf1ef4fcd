package fault

import (
	"context"
	"errors"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/simulation"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// What is asked for that is not as usual.
var requests = []Fault{
	{
		Name:   "lost-grant",
		Does:   "the store grants leases, and its replies are lost",
		Expect: "who asks again with the same token gets the same lease: no range is lost",
		Stores: all,
		Script: lostGrant,
	},
	{
		Name:   "storm",
		Does:   "many keepers want a few nodes each, of various numbers; when they have closed, one worker wants all nodes, and then one a single node",
		Expect: "ranges are split and merged: all get what they want",
		Stores: all,
		Script: storm,
		May:    []page.Kind{page.NotStarted, page.NoRange, page.Unreachable},
		Limits: store.DefaultLimits(),
	},
	{
		Name:   "wrong-secret",
		Does:   "a worker with the secret of another environment comes by",
		Expect: "it is refused; the others notice nothing",
		Stores: all,
		Script: wrongSecret,
		May:    []page.Kind{page.WrongSecret},
	},
}

// errLost is what comes of a reply that was lost.
var errLost = errors.New("the reply was lost")

func lostGrant(w *simulation.Simulation) {
	workers := w.Start(2)
	losing := false
	lost := 0
	engine := storetest.Intercept(w.Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
		answer, err := c.On(ctx, e)
		if losing && err == nil && answer.Swapped {
			lost++
			return store.Answer{}, errLost
		}
		return answer, err
	})
	space, err := store.Open(w.Context(), engine)
	w.Must(err)
	leases := lease.On(space)
	secret, err := randflake.ParseSecret(w.Worker.Secret)
	w.Must(err)
	w.During(workers, func() {
		for range w.Rounds(20) {
			ask := lease.Request{Nodes: 256, TTL: simulation.TTL, Owner: lease.NewToken(time.Now()), Keys: store.KeysOf(secret)}
			losing = true
			_, err := leases.Acquire(w.Context(), ask)
			w.Ensure(errors.Is(err, errLost), "Acquire without a reply: %v", err)
			losing = false
			held, err := leases.Acquire(w.Context(), ask)
			w.Must(err)
			records, err := leases.List(w.Context())
			w.Must(err)
			mine := 0
			for _, r := range records {
				if r.Owner == ask.Owner {
					mine++
					w.Ensure(r == held, "the store has %+v, and said %+v", r, held)
				}
			}
			w.Ensure(mine == 1, "%d ranges are held for one token", mine)
			w.Must(leases.Release(w.Context(), held, held.Lease().Start.Add(-time.Second)))
		}
	})
	w.Ensure(lost == w.Rounds(20), "%d replies were lost", lost)
}

func storm(w *simulation.Simulation) {
	usual := w.Worker
	w.Worker.TTL = 5 * time.Minute
	for range 3 {
		w.Worker.Keepers, w.Worker.Nodes = 16, (randflake.MaxNode+1)/16 // so that there are several cells alike to split at the same time
		halls := w.Launch(1)
		w.GoOn(halls...)
		w.Close(halls...)
		w.Worker.Keepers = 10 + w.Rounds(10)
		var small []*simulation.Process
		for _, nodes := range []int{1, 2, 5, 33} {
			w.Worker.Nodes = nodes + w.Int(0, 1)
			small = append(small, w.Launch(1)...)
		}
		w.GoOn(small...)
		w.Close(small...)
	}
	w.Worker = usual
	w.Worker.Nodes = randflake.MaxNode + 1
	all := w.Start(1)[0]
	w.Ensure(all.Held().Nodes() == randflake.MaxNode+1, "it has nodes %d to %d", all.Held().FirstNode, all.Held().LastNode)
	all.Close()
	w.Worker.Nodes = 1
	w.Start(1)
}

func wrongSecret(w *simulation.Simulation) {
	workers := w.Start(2)
	before := w.Records()
	w.During(workers, func() {
		production := w.Worker.Secret
		w.Worker.Secret = "00112233445566778899aabbccddeeff"
		strangers := w.Launch(2)
		w.Refuse(strangers, page.WrongSecret)
		w.Linger(simulation.TTL / 3)
		w.Close(strangers...)
		w.Worker.Secret = production
	})
	w.Ensure(len(w.Records()) == len(before), "there were %d ranges before, and %d after", len(before), len(w.Records()))
	w.Recover(append(workers, w.Start(1)...)...)
}
