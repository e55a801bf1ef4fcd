package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store/storetest"
)

// A witness passes on what a store answers to one keeper, and notes what it granted.
type witness struct {
	lease.Source
	grants func(lease.Record) lease.Record // what a faulty store makes of a grant, or nil
	all    *storetest.History

	mu      sync.Mutex
	granted map[lease.Token]lease.Record
}

func (w *witness) note(r lease.Record, err error) (lease.Record, error) {
	if err != nil {
		return r, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.granted == nil {
		w.granted = make(map[lease.Token]lease.Record)
	}
	if before := w.granted[r.Owner]; before.HighWater < r.HighWater {
		w.granted[r.Owner] = r
	}
	w.all.Granted(r)
	return r, nil
}

func (w *witness) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	r, err := w.Source.Acquire(ctx, req)
	if err == nil && w.grants != nil {
		r = w.grants(r)
	}
	return w.note(r, err)
}

func (w *witness) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	return w.note(w.Source.Renew(ctx, held, renewal))
}

func (w *witness) Lookup(ctx context.Context, held lease.Record) (lease.Record, error) {
	return w.note(w.Source.Lookup(ctx, held))
}

func (w *witness) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	w.all.Released(held, lastUsed)
	return w.Source.Release(ctx, held, lastUsed)
}

// mayMake reports whether some lease that was granted covers f.
func (w *witness) mayMake(f randflake.Fields) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.granted {
		if r.FirstNode <= f.Node && f.Node <= r.LastNode && r.Start <= f.Time.Unix() && f.Time.Unix() <= r.HighWater {
			return true
		}
	}
	return false
}

// A service is one keeper after another, with a clock of its own.
type service struct {
	witness
	jitter *dice
	clock  skewed
	keeper *lease.Keeper[*randflake.Generator]
}

// A judge knows every ID that was made.
type judge struct {
	cipher *randflake.Cipher
	made   map[randflake.Raw]bool
}

// see returns what is wrong with an ID that s made, if anything.
func (j *judge) see(s *service, id randflake.ID) error {
	raw := j.cipher.Decrypt(id)
	f := raw.Fields()
	switch {
	case j.made[raw]:
		return fmt.Errorf("made twice: %+v", f)
	case !s.mayMake(f):
		return fmt.Errorf("not covered by a lease: %+v", f)
	}
	j.made[raw] = true
	return nil
}

// A dice is a source of randomness that several goroutines may share.
type dice struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func newDice(seed, stream uint64) *dice { return &dice{rng: rand.New(rand.NewPCG(seed, stream))} }

func (d *dice) IntN(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

func (d *dice) Float64() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.Float64()
}

// A weather is a random course of faults and clocks.
type weather struct {
	*dice               // of the simulation
	faults *dice        // of the calls of the store
	bad    atomic.Int64 // how many of them in 100 fail
}

// fault fails calls in every way.
func (w *weather) fault(storetest.Op) storetest.Fault {
	if w.faults.IntN(100) >= int(w.bad.Load()) {
		return storetest.Fault{}
	}
	return storetest.Fault{Err: storetest.ErrInjected, After: w.faults.IntN(2) == 0, Hang: w.faults.IntN(4) == 0}
}

// turn changes it now and then.
func (w *weather) turn(clocks ...*skewed) {
	if w.IntN(40) == 0 {
		w.bad.Store([]int64{0, 0, 10, 50, 100}[w.IntN(5)])
	}
	if w.IntN(30) > 0 {
		return
	}
	c := clocks[w.IntN(len(clocks))]
	switch w.IntN(6) {
	case 0:
		c.skew.Store(0)
	case 1, 2:
		c.step(time.Duration(w.IntN(40)-20) * time.Second)
	case 3:
		c.step(time.Duration(w.IntN(7200)-3600) * time.Second)
	case 4:
		for _, each := range clocks { // they share a source of time that goes wrong
			each.step(time.Duration(w.IntN(1200)-600) * time.Second)
		}
	case 5:
		c.step(time.Duration(w.IntN(3)-1) * 365 * 24 * time.Hour)
	}
}

// A tally says what happened in a simulation.
type tally struct {
	ids, refusals                   int
	lost, replaced, failed, renewed uint64
	held                            int // by keepers that were closed
}

