package lease_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// A site is an engine's data in memory, which processes with clocks of their own use.
type site struct {
	*testing.T
	data *storetest.Memory
	bug  storetest.Bug // of the engine, or empty
	now  time.Time
}

var siteLimits = store.Limits{MaxTTL: 10 * time.Minute, MaxSkew: time.Minute}

func newSite(t *testing.T) *site {
	w := &site{T: t, data: storetest.NewMemory(), now: time.Unix(1767268800, 0)}
	space, err := store.Create(t.Context(), w.data.Connect(), store.ForNewSecret(), store.WithLimits(siteLimits), store.WithClock(func() time.Time { return w.now }))
	if err != nil {
		t.Fatal(err)
	}
	space.Close()
	return w
}

// A process is a handle on the leases, with a clock that is off.
type process struct {
	lease.Source
	space *store.Space
	site  *site
	off   time.Duration
	held  []lease.Record
}

func (w *site) start(off time.Duration) *process {
	engine := w.data.Connect()
	if w.bug != "" {
		engine = storetest.Plant(engine, w.bug)
	}
	return w.startOn(engine, off)
}

func (w *site) startOn(engine store.Engine, off time.Duration) *process {
	w.Helper()
	p := &process{site: w, off: off}
	space, err := store.Open(w.Context(), engine, store.WithClock(p.clock))
	if err != nil {
		w.Fatal(err)
	}
	p.space, p.Source = space, lease.On(space)
	return p
}

func (p *process) clock() time.Time { return p.site.now.Add(p.off) }

func (p *process) acquire(nodes int) (lease.Record, error) {
	return p.Acquire(p.site.Context(), lease.Request{Nodes: nodes, TTL: 5 * time.Minute})
}

func (p *process) mustAcquire(nodes int) lease.Record {
	p.site.Helper()
	rec, err := p.acquire(nodes)
	if err != nil {
		p.site.Fatalf("Acquire %d: %v", nodes, err)
	}
	return rec
}

// awaitAcquire acquires nodes of holders that have gone, which are spared for a while as nobody renews.
func (p *process) awaitAcquire(nodes int) lease.Record {
	p.site.Helper()
	for range 32 {
		if rec, err := p.acquire(nodes); err == nil {
			return rec
		}
		p.site.now = p.site.now.Add(10 * time.Second)
	}
	return p.mustAcquire(nodes)
}

func (p *process) renew(held lease.Record) (lease.Record, error) {
	return p.Renew(p.site.Context(), held, lease.Renewal{TTL: 5 * time.Minute, Token: lease.NewToken(p.clock())})
}

func (p *process) mustRenew(held lease.Record) lease.Record {
	p.site.Helper()
	rec, err := p.renew(held)
	if err != nil {
		p.site.Fatalf("Renew %+v: %v", held, err)
	}
	return rec
}

// calls counts what do asks of the engine.
func (w *site) calls(do func()) (reads, swaps int) {
	reads, swaps = w.data.Reads(), w.data.Swaps()
	do()
	return w.data.Reads() - reads, w.data.Swaps() - swaps
}

// TestRoundTrips: a renewal and a release are one call of the engine, an acquisition and a look-up two, however many ranges
// there are.
func TestRoundTrips(t *testing.T) {
	w := newSite(t)
	p := w.start(0)
	more := 0 // acquisitions that found what they tried taken by the others
	for i := range 500 {
		if reads, swaps := w.calls(func() { p.mustAcquire(1 + i%3) }); reads != 1 || swaps != 1 {
			more++
		}
		w.now = w.now.Add(2 * time.Second)
	}
	if more > 25 {
		t.Errorf("%d of 500 acquisitions took more than one read and one swap", more)
	}
	held := p.mustAcquire(1)
	if reads, swaps := w.calls(func() { held = p.mustRenew(held) }); reads != 0 || swaps != 1 {
		t.Errorf("renewal: %d reads, %d swaps", reads, swaps)
	}
	if reads, swaps := w.calls(func() { p.Lookup(t.Context(), held) }); reads != 1 || swaps != 1 { // which makes it durable
		t.Errorf("look-up: %d reads, %d swaps", reads, swaps)
	}
	if reads, swaps := w.calls(func() { p.Release(t.Context(), held, w.now) }); reads != 0 || swaps != 1 {
		t.Errorf("release: %d reads, %d swaps", reads, swaps)
	}
	if err := p.ReportLoss(t.Context()); err != nil {
		t.Fatal(err)
	}
	names := 0
	counting := storetest.Intercept(w.data.Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
		names += len(c.Names) + c.Page.Limit + len(c.Expect)
		return c.On(ctx, e)
	})
	fresh := w.startOn(counting, 0)
	names = 0
	if _, err := fresh.acquire(1); !errors.Is(err, lease.ErrNoRange) || names != 1 {
		t.Errorf("under a floor: %v, after %d entries were asked for, want the meta entry alone", err, names)
	}
}

