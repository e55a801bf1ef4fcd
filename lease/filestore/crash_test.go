package filestore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// half asks for half of all nodes, so that a store has two ranges and grants each again and again.
var half = lease.Request{Nodes: (randflake.MaxNode + 1) / 2, TTL: 20 * time.Second}

// A play is a history on a disk that fails.
type play struct {
	disk    *disk
	clock   *leasetest.Clock
	store   *Store
	history leasetest.History
}

const diskDir = "/leases"

func newPlay() *play { return &play{disk: newDisk(), clock: leasetest.NewClock(noon)} }

func (p *play) create() (err error) {
	p.store, err = createOn(p.disk.files(), diskDir, []Option{WithRules(testRules), WithClock(p.clock.Now), ForNewSecret()})
	return err
}

func (p *play) open() (err error) {
	p.store, err = openOn(p.disk.files(), diskDir, []Option{WithClock(p.clock.Now)})
	return err
}

// acts takes leases, renews and releases them, as a keeper does: after an error it goes on with
// what it reads back, or takes another lease.
func (p *play) acts(t *testing.T) {
	first := p.acquire(t)
	second := p.acquire(t)
	p.clock.Advance(2 * time.Second)
	first = p.renew(t, first)
	p.release(t, second)
	second = p.acquire(t)
	p.release(t, first)
	p.acquire(t)
	p.clock.Advance(10 * time.Second)
	p.renew(t, second)
}

func (p *play) acquire(t *testing.T) lease.Record {
	rec, err := p.store.Acquire(t.Context(), half)
	if err != nil {
		return lease.Record{}
	}
	p.history.Granted(rec)
	return rec
}

func (p *play) renew(t *testing.T, held lease.Record) lease.Record {
	rec, err := p.store.Renew(t.Context(), held, 20*time.Second)
	if err != nil {
		rec, err = p.store.Lookup(t.Context(), held)
	}
	if err != nil {
		return held
	}
	p.history.Granted(rec)
	return rec
}

func (p *play) release(t *testing.T, held lease.Record) {
	if held.Version > 0 {
		p.history.Released(held, p.clock.Now())
		p.store.Release(t.Context(), held, p.clock.Now())
	}
}

// aftermath takes what can be had now and later from the store as it is, and checks the history.
func (p *play) aftermath(t *testing.T) error {
	for range 3 {
		for range 2 {
			rec, err := p.store.Acquire(t.Context(), half)
			switch {
			case err == nil:
				p.history.Granted(rec)
			case !errors.Is(err, lease.ErrNoRange):
				return fmt.Errorf("Acquire: %w", err)
			}
		}
		p.clock.Advance(15 * time.Second)
	}
	if temps := p.disk.temps(); len(temps) > 0 {
		return fmt.Errorf("left behind: %v", temps)
	}
	return p.history.Check()
}

// stepsOf counts the operations of a play in which nothing fails.
func stepsOf(t *testing.T) int {
	p := newPlay()
	if err := p.create(); err != nil {
		t.Fatal(err)
	}
	p.acts(t)
	if err := p.aftermath(t); err != nil {
		t.Fatal(err)
	}
	if p.history.Len() < 5 {
		t.Fatalf("%d leases only: the play shows nothing", p.history.Len())
	}
	p = newPlay()
	p.create()
	p.acts(t)
	return p.disk.steps
}

// at returns a fault for one step.
func at(step int, m mishap) func(int, string, string) mishap {
	return func(n int, _, _ string) mishap {
		if n == step {
			return m
		}
		return none
	}
}

// TestEveryOperationFails lets each file operation fail once, before and after it took effect.
// The store goes on, and leases stay disjoint, also if the machine crashes afterwards.
func TestEveryOperationFails(t *testing.T) {
	steps := stepsOf(t)
	for step := 1; step <= steps; step++ {
		for _, m := range []mishap{failBefore, failAfter} {
			for seed, luck := range []func() bool{nil, never, always, byChance(step)} {
				p := newPlay()
				p.disk.fault = at(step, m)
				err := p.playOn(t, luck)
				if err != nil {
					t.Fatalf("step %d of %d, mishap %d, luck %d: %v", step, steps, m, seed, err)
				}
			}
		}
	}
}

// playOn plays with a fault in place and a crash at the end unless luck is nil.
func (p *play) playOn(t *testing.T, luck func() bool) error {
	if err := p.create(); err != nil {
		if !errors.Is(err, errFault) {
			return fmt.Errorf("Create: %w", err)
		}
		if err := p.create(); err != nil {
			return fmt.Errorf("Create after one that failed: %w", err)
		}
	}
	p.acts(t)
	if luck != nil {
		p.disk.reboot(luck)
	}
	if err := p.open(); err != nil {
		if err = p.open(); err != nil { // the fault may have been due in the first
			return fmt.Errorf("Open: %w", err)
		}
	}
	return p.aftermath(t)
}

