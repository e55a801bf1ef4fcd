package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
)

// A region has a store of its own, with a space that has a part of one secret's nodes. No region calls another.
type region struct {
	engine string
	setup  setup
	may    []refusal // as of a fault

	happens    func(*team) // in the middle of the run
	afterwards func(*team)
}

// What happens in regions. To the last one nothing does, so none of its workers is ever refused.
var regions = []region{
	{engine: "postgres", happens: losesData, may: forgiven, setup: setup{copies: standbys}},
	{engine: "redis", happens: moves, may: forgiven},
	{engine: "etcd", happens: isCutOff, afterwards: isBack, may: cutOff},
	{engine: "file"},
}

// nodesOfRegion is how many nodes each of the four has.
const nodesOfRegion = 1 << 15

// A team is the ten workers of a region, of which the second half is killed again and again.
type team struct {
	*world
	workers []*process
	mature  time.Duration       // the age from which on workers don't pause
	refused map[*process]uint64 // of those that are mature: how often they were refused before

	mayPause bool // the store is away for longer than leases last
}

// losesData has a standby promoted that lacks all leases but the first ones.
func losesData(c *team) {
	c.lost = true
	must(c.store.Restore())
	c.wantLosses(1)
}

// moves has the space moved, and other workers take the place of these.
func moves(c *team) {
	c.lost = true
	c.move("sqlite")
	others := c.start(len(c.workers))
	c.wantLeased(c.workers[:len(c.workers)/2])
	c.wantNoPause()
	c.close(c.workers...)
	c.workers = others
}

func isCutOff(c *team) {
	c.mayPause = true
	c.store.Link.Refuse()
}

func isBack(c *team) {
	c.refuse(c.workers, Ended, Unreachable)
	c.store.Link.Heal()
	c.recover(c.workers...)
}

// play has ten workers run in a region, before and after what happens there.
func (r region) play(w *world) {
	w.worker.Nodes = few
	limits := w.store.config.Limits
	c := &team{
		world:   w,
		workers: w.start(10),
		mature:  limits.MaxSkew + limits.Window + max(limits.MaxSkew/6, 4*time.Second),
		refused: map[*process]uint64{},
	}
	if r.setup.copies == standbys {
		must(w.store.Copy())
	}
	c.churn(c.mature + limits.Window)
	if r.happens != nil {
		r.happens(c)
	}
	c.churn(limits.MaxSkew + time.Duration(limits.Ahead+3)*limits.Window) // beyond the floor
	c.wantNoPause()
	if r.afterwards != nil {
		r.afterwards(c)
	}
}

// churn kills workers, and starts others in their place, for a while.
func (c *team) churn(d time.Duration) {
	began := time.Now()
	next := began
	for ; time.Since(began) < d; c.sleep(100 * time.Millisecond) {
		c.noteMature()
		if time.Now().After(next) {
			next = time.Now().Add(c.window / 2)
			half := len(c.workers) / 2
			i := half + c.rand.IntN(half)
			c.workers[i] = c.workers[i].restart()
		}
	}
}

// noteMature notes how often workers were refused that have become mature.
func (c *team) noteMature() {
	for _, p := range c.workers {
		_, noted := c.refused[p]
		if !noted && time.Since(p.started) > c.mature {
			c.refused[p] = p.allRefused()
		}
	}
}

// wantNoPause sees to it that no mature worker was refused.
func (c *team) wantNoPause() {
	ensure(len(c.refused) >= len(c.workers)/2, "%d workers were older than %v: that shows nothing", len(c.refused), c.mature)
	for p, before := range c.refused {
		ensure(c.mayPause || p.allRefused() == before, "%s was refused %d times when it was older than %v: %s",
			p.name, p.allRefused()-before, c.mature, p.lastWords())
	}
}

// TestRegions has four spaces with parts of one secret in four stores, and ten workers on each, of which some are
// killed all the time. One store loses data, one space is moved, one store is cut off, and one is left alone. All
// together make 20 million IDs or more, none twice. What happens in a region is nothing to the others.
//
// With the usual limits it takes 13 minutes. In the short form all times are a tenth of that or less, and so are IDs.
func TestRegions(t *testing.T) {
	t.Parallel()
	limits := lease.Limits{Window: time.Minute, Ahead: 5, MaxSkew: time.Minute}
	const rate = 1500
	least := uint64(20_000_000)
	if testing.Short() {
		limits = lease.Limits{Window: 2 * longer, Ahead: windowsAhead, MaxSkew: time.Second}
		least /= 10
	}
	r, err := playRegions(t, regions, limits, rate, nodesOfRegion)
	if r.ok() && err != nil { // as on a machine that is busy with other things: see job.patiently
		t.Logf("once more: %v", err)
		r, err = playRegions(t, regions, limits, rate, nodesOfRegion)
	}
	require.That(t, r.ok() && r.IDs >= least && err == nil,
		"%d IDs, want %d: %q: %v", r.IDs, least, r.Wrong, err)
	t.Logf("%d IDs", r.IDs)
}

// TestRegionsOverlap is the negative control: two regions whose parts overlap are found out.
func TestRegionsOverlap(t *testing.T) {
	t.Parallel()
	limits := lease.Limits{Window: usualWindow, Ahead: windowsAhead, MaxSkew: time.Second}
	r, err := playRegions(t, []region{{engine: "file"}, {engine: "file"}}, limits, 20_000, 2*few)
	require.That(t, r.Duplicates != 0 && r.Shared != 0, "%+v, %v: want IDs that were made twice", r, err)
}

// playRegions plays all regions at the same time, the first nodes of whose parts are distance apart. The error is
// what the scripts found, and the result what the journals show.
func playRegions(t *testing.T, regions []region, limits lease.Limits, rate int, distance uint32) (result, error) {
	ctx, cancel := context.WithTimeout(interruptible(t), 5*time.Minute+20*limits.Window)
	defer cancel()
	secret := randflake.NewSecret()
	worlds := make([]*world, len(regions))
	errs := make([]error, len(regions))
	var playing sync.WaitGroup
	for i, r := range regions {
		j := job{engine: r.engine, rate: rate, round: i, fault: &fault{name: "regions", may: r.may, window: limits.Window, setup: r.setup}}
		dir := filepath.Join(t.TempDir(), r.engine)
		require.NoError(t, os.Mkdir(dir, 0o755))
		w := j.world(dir, secret)
		w.ctx = ctx
		w.store.config.Limits = limits
		w.store.config.Limits.FirstNode = uint32(i) * distance
		w.store.config.Limits.Nodes = nodesOfRegion
		w.store.config.Part = true
		w.worker.Outage = 3 * limits.Window
		worlds[i] = w
		t.Cleanup(w.end)
		playing.Go(func() {
			err := w.play(r.play)
			if err == nil {
				err = w.judge(j.fault)
			}
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", r.engine, err)
			}
		})
	}
	playing.Wait()

	var journals []string
	for _, w := range worlds {
		w.end()
		journals = append(journals, w.journals()...)
	}
	found, err := check(secret, journals)
	require.NoError(t, err)
	return found, errors.Join(errs...)
}