// TestLostRepliesOfManyLeakNothing: many callers at once, of which each loses replies and asks again, get one range for each
// lease, though there are fewer receipts than callers.
func TestLostRepliesOfManyLeakNothing(t *testing.T) {
	const callers = 256
	each := 8
	if testing.Short() {
		each = 2
	}
	for _, below := range []uint32{0, uint32(2 * callers * each)} {
		w := newSite(t)
		lossy := func() *process {
			return w.startOn(storetest.Intercept(w.data.Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
				answer, err := c.On(ctx, e)
				if c.Swap && rand.IntN(5) == 0 {
					err = errors.New("the reply was lost")
				}
				return answer, err
			}), 0)
		}
		var lost atomic.Int32
		var group sync.WaitGroup
		for range callers {
			p := lossy()
			group.Go(func() {
				for range each {
					req := lease.Request{Nodes: 1, Below: below, TTL: time.Minute, Owner: lease.NewToken(w.now)}
					for {
						got, err := p.Acquire(t.Context(), req)
						if err == nil && got.Owner == req.Owner {
							break
						}
						req.Retry = true
						if lost.Add(1); err == nil || errors.Is(err, lease.ErrNoRange) || errors.Is(err, lease.ErrInvalidRequest) {
							t.Errorf("Acquire: %+v, %v", got, err)
							return
						}
					}
				}
			})
		}
		group.Wait()
		records, err := w.start(0).List(t.Context())
		if err != nil || len(records) != callers*each || int(lost.Load()) < callers*each/8 {
			t.Errorf("below %d: %d ranges for %d leases, %d replies lost, %v", below, len(records), callers*each, lost.Load(), err)
		}
	}
}

// TestRollbackAndSlowClock: a process whose clock is an hour slow notices a rollback. A floor by its clock would let the
// same seconds be granted again.
func TestRollbackAndSlowClock(t *testing.T) {
	w := newSite(t)
	backup := w.data.Snapshot()
	var h storetest.History
	h.Granted(w.start(0).mustAcquire(131072))
	slow := w.start(-time.Hour)
	slow.List(t.Context())
	w.data.Restore(backup)
	refused := 0
	for range 200 {
		if rec, err := slow.acquire(131072); err == nil {
			h.Granted(rec)
			break
		} else if refused++; !errors.Is(err, store.ErrClock) && !errors.Is(err, lease.ErrNoRange) {
			t.Fatalf("Acquire: %v, want ErrClock, and then a floor", err)
		}
		w.now = w.now.Add(time.Minute)
	}
	if h.Len() != 2 || refused < 60 {
		t.Errorf("%d leases, the second one after %d minutes, want one after the clock was right for a while", h.Len(), refused)
	}
	if err := h.Check(); err != nil {
		t.Error(err)
	}
}

// TestHolderKnowsMore: a lease shows a loss of data that the engine's evidence hides.
func TestHolderKnowsMore(t *testing.T) {
	for what, call := range map[string]func(p *process, held lease.Record) error{
		"renew":   func(p *process, held lease.Record) error { _, err := p.renew(held); return err },
		"look up": func(p *process, held lease.Record) error { _, err := p.Lookup(t.Context(), held); return err },
		"release": func(p *process, held lease.Record) error { return p.Release(t.Context(), held, p.clock()) },
	} {
		w := newSite(t)
		p := w.start(0)
		held := p.mustAcquire(1)
		before := w.data.Snapshot()
		w.now = w.now.Add(time.Second)
		held = p.mustRenew(held)
		before.Position += 100
		w.data.Restore(before)
		if err := call(p, held); what != "look up" && !errors.Is(err, lease.ErrLost) {
			t.Errorf("%s: %v, want ErrLost", what, err)
		}
		if r, err := w.start(0).acquire(1); !errors.Is(err, lease.ErrNoRange) {
			t.Errorf("%s: granted %+v, %v, want a floor", what, r, err)
		}
	}
}

