package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// TestRollout updates a Deployment of 1,000 pods, which lease a node each, in the way of Kubernetes. Those nodes suffice
// that docs/kubernetes.md promises, and one node less makes pods wait.
func TestRollout(t *testing.T) {
	page, err := os.ReadFile("../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []rollout{
		{surge: 100, nodes: 1100},
		{surge: 100, drain: 20, nodes: 1200},
		{surge: 250, drain: 20, nodes: 1500},
		{surge: 100, drain: 20, killed: 5, nodes: 1240},
		{surge: 100, killed: 100, nodes: 2000},
	} {
		t.Run(fmt.Sprintf("%+v", r), func(t *testing.T) {
			t.Parallel()
			most, refused := r.run(t, r.nodes)
			row := fmt.Sprintf("| %d | %d s | %d%% | %d |", r.surge, r.drain, r.killed, most)
			if t.Log(row); most != r.nodes || refused > 0 || !strings.Contains(string(page), row) {
				t.Errorf("%d nodes leased at once, %d refusals, want %d nodes and that row in docs/kubernetes.md", most, refused, r.nodes)
			}
			if _, refused := r.run(t, r.nodes-1); refused == 0 {
				t.Errorf("%d nodes suffice", r.nodes-1)
			}
		})
	}
}

const replicas = 1000

// A rollout is an update with maxUnavailable 0. No more than surge pods are there beside the replicas, but for those that
// were told to end.
type rollout struct {
	surge  int
	drain  int // seconds from SIGTERM to Close
	killed int // percentage of old pods that never call Close
	nodes  int
}

// A pod leases a node when it has started.
type pod struct {
	source *mortal
	keeper *lease.Keeper[*randflake.Generator]
}

// A mortal is a Source whose user can be killed: it then gives nothing back.
type mortal struct {
	lease.Source
	dead bool
}

func (m *mortal) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	if m.dead {
		return errors.New("killed")
	}
	return m.Source.Release(ctx, held, lastUsed)
}

// run makes the update with so many nodes in all. It returns how many were leased at once, and how often a pod got none.
func (r rollout) run(t *testing.T, nodes int) (most, refused int) {
	synctest.Test(t, func(t *testing.T) {
		sleepToPresent()
		memory := storetest.NewMemory()
		memory.SetClock(time.Now)
		space, err := store.Create(t.Context(), memory.Connect(), store.ForNewSecret())
		if err != nil {
			t.Fatal(err)
		}
		var refusals atomic.Int64
		ready, ended := make(chan *pod), make(chan bool)
		random := rand.New(rand.NewPCG(1, 2))
		start := func(delay time.Duration) {
			time.Sleep(delay)
			p, err := &pod{source: &mortal{Source: lease.On(space)}}, error(nil)
			for ; ; time.Sleep(10 * time.Second) { // as a container that crashes starts again
				p.keeper, err = lease.Keep(t.Context(), p.source, testSecret, lease.WithBelow(uint32(nodes)), lease.WithLogger(slog.New(slog.DiscardHandler)))
				if !errors.Is(err, lease.ErrNoRange) {
					break
				}
				refusals.Add(1)
			}
			if err != nil {
				t.Error(err)
				return
			}
			for time.Sleep(5 * time.Second); p.keeper.Generator().Ready() != nil; time.Sleep(5 * time.Second) { // the startup probe
			}
			ready <- p
		}
		end := func(p *pod) {
			if !p.source.dead {
				time.Sleep(time.Duration(r.drain) * time.Second)
			}
			p.keeper.Close()
			ended <- true
		}
		var old, fresh []*pod
		for range replicas {
			go start(time.Duration(random.Int64N(int64(100 * time.Second))))
		}
		for range replicas {
			old = append(old, <-ready)
		}
		over, stopped := make(chan bool), make(chan bool)
		go func() {
			defer close(stopped)
			for sample := 2 * time.Second; ; sample = 5 * time.Second {
				select {
				case <-over:
					return
				case <-time.After(sample):
					most = max(most, leased(t, space))
				}
			}
		}()
		starting, ending := 0, 0
		for len(fresh) < replicas || ending > 0 {
			for ; starting+len(fresh) < replicas && starting+len(fresh)+len(old) < replicas+r.surge; starting++ {
				go start(10*time.Second + time.Duration(random.Int64N(int64(time.Second/10))))
			}
			select {
			case p := <-ready:
				starting, fresh = starting-1, append(fresh, p)
				p, old = old[0], old[1:]
				p.source.dead = len(old)%100 < r.killed
				ending++
				go end(p)
			case <-ended:
				ending--
			}
		}
		close(over)
		<-stopped
		for _, p := range fresh {
			p.keeper.Close()
		}
		refused = int(refusals.Load())
	})
	return most, refused
}

// leased returns how many nodes are leased.
func leased(t *testing.T, space *store.Space) (n int) {
	records, err := lease.On(space).List(t.Context())
	if err != nil {
		t.Error(err)
	}
	for _, rec := range records {
		if rec.Owner != (lease.Token{}) && rec.HighWater >= time.Now().Unix() {
			n += rec.Nodes()
		}
	}
	return n
}