// simulate has services make IDs for some hours, and returns the first thing that went wrong.
func simulate(t *testing.T, seed uint64, grants func(lease.Record) lease.Record) (sum tally, err error) {
	var clock skewed
	store := storetest.NewLeases(keeperLimits, clock.Now)
	sky := &weather{dice: newDice(seed, 1), faults: newDice(seed, 2)}
	store.Inject(sky.fault)
	j := judge{randflake.NewCipher(testSecret), make(map[randflake.Raw]bool)}
	var history storetest.History
	services := make([]*service, 4)
	clocks := []*skewed{&clock}
	for i := range services {
		services[i] = &service{jitter: newDice(seed, uint64(i)+3), witness: witness{Source: store, all: &history, grants: grants}}
		clocks = append(clocks, &services[i].clock)
	}
	defer func() {
		for _, s := range services {
			s.end(&sum)
		}
		if err == nil {
			err = history.Check()
		}
	}()
	for end := time.Now().Add(6 * time.Hour); time.Now().Before(end); {
		sky.turn(clocks...)
		s := services[sky.IntN(len(services))]
		switch {
		case s.keeper == nil:
			s.begin(t.Context(), sky)
		case sky.IntN(500) == 0:
			s.end(&sum)
		default:
			if err := s.work(j, sky, &sum); err != nil {
				return sum, fmt.Errorf("seed %d: %w", seed, err)
			}
		}
		time.Sleep(time.Duration(sky.IntN(3000)) * time.Millisecond)
	}
	return sum, nil
}

func (s *service) begin(ctx context.Context, sky *weather) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s.keeper, _ = lease.Keep(ctx, s, testSecret, lease.WithClock(s.clock.Now), lease.WithNodes(1+sky.IntN(3)),
		lease.WithTTL(time.Duration(3+sky.IntN(300))*time.Second), lease.WithLogger(slog.New(slog.DiscardHandler)), lease.WithRandom(s.jitter.Float64))
}

// work makes a few IDs. That is few enough for the same sequence numbers to come up each second,
// so that two generators with the same second of the same node make the same ID for sure.
func (s *service) work(j judge, sky *weather, sum *tally) error {
	ids := make([]randflake.ID, 1+sky.IntN(4))
	n, err := s.keeper.Generator().Fill(ids)
	if err != nil {
		sum.refusals++
	}
	sum.ids += n
	for _, id := range ids[:n] {
		if err := j.see(s, id); err != nil {
			return err
		}
	}
	return nil
}

func (s *service) end(sum *tally) {
	if s.keeper == nil {
		return
	}
	s.keeper.Close()
	status := s.keeper.Status()
	sum.lost += status.Lost
	sum.replaced += status.Replaced
	sum.renewed += status.Renewed
	sum.failed += status.RenewalsFailed + status.AcquisitionsFailed + status.ReleasesFailed
	sum.held += status.Held
	s.keeper = nil
}

// Whatever store and clocks do, no ID is made twice and none without a lease.
func TestKeepersProperty(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 3
	}
	var sum tally
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			sleepToPresent()
			got, err := simulate(t, seed, nil)
			if err != nil {
				t.Error(err)
			}
			sum = sum.plus(got)
		})
	}
	t.Logf("%+v", sum)
	if sum.ids < 10_000 || sum.refusals == 0 || sum.lost == 0 || sum.replaced == 0 || sum.failed == 0 || sum.renewed == 0 {
		t.Errorf("%+v: want some of everything", sum)
	}
	if sum.held != 0 {
		t.Errorf("%d leases still held by keepers that were closed", sum.held)
	}
}

func (a tally) plus(b tally) tally {
	return tally{a.ids + b.ids, a.refusals + b.refusals, a.lost + b.lost, a.replaced + b.replaced, a.failed + b.failed, a.renewed + b.renewed, a.held + b.held}
}

// The same check finds the faults of a store that grants nodes twice.
func TestKeepersPropertyFindsFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sleepToPresent()
		_, err := simulate(t, 1, func(r lease.Record) lease.Record {
			r.FirstNode, r.LastNode = 0, r.LastNode-r.FirstNode
			return r
		})
		if err == nil || !strings.Contains(err.Error(), "twice") {
			t.Errorf("same nodes for everybody: error %v, want one of IDs made twice", err)
		}
	})
	s := &service{witness: witness{all: &storetest.History{}}}
	s.note(lease.Record{Owner: lease.Token{1}, LastNode: 1, Start: randflake.Epoch + 10, HighWater: randflake.Epoch + 12}, nil)
	j := judge{randflake.NewCipher(testSecret), make(map[randflake.Raw]bool)}
	for _, tt := range []struct {
		second   int64
		node     uint32
		sequence uint32
		ok       bool
	}{
		{10, 0, 0, true}, {12, 1, 0, true}, {10, 0, 0, false}, {9, 0, 0, false}, {13, 0, 0, false}, {10, 2, 0, false},
	} {
		id, err := j.cipher.Compose(randflake.Fields{Time: time.Unix(randflake.Epoch+tt.second, 0), Node: tt.node, Sequence: tt.sequence})
		if err = errors.Join(err, j.see(s, id)); (err == nil) != tt.ok {
			t.Errorf("%+v: error %v", tt, err)
		}
	}
}