// TestRollbackBelowAnother: a range that was lost and granted again shows its former holder the loss.
func TestRollbackBelowAnother(t *testing.T) {
	w := newSite(t)
	p := w.start(0)
	other := w.start(0).mustAcquire(131072)
	w.now = time.Unix(other.HighWater+1, 0)
	backup := w.data.Snapshot()
	held := p.mustAcquire(131072)
	for range 5 {
		w.now = w.now.Add(time.Second)
		held = p.mustRenew(held)
	}
	backup.Position += 100
	w.data.Restore(backup)
	w.now = w.now.Add(time.Second)
	if r, err := w.start(0).acquire(131072); err != nil {
		t.Fatalf("granted %+v, %v: this shows nothing", r, err)
	}
	if _, err := p.renew(held); !errors.Is(err, lease.ErrLost) {
		t.Errorf("renew: %v, want ErrLost", err)
	}
	if meta, err := p.space.Info(t.Context()); err != nil || meta.Floor == 0 {
		t.Errorf("floor %d, %v, want one", meta.Floor, err)
	}
}

// TestFastClocks: a process whose clock is a year ahead starts again and again. It does not take all nodes for
// a year, and those whose clocks are right get on, at worst by ForgiveClock.
func TestFastClocks(t *testing.T) {
	const year = 365 * 24 * time.Hour
	w := newSite(t)
	var h storetest.History
	right := w.start(0)
	var held []lease.Record
	for range 3 {
		held = append(held, right.mustAcquire(16384))
	}
	noticed := 0
	for range 8 {
		fast := w.start(year)
		if rec, err := fast.acquire(16384); err == nil {
			h.Granted(rec)
		} else if errors.Is(err, store.ErrClock) {
			noticed++
		}
		w.now = w.now.Add(time.Minute)
		for i := range held {
			held[i] = right.mustRenew(held[i])
		}
	}
	if at, err := lease.Distrusted(t.Context(), right.space); err != nil || at.Before(w.now.Add(year-time.Hour)) || at.After(w.now.Add(year)) {
		t.Errorf("a clock was distrusted at %v, %v, want a time a year ahead", at, err)
	}
	if noticed < 6 {
		t.Errorf("%d of 8 starts with a clock a year ahead were noticed, want all but one or two", noticed)
	}
	right.mustAcquire(16384)

	// Nobody else is there to tell: a floor a year ahead, and all nodes taken.
	for _, rec := range held {
		right.Release(t.Context(), rec, w.now)
	}
	w.now = w.now.Add(time.Hour)
	for range 8 {
		if rec, err := w.start(year).acquire(16384); err == nil {
			h.Granted(rec)
		}
		w.now = w.now.Add(time.Second)
	}
	if err := w.start(year).ReportLoss(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := right.acquire(1); !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("Acquire under a floor a year ahead: %v", err)
	}
	barred, err := right.space.ForgiveClock(t.Context(), w.now.Add(year-24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(11 * time.Minute)
	for range 8 {
		h.Granted(right.awaitAcquire(16384))
	}
	for step := time.Duration(0); step < 2*24*time.Hour; step += 7 * time.Minute { // through what is barred
		w.now = time.Unix(barred.From, 0).Add(step - time.Hour)
		rec, err := right.acquire(16384)
		if err != nil {
			continue
		}
		h.Granted(rec)
		if rec, err = right.renew(rec); err == nil {
			h.Granted(rec)
		}
	}
	w.now = time.Unix(barred.To, 0).Add(48 * time.Hour)
	h.Granted(right.awaitAcquire(131072))
	if err := h.Check(); err != nil {
		t.Error(err)
	}
}

// A play is a random course of events. No second of a node may be granted to two holders.
type play struct {
	*site
	rng       *rand.Rand
	history   storetest.History
	processes []*process
	backups   []storetest.Snapshot
	newest    *process // who changed something last
	lineages  int
	counts    map[string]int
	err       error // that no call may end with
}

// TestPlays: whatever processes come and go, and whatever data is lost, as long as it shows, no lease overlaps another.
func TestPlays(t *testing.T) {
	plays := 40
	if testing.Short() {
		plays = 20
	}
	total := map[string]int{}
	for seed := range plays {
		if err := playOnce(t, "", seed, total); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for _, what := range []string{"acquired", "renewed", "released", "lost", "refused", "restored"} {
		if total[what] < plays/4 {
			t.Errorf("only %d times %s in %d plays: %v", total[what], what, plays, total)
		}
	}
}

// TestPlaysFindBug is the negative control of TestPlays.
func TestPlaysFindBug(t *testing.T) {
	for seed := range 300 {
		if playOnce(t, storetest.IgnoresValues, seed, map[string]int{}) != nil {
			return
		}
	}
	t.Error("not found")
}

func playOnce(t *testing.T, bug storetest.Bug, seed int, counts map[string]int) error {
	w := &play{site: newSite(t), rng: rand.New(rand.NewPCG(uint64(seed), 1)), counts: counts}
	w.bug = bug
	w.begin()
	for range 150 {
		w.step()
		if err := cmp.Or(w.err, w.history.Check()); err != nil {
			return err
		}
	}
	return nil
}

// begin starts a process whose clock is about right.
func (w *play) begin() *process {
	p := w.start(time.Duration(w.rng.IntN(50)-25) * time.Second)
	w.processes = append(w.processes, p)
	if w.newest == nil {
		w.newest = p
	}
	return p
}

func (w *play) step() {
	w.now = w.now.Add(time.Duration(w.rng.IntN(40_000)) * time.Millisecond)
	i := w.rng.IntN(len(w.processes))
	p := w.processes[i]
	switch w.rng.IntN(20) {
	case 0, 1:
		w.begin()
	case 2:
		if len(w.processes) > 1 && p != w.newest {
			w.processes = slices.Delete(w.processes, i, i+1) // killed
		}
	case 3:
		w.backups = append(w.backups, w.data.Snapshot())
	case 4:
		w.restore()
	case 5:
		w.now = w.now.Add(time.Duration(w.rng.IntN(900)) * time.Second)
	case 6, 7, 8, 9, 10, 11:
		w.grant(p)
	default:
		if len(p.held) > 0 {
			w.carryOn(p, w.rng.IntN(len(p.held)))
		}
	}
}

func (w *play) note(p *process, err error) {
	switch {
	case err == nil:
		w.newest = p
	case errors.Is(err, lease.ErrLost):
		w.counts["lost"]++
	case errors.Is(err, lease.ErrNoRange):
		w.counts["refused"]++
	case errors.Is(err, store.ErrClock):
		w.counts["clock"]++
	case errors.Is(err, store.ErrUnknownOutcome): // made after a loss, which it showed
		w.counts["unknown"]++
	default:
		w.err = err
	}
}

func (w *play) grant(p *process) {
	req := lease.Request{Nodes: []int{1, 3, 20000, 40000, 65536, 131072}[w.rng.IntN(6)], TTL: time.Duration(1+w.rng.IntN(600)) * time.Second}
	if w.rng.IntN(4) == 0 && req.Nodes < 60000 {
		req.Below = 60000
	}
	rec, err := p.Acquire(w.Context(), req)
	if w.note(p, err); err == nil {
		w.counts["acquired"]++
		w.history.Granted(rec)
		p.held = append(p.held, rec)
	}
}

func (w *play) carryOn(p *process, i int) {
	held := p.held[i]
	if w.rng.IntN(4) == 0 {
		lastUsed := time.Unix(held.Start+w.rng.Int64N(held.HighWater-held.Start+1), 0)
		w.history.Released(held, lastUsed)
		err := p.Release(w.Context(), held, lastUsed)
		if w.note(p, err); err == nil {
			w.counts["released"]++
		}
		p.held = slices.Delete(p.held, i, i+1)
		return
	}
	rec, err := p.Renew(w.Context(), held, lease.Renewal{TTL: time.Duration(1+w.rng.IntN(600)) * time.Second, Token: lease.NewToken(p.clock())})
	w.note(p, err)
	var lost *lease.LostError
	switch {
	case err == nil:
		w.counts["renewed"]++
		w.history.Granted(rec)
		p.held[i] = rec
	case errors.As(err, &lost):
		if !lost.Spares(held.HighWater) { // then it stops at once
			w.history.Released(held, p.clock())
		}
		p.held = slices.Delete(p.held, i, i+1)
	}
}

// restore puts an older copy back: as another lineage, or so that the one who saw the newest state looks first.
func (w *play) restore() {
	if len(w.backups) == 0 {
		return
	}
	w.counts["restored"]++
	s := w.backups[w.rng.IntN(len(w.backups))]
	if w.rng.IntN(2) == 0 {
		w.lineages++
		s.Lineage = fmt.Sprint("lineage ", w.lineages)
		w.data.Restore(s)
		return
	}
	w.data.Restore(s)
	if _, err := w.newest.space.Read(w.Context(), nil, store.Page{}); err != nil {
		w.note(w.newest, err)
	}
}

// TestSuite: leases on an engine are as the package promises.
func TestSuite(t *testing.T) {
	storetest.RunLeases(t, storetest.Start(func(*testing.T) func(*testing.T) store.Engine {
		data := storetest.NewMemory()
		return func(*testing.T) store.Engine { return data.Connect() }
	}).Leases)
}