// crashes plays with a crash around each operation in turn, reopens the store, and returns the
// first thing that went wrong. The bug is planted once the store is there.
func crashes(t *testing.T, plant func(*disk)) error {
	steps := stepsOf(t)
	for step := 1; step <= steps; step++ {
		for _, m := range []mishap{crashBefore, crashAfter} {
			for seed, luck := range []func() bool{never, always, byChance(step), byChance(-step), byChance(1000 + step)} {
				p := newPlay()
				p.disk.fault = at(step, m)
				if err := p.crashed(t, luck, plant); err != nil {
					return fmt.Errorf("step %d of %d, mishap %d, luck %d: %w", step, steps, m, seed, err)
				}
			}
		}
	}
	return nil
}

// crashed plays until the crash that is due, and on after it.
func (p *play) crashed(t *testing.T, luck func() bool, plant func(*disk)) error {
	created := p.create() == nil
	if created {
		plant(p.disk)
		p.acts(t)
	}
	p.disk.reboot(luck)
	err := p.open()
	if err != nil && created {
		return fmt.Errorf("Open after a crash: %w", err)
	}
	if err != nil {
		if !errors.Is(err, lease.ErrNoStore) && !errors.Is(err, lease.ErrCorrupt) {
			return fmt.Errorf("Open after a crash within Create: %w", err)
		}
		// The way out that the error names.
		p.disk = newDisk()
		if err := p.create(); err != nil {
			return err
		}
	}
	return p.aftermath(t)
}

func TestCrashes(t *testing.T) {
	if err := crashes(t, func(*disk) {}); err != nil {
		t.Error(err)
	}
}

// TestCrashesFindMissingSync is the negative control of TestCrashes.
func TestCrashesFindMissingSync(t *testing.T) {
	for _, tt := range []struct {
		name  string
		plant func(*disk)
		want  string
	}{
		{"file", func(d *disk) { d.skipSync = true }, "store is corrupt"},
		{"directory", func(d *disk) { d.skipDirSync = true }, "granted twice"},
	} {
		if err := crashes(t, tt.plant); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("the %s is not synced, and crashes show %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestLookupAfterFailedSync: the outcome of a write whose last sync failed is unknown until Lookup
// has made it durable, although the system takes the failed sync for done.
func TestLookupAfterFailedSync(t *testing.T) {
	for _, look := range []bool{true, false} {
		p := newPlay()
		if err := p.create(); err != nil {
			t.Fatal(err)
		}
		held := p.acquire(t)
		failed := false
		p.disk.fault = func(_ int, op, _ string) mishap {
			if op == "syncDir" && !failed {
				failed = true
				return failBefore
			}
			return none
		}
		p.clock.Advance(5 * time.Second)
		if _, err := p.store.Renew(t.Context(), held, 20*time.Second); !errors.Is(err, errFault) {
			t.Fatalf("Renew: error %v, want the fault", err)
		}
		if look {
			rec, err := p.store.Lookup(t.Context(), held)
			if err != nil || rec.HighWater != held.HighWater+5 {
				t.Fatalf("Lookup: %+v, %v; want what Renew wrote", rec, err)
			}
		}
		p.disk.reboot(never)
		if err := p.open(); err != nil {
			t.Fatal(err)
		}
		records, err := p.store.List(t.Context())
		if err != nil || len(records) != 1 {
			t.Fatalf("List: %v, %v", records, err)
		}
		if got, want := records[0].HighWater > held.HighWater, look; got != want {
			t.Errorf("read back: %v; the renewal outlived the crash: %v", look, got)
		}
	}
}

// TestFailedWriteKeepsState: until the rename, a failure leaves the old state and no other file.
func TestFailedWriteKeepsState(t *testing.T) {
	for _, op := range []string{"create", "write", "sync", "close", "rename"} {
		p := newPlay()
		if err := p.create(); err != nil {
			t.Fatal(err)
		}
		held := p.acquire(t)
		p.disk.fault = func(_ int, o, _ string) mishap {
			if o == op {
				return failBefore
			}
			return none
		}
		if _, err := p.store.Renew(t.Context(), held, time.Minute); !errors.Is(err, errFault) {
			t.Errorf("%s fails: error %v, want the fault", op, err)
		}
		if records, err := p.store.List(t.Context()); err != nil || len(records) != 1 || records[0] != held {
			t.Errorf("%s fails: then the store has %+v, %v; want %+v", op, records, err, held)
		}
		if temps := p.disk.temps(); len(temps) > 0 {
			t.Errorf("%s fails: left behind: %v", op, temps)
		}
	}
}
