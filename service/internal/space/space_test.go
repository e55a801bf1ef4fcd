package space

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A fake is a space on data in memory, whose store fails when it is told to.
type fake struct {
	*Space
	data      *leasetest.Memory
	fails     atomic.Pointer[error]
	meanwhile atomic.Pointer[func() error] // is done once, before the next swap, whose error it may be
	attempts  atomic.Int64                 // to open the store
	swaps     atomic.Int64                 // of the store
	stores    atomic.Int64                 // that are open
	log       bytes.Buffer
	taken     []randflake.Lease // by the service itself
	counters  *Counters
}

// A store counts those that are open.
type store struct {
	lease.Engine
	open *atomic.Int64
}

func (s store) Close() error {
	s.open.Add(-1)
	s.Engine.Close()
	return errClosing
}

var (
	errAway    = errors.New("the server is away")
	errClosing = errors.New("the server did not say goodbye")
)

// bubble runs a test in a time of its own, as of a year in which there are IDs.
func bubble(t *testing.T, f func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(1800000000, 0)))
		f(t)
	})
}

// newFake returns a space that begins to open. The store "old" may have leases that it does not
// know, and "checked" is for a secret.
func newFake(t *testing.T, c config.Space, counters ...config.Counter) *fake {
	t.Helper()
	f := makeFake(t, c, counters...)
	f.begin(t)
	return f
}

// counting runs a test of the counters of a space.
func counting(t *testing.T, counters []config.Counter, run func(t *testing.T, f *fake, all *Counters)) {
	bubble(t, func(t *testing.T) {
		f := newFake(t, config.Space{Name: "demo", Kind: "randflake", Store: "memory"}, counters...)
		run(t, f, f.open(t).Counters)
	})
}

// makeFake returns a space that is not opened.
func makeFake(t *testing.T, c config.Space, counters ...config.Counter) *fake {
	t.Helper()
	c.Counters = counters
	f := &fake{data: leasetest.NewMemory()}
	limits := lease.Limits{}
	if c.Kind == "twitter" {
		limits.Nodes = 1024
	}
	made, err := lease.Create(t.Context(), f.data.Connect(), lease.Config{
		Limits: limits,
		New:    c.Store != "old",
		Check:  map[string][8]byte{"checked": {1}}[c.Store],
	})
	if err != nil {
		t.Fatal(err)
	}
	made.Close()
	open := func(ctx context.Context, _ string, c lease.Config) (*lease.Space, error) {
		f.attempts.Add(1)
		engine := leasetest.Intercept(f.data.Connect(), func(ctx context.Context, c leasetest.Call, e lease.Engine) (lease.Answer, error) {
			if why := f.fails.Load(); why != nil {
				return lease.Answer{}, *why
			}
			if c.Swap {
				f.swaps.Add(1)
				if do := f.meanwhile.Swap(nil); do != nil {
					if err := (*do)(); err != nil {
						return lease.Answer{}, err
					}
				}
			}
			return c.On(ctx, e)
		})
		f.stores.Add(1)
		s, err := lease.Open(ctx, store{engine, &f.stores}, c)
		if err != nil {
			f.stores.Add(-1)
		}
		return s, err
	}
	f.Space, err = New(c, Options{
		Open:   open,
		Taken:  func(_ string, l randflake.Lease) { f.taken = append(f.taken, l) },
		Logger: slog.New(slog.NewTextHandler(&f.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	f.counters = NewCounters(f.Space, c)
	return f
}

// secretFile writes a secret to a file, and returns its name.
func secretFile(t *testing.T, secret randflake.Secret) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret.Hex()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// begin opens the space.
func (f *fake) begin(t *testing.T) {
	f.Open()
	t.Cleanup(func() {
		f.counters.Close()
		f.Close()
		if n := f.stores.Load(); n != 0 {
			t.Errorf("%d stores stay open", n)
		}
	})
}

// fail has the store fail from now on, or no more.
func (f *fake) fail(err error) {
	if err == nil {
		f.fails.Store(nil)
		return
	}
	f.fails.Store(&err)
}

// An opened space has what calls use.
type opened struct {
	*State
	*Counters
}

// open returns a space that can be opened at once.
func (f *fake) open(t *testing.T) opened {
	t.Helper()
	synctest.Wait()
	state, err := f.State()
	if err != nil {
		t.Fatalf("not open: %v, %v", err, f.Ready())
	}
	return opened{state, f.counters}
}

// logged returns how many lines of the log have a text, once all goroutines wait.
func (f *fake) logged(text string) int {
	synctest.Wait()
	return strings.Count(f.log.String(), text)
}

// leases returns those that the service took itself, once all goroutines wait.
func (f *fake) leases() []randflake.Lease {
	synctest.Wait()
	return f.taken
}

// TestBegun: a space whose store is away is not there yet, is tried again with growing pauses,
// opens once the store is back, and stays begun when it goes away again.
func TestBegun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := makeFake(t, config.Space{Name: "demo", Kind: "twitter", Store: "memory"})
		if _, err := f.State(); !errors.Is(err, ErrNotOpen) || !strings.Contains(f.Ready().Error(), "it is being opened") {
			t.Errorf("at first: error %v, ready %v", err, f.Ready())
		}
		f.fail(errAway)
		f.begin(t)
		time.Sleep(30 * time.Second)
		if _, err := f.State(); f.Begun() || !errors.Is(err, ErrNotOpen) || strings.Contains(err.Error(), "away") {
			t.Errorf("without its store: begun %v, error %v; want one that shows nothing", f.Begun(), err)
		}
		if err := f.Ready(); !errors.Is(err, ErrNotOpen) || !errors.Is(err, errAway) {
			t.Errorf("without its store: ready %v", err)
		}
		time.Sleep(time.Second)
		if !f.Begun() {
			t.Error("other spaces are waited for this one for longer than half a minute")
		}
		time.Sleep(29 * time.Second)
		synctest.Wait()
		if n := f.attempts.Load(); n != 12 || f.logged("can't be opened") != 1 {
			t.Errorf("%d attempts in a minute, want 12, and one line about all:\n%s", n, &f.log)
		}
		f.fail(errors.New("the password is wrong"))
		time.Sleep(10 * time.Second)
		if f.logged("can't be opened") != 2 || f.logged("the password is wrong") != 1 {
			t.Errorf("another kind of trouble has no line:\n%s", &f.log)
		}
		f.fail(nil)
		time.Sleep(10 * time.Second)
		state := f.open(t)
		f.fail(errAway)
		ids, _, err := state.Minter(t.Context(), 3, true)
		if err != nil || len(ids) != 3 || !f.Begun() || f.Ready() != nil {
			t.Errorf("once its store is away again: %d IDs, error %v, begun %v, ready %v: want IDs by the lease that is there", len(ids), err, f.Begun(), f.Ready())
		}
	})
}

// TestStopped: when its last lease has ended the space is not ready and says why, until the store
// is back.
func TestStopped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake(t, config.Space{Name: "demo", Kind: "twitter", Store: "memory"})
		state := f.open(t)
		f.fail(errAway)
		time.Sleep(time.Hour)
		if err := f.Ready(); !errors.Is(err, errAway) || !strings.Contains(err.Error(), "space demo") || !f.Begun() {
			t.Errorf("without a lease: ready %v, begun %v", err, f.Begun())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if ids, _, err := state.Minter(ctx, 3, true); len(ids) != 0 || err == nil || !strings.Contains(err.Error(), "the service gets no lease from its store") {
			t.Errorf("without a lease: %d IDs, error %v", len(ids), err)
		}
		for _, l := range f.leases() {
			if l.End.IsZero() {
				t.Errorf("a lease that was not granted is told of: %+v", f.taken)
			}
		}
		f.fail(nil)
		time.Sleep(2 * time.Minute)
		if ids, _, err := state.Minter(t.Context(), 3, true); len(ids) != 3 || err != nil || f.Ready() != nil {
			t.Errorf("with its store again: %d IDs, error %v, ready %v", len(ids), err, f.Ready())
		}
	})
}

// TestOld: a space where forgotten leases may be in use says until when, and opens then.
func TestOld(t *testing.T) {
	for _, c := range []config.Space{
		{Kind: "twitter"},
		{Kind: "randflake", SecretFile: secretFile(t, randflake.NewSecret())},
	} {
		bubble(t, func(t *testing.T) {
			c.Name, c.Store = "demo", "old"
			f := newFake(t, c)
			synctest.Wait()
			wait := (*lease.WaitError)(nil)
			if _, err := f.State(); !errors.As(err, &wait) || time.Until(wait.Until) < time.Minute || strings.Contains(err.Error(), "memory") {
				t.Fatalf("%s: %v: want until when to wait, and not where the data is", c.Kind, err)
			}
			if !errors.As(f.Ready(), &wait) {
				t.Errorf("%s: ready %v: want until when to wait", c.Kind, f.Ready())
			}
			time.Sleep(time.Until(wait.Until) + 11*time.Second)
			f.open(t)
		})
	}
}

// TestMinters: each ID is made once, as text or as an integer that opens alike, and under leases of
// as many nodes as the space has. The service makes no IDs of a space whose secret it does not
// have.
func TestMinters(t *testing.T) {
	secret := randflake.NewSecret()
	file := secretFile(t, secret)
	check := fmt.Sprintf("%x", secret.CheckValue())
	for _, tt := range []struct {
		space config.Space
		nodes uint32 // 0 makes no IDs
		check string
		parse func(text string) (number int64, err error)
	}{
		{config.Space{Kind: "randflake", Store: "memory", SecretFile: file}, 1, check, parsed(randflake.Parse)},
		{config.Space{Kind: "randflake", Store: "memory", SecretFile: file, Nodes: 4}, 4, check, parsed(randflake.Parse)},
		{config.Space{Kind: "twitter", Store: "memory"}, 1, "", parsed(snowflake.Parse)},
		{config.Space{Kind: "randflake", Store: "memory"}, 0, "", nil},
	} {
		bubble(t, func(t *testing.T) {
			f := newFake(t, tt.space)
			state := f.open(t)
			if state.Check != tt.check || f.Ready() != nil || !f.Begun() {
				t.Errorf("%+v: check value %q, ready %v, begun %v", tt.space, state.Check, f.Ready(), f.Begun())
			}
			if tt.nodes == 0 {
				if state.Minter != nil || state.Own != nil {
					t.Errorf("%+v: it makes IDs", tt.space)
				}
				return
			}
			texts, _, err := state.Minter(t.Context(), 100, true)
			if err != nil {
				t.Fatal(err)
			}
			_, numbers, err := state.Minter(t.Context(), 100, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range texts {
				number, err := tt.parse(text)
				if err != nil {
					t.Fatal(err)
				}
				numbers = append(numbers, number)
			}
			slices.Sort(numbers)
			if n := len(slices.Compact(numbers)); n != 200 {
				t.Errorf("%+v: %d IDs, want 200 different ones", tt.space, n)
			}
			for _, l := range f.leases() {
				if l.LastNode-l.FirstNode+1 != tt.nodes {
					t.Errorf("%+v: lease %+v, want %d nodes", tt.space, l, tt.nodes)
				}
			}
			if len(f.taken) == 0 {
				t.Errorf("%+v: no lease was taken", tt.space)
			}
		})
	}
}

// TestULIDs: they are made without leases, as text alone, with a store for counters or without one.
func TestULIDs(t *testing.T) {
	for _, place := range []string{"", "memory"} {
		bubble(t, func(t *testing.T) {
			f := newFake(t, config.Space{Name: "demo", Kind: "ulid", Store: place}, config.Counter{Name: "orders"})
			state := f.open(t)
			texts, _, err := state.Minter(t.Context(), 100, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range texts {
				id, err := ulid.Parse(text)
				if made := ulid.Inspect(id).Time; err != nil || time.Since(made).Abs() > time.Second {
					t.Errorf("store %q: %s was made at %v, error %v", place, text, made, err)
				}
			}
			slices.Sort(texts)
			if n := len(slices.Compact(texts)); n != 100 {
				t.Errorf("store %q: %d IDs, want 100 different ones", place, n)
			}
			if _, _, err := state.Minter(t.Context(), 1, false); !errors.Is(err, ErrNoNumber) {
				t.Errorf("store %q: an ID as an integer: error %v", place, err)
			}
			if stores := f.attempts.Load() > 0; stores != (place != "") || len(f.leases()) > 0 || state.Own != nil || f.Ready() != nil {
				t.Errorf("store %q: opened %v, leases %v, ready %v", place, stores, f.leases(), f.Ready())
			}
			if err := f.Try(t.Context()); err != nil {
				t.Errorf("store %q: it can't be opened: %v", place, err)
			}
			if place == "" {
				return
			}
			run, _, err := state.Counters.Take(t.Context(), "orders", 2)
			if err != nil || run.First != 1 || run.N != 2 {
				t.Errorf("the first numbers: %+v, error %v", run, err)
			}
		})
	}
}

func parsed[ID ~int64 | ~uint64](parse func(string) (ID, error)) func(string) (int64, error) {
	return func(text string) (int64, error) {
		id, err := parse(text)
		return int64(id), err
	}
}

// TestFewer: if a caller doesn't wait for all its IDs, it gets those that there are, and an error.
func TestFewer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		state := newFake(t, config.Space{Name: "demo", Kind: "twitter", Store: "memory"}).open(t)
		for _, asText := range []bool{true, false} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			texts, numbers, err := state.Minter(ctx, 100_000, asText) // which takes 25 ms
			seen := map[any]bool{}
			for _, text := range texts {
				seen[text] = true
			}
			for _, number := range numbers {
				seen[number] = true
			}
			n := len(texts) + len(numbers)
			if !errors.Is(err, context.DeadlineExceeded) || n < 4096 || n > 60_000 || len(seen) != n || seen[""] || seen[int64(0)] {
				t.Errorf("%d IDs, %d different ones, error %v", n, len(seen), err)
			}
		}
	})
}

// TestPatterns: counters of a pattern are made at their first use, as it says.
func TestPatterns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		counters := []config.Counter{{Name: "orders/*", Start: 100}, {Name: "orders/de"}}
		f := newFake(t, config.Space{Name: "demo", Kind: "randflake", Store: "memory"}, counters...)
		all := f.open(t).Counters
		for name, want := range map[string]int64{"orders/fr": 100, "orders/de": 1, "orders/de/1": 100} {
			h, err := all.Handle(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := h.Wait(t.Context()); n != want || err != nil {
				t.Errorf("%s: the first number is %d, error %v, want %d", name, n, err, want)
			}
		}
		for _, name := range []string{"orders/*", "orders/", "orders/É", "orders/ "} {
			if _, err := all.Handle(t.Context(), name); !errors.Is(err, lease.ErrInvalid) && !errors.Is(err, lease.ErrNoCounter) {
				t.Errorf("%q: error %v", name, err)
			}
		}
		if _, err := all.Handle(t.Context(), "other/1"); !errors.Is(err, lease.ErrNoCounter) {
			t.Errorf("a counter that is in no configuration: error %v", err)
		}
		if _, _, err := all.Take(t.Context(), "other/1", 1); !errors.Is(err, lease.ErrNoCounter) {
			t.Errorf("numbers of a counter that is in no configuration: error %v", err)
		}
		f.fail(errAway)
		if _, err := all.Handle(t.Context(), "orders/8"); err == nil {
			t.Error("a counter came from a store that fails")
		}
	})
}

// TestCounters: what the configuration leaves out of a counter is as it says, and a counter is made
// by whoever is first, once.
func TestCounters(t *testing.T) {
	counting(t, []config.Counter{{Name: "plain"}, {Name: "dear", Start: 1000, Step: 5, End: 2000}, {Name: "orders/*"}}, func(t *testing.T, f *fake, all *Counters) {
		for name, want := range map[string]lease.Counter{
			"plain": {Name: "plain", Next: 1, Start: 1, Step: 1, End: math.MaxInt64},
			"dear":  {Name: "dear", Next: 1000, Start: 1000, Step: 5, End: 2000},
		} {
			if got, err := all.Get(t.Context(), name); err != nil || got != want {
				t.Errorf("%s: %+v, error %v, want %+v", name, got, err, want)
			}
			run, _, err := all.Take(t.Context(), name, 2)
			if first := (lease.Run{First: want.Start, N: 2, Step: want.Step}); err != nil || run != first {
				t.Errorf("the first numbers of %s: %+v, error %v, want %+v", name, run, err, first)
			}
		}
		take := func(name string) (int64, error) {
			run, _, err := all.Take(t.Context(), name, 1)
			return run.First, err
		}
		replica := NewCounters(all.of, all.config)
		other := func() error {
			run, _, err := replica.Take(t.Context(), "orders/1", 1)
			if run.First != 1 || err != nil {
				t.Errorf("the other one: %d, error %v", run.First, err)
			}
			return nil
		}
		f.meanwhile.Store(&other)
		if n, err := take("orders/1"); n != 2 || err != nil {
			t.Errorf("another one was first: %d, error %v, want the second number", n, err)
		}
		fails := func() error { return errAway }
		f.meanwhile.Store(&fails)
		if _, err := take("orders/2"); err == nil || errors.Is(err, lease.ErrNoCounter) {
			t.Errorf("the store fails as a counter is made: error %v", err)
		}
		if n, err := take("orders/2"); n != 1 || err != nil {
			t.Errorf("the store is back: %d, error %v", n, err)
		}
	})
}

// TestTakesInTurn: calls at the same time are not in each other's way at the store, where nearly all
// would change a counter in vain.
func TestTakesInTurn(t *testing.T) {
	counting(t, []config.Counter{{Name: "orders"}}, func(t *testing.T, f *fake, all *Counters) {
		const callers = 1000
		var calls sync.WaitGroup
		var sum atomic.Int64
		take := func() {
			run, _, err := all.Take(t.Context(), "orders", 1)
			if err != nil {
				t.Error(err)
			}
			sum.Add(run.First)
		}
		take()
		before := f.swaps.Load()
		others := func() error {
			for range callers {
				calls.Go(take)
			}
			return nil
		}
		f.meanwhile.Store(&others)
		take()
		calls.Wait()
		const last = callers + 2 // with the calls of take here
		if swaps := f.swaps.Load() - before; swaps != last-1 {
			t.Errorf("%d changes of the store were tried for %d calls", swaps, last-1)
		}
		if want := int64(last * (last + 1) / 2); sum.Load() != want {
			t.Errorf("the numbers add up to %d, want %d", sum.Load(), want)
		}
	})
}

// TestHangsInLine: if the store does not answer the first call in line, all calls say so, as each does
// alone.
func TestHangsInLine(t *testing.T) {
	counting(t, []config.Counter{{Name: "orders"}}, func(t *testing.T, f *fake, all *Counters) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		hangs := func() error {
			_, _, err := all.Take(ctx, "orders", 1)
			if !errors.Is(err, lease.ErrStore) {
				t.Errorf("the second call: %v, want ErrStore", err)
			}
			return nil
		}
		f.meanwhile.Store(&hangs)
		all.Take(t.Context(), "orders", 1)
		if ctx.Err() == nil {
			t.Error("the second call did not wait")
		}
	})
}

// TestPeriodEndsInLine: a call that stands in line while a period ends takes a number of the next
// one, which another replica may have begun.
func TestPeriodEndsInLine(t *testing.T) {
	counting(t, []config.Counter{{Name: "daily", Period: "day"}}, func(t *testing.T, f *fake, all *Counters) {
		take := func(of *Counters, first int64, period string) {
			run, as, err := of.Take(t.Context(), "daily", 1)
			if run.First != first || as.Period != period || err != nil {
				t.Errorf("%d of %q, error %v, want %d of %q", run.First, as.Period, err, first, period)
			}
		}
		take(all, 1, "2027-01-15")
		var inLine sync.WaitGroup
		midnight := func() error {
			inLine.Go(func() { take(all, 2, "2027-01-16") })
			synctest.Wait()
			time.Sleep(16 * time.Hour)
			replica := NewCounters(all.of, all.config)
			take(replica, 1, "2027-01-16")
			return nil
		}
		f.meanwhile.Store(&midnight)
		all.Take(t.Context(), "daily", 1) // is at the store then, and is too late
		inLine.Wait()
	})
}

// TestLostCounter: a counter that the store has lost is made again, and waits until it is set.
func TestLostCounter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := makeFake(t, config.Space{Name: "demo", Kind: "randflake", Store: "memory"}, config.Counter{Name: "orders"})
		before := f.data.Snapshot()
		before.Lineage = "another"
		f.begin(t)
		all := f.open(t).Counters
		if run, _, err := all.Take(t.Context(), "orders", 1); run.First != 1 || err != nil {
			t.Fatalf("%+v, error %v", run, err)
		}
		f.data.Restore(before)
		for _, want := range []error{lease.ErrNoCounter, lease.ErrCounter, lease.ErrCounter} {
			if run, _, err := all.Take(t.Context(), "orders", 1); !errors.Is(err, want) {
				t.Errorf("after a loss: %+v, error %v, want %v", run, err, want)
			}
		}
	})
}

// TestPeriods: a counter begins at its start with each period of the service's clock, by Take and
// by Next, and never goes back.
func TestPeriods(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tokyo := config.Counter{Name: "tokyo", Start: 100, Period: "day", Zone: "Asia/Tokyo"}
		f := newFake(t, config.Space{Name: "demo", Kind: "randflake", Store: "memory"}, tokyo, config.Counter{Name: "years/*", Period: "fiscal year from April on"})
		all := f.open(t).Counters
		want := func(name string, first int64, period string) {
			t.Helper()
			run, of, err := all.Take(t.Context(), name, 1)
			if run.First != first || of.Period != period || err != nil {
				t.Errorf("%s: %d of %q, %v, want %d of %q", name, run.First, of.Period, err, first, period)
			}
		}
		next := func(first int64, period string) *Handle {
			t.Helper()
			h, err := all.Handle(t.Context(), "tokyo")
			if err != nil {
				t.Fatal(err)
			}
			if n, err := h.Wait(t.Context()); n != first || h.As.Period != period || err != nil {
				t.Errorf("%d of %q, %v, want %d of %q", n, h.As.Period, err, first, period)
			}
			return h
		}
		// The bubble is at 2027-01-15 08:00 UTC, which is 17:00 in Tokyo.
		want("tokyo", 100, "2027-01-15")
		before := next(101, "2027-01-15")
		want("years/a", 1, "fy2027")
		time.Sleep(7*time.Hour - time.Second)
		if h := next(102, "2027-01-15"); h != before {
			t.Error("another handle in the same day")
		}
		time.Sleep(time.Second)
		next(100, "2027-01-16")
		want("tokyo", 110, "2027-01-16") // after the run of the handle
		want("years/a", 2, "fy2027")
		for {
			if _, err := before.Wait(t.Context()); err != nil {
				if !errors.Is(err, lease.ErrClock) {
					t.Errorf("the handle of the day before: %v, want ErrClock", err)
				}
				break
			}
		}
	})
}

// TestMismatch: a counter that is another one than the configuration says gives no number, by Take
// or by Next, and goes on.
func TestMismatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		is := config.Counter{Name: "orders", Start: 3, Period: "day"}
		f := newFake(t, config.Space{Name: "demo", Kind: "randflake", Store: "memory"}, is)
		all := f.open(t).Counters
		if _, _, err := all.Take(t.Context(), "orders", 1); err != nil {
			t.Fatal(err)
		}
		for _, other := range []config.Counter{
			{Start: 3},
			{Start: 3, Period: "month"},
			{Start: 3, Period: "day", Zone: "Asia/Tokyo"},
			{Start: 4, Period: "day"},
			{Start: 3, Period: "day", Step: 2},
			{Start: 3, Period: "day", End: 9},
			{Start: 3, Period: "day", Check: "aa"},
		} {
			other.Name = "orders"
			c := NewCounters(all.of, config.Space{Counters: []config.Counter{other}})
			if _, _, err := c.Take(t.Context(), "orders", 1); !errors.Is(err, lease.ErrMismatch) {
				t.Errorf("take of %+v: %v", other, err)
			}
			if _, err := c.Handle(t.Context(), "orders"); !errors.Is(err, lease.ErrMismatch) {
				t.Errorf("handle on %+v: %v", other, err)
			}
			c.Close()
		}
		if run, _, err := all.Take(t.Context(), "orders", 1); run.First != 4 || err != nil {
			t.Errorf("%+v, %v, want number 4", run, err)
		}
	})
}

// TestStatuses: what is told of counters is the sum of all that are one of the configuration.
func TestStatuses(t *testing.T) {
	counting(t, []config.Counter{{Name: "few", End: 3}, {Name: "orders/*"}, {Name: "daily", Period: "day"}}, func(t *testing.T, f *fake, all *Counters) {
		wait := func(name string, n int) (err error) {
			h, err := all.Handle(t.Context(), name)
			for range n {
				if err == nil {
					_, err = h.Wait(t.Context())
				}
			}
			return err
		}
		for name, n := range map[string]int{"orders/1": 3, "orders/2": 4, "few": 3} {
			if err := wait(name, n); err != nil {
				t.Fatal(err)
			}
		}
		if err := wait("few", 1); !errors.Is(err, lease.ErrEnd) {
			t.Errorf("after its end: error %v", err)
		}
		synctest.Wait()
		got := all.Statuses()
		var held uint64
		for _, name := range []string{"orders/1", "orders/2"} {
			h, err := all.Handle(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			held += h.Status().Held
		}
		if want := (counter.Status{Taken: held + 7, Issued: 7, Held: held}); got["orders/*"] != want || held == 0 {
			t.Errorf("orders: %+v, want %+v", got["orders/*"], want)
		}
		if few := got["few"]; few.Issued != 3 || !errors.Is(few.Err, lease.ErrEnd) || len(got) != 2 {
			t.Errorf("%+v: want three numbers of few and why there are no more, and nothing else", got)
		}
		for range 2 {
			if err := wait("daily", 5); err != nil {
				t.Fatal(err)
			}
			time.Sleep(24 * time.Hour)
		}
		if daily := all.Statuses()["daily"]; daily.Issued != 10 || daily.Taken < 10 {
			t.Errorf("%+v: want ten numbers of daily, on two days", daily)
		}
	})
}

// TestOpening: while a counter is being opened, others serve; and whoever hangs up ends the opening
// for nobody else. All get the same handle.
func TestOpening(t *testing.T) {
	counting(t, []config.Counter{{Name: "a"}, {Name: "b"}}, func(t *testing.T, f *fake, all *Counters) {
		if _, err := all.Handle(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		held := make(chan struct{})
		hold := func() error {
			<-held
			return nil
		}
		f.meanwhile.Store(&hold)
		impatient, hangUp := context.WithCancel(t.Context())
		type result struct {
			*Handle
			error
		}
		results := make(chan result, 3)
		open := func(ctx context.Context) {
			h, err := all.Handle(ctx, "b")
			results <- result{h, err}
		}
		go open(impatient)
		synctest.Wait()
		go open(t.Context())
		synctest.Wait()
		if _, err := all.Handle(t.Context(), "a"); err != nil {
			t.Errorf("another counter is being opened: %v", err)
		}
		hangUp()
		if r := <-results; !errors.Is(r.error, context.Canceled) {
			t.Errorf("a caller that hung up: error %v", r.error)
		}
		go open(t.Context())
		synctest.Wait()
		close(held)
		first, second := <-results, <-results
		if first.error != nil || second.error != nil || first.Counter != second.Counter {
			t.Errorf("handles %+v and %+v: want one for both", first, second)
		}
		seen := map[int64]bool{}
		for range 100 {
			n, err := first.Wait(t.Context())
			if err != nil || seen[n] {
				t.Fatalf("%d, error %v, or again", n, err)
			}
			seen[n] = true
		}
	})
}

// TestManyCounters: callers that make up names of a pattern fill no memory, and a counter that was
// forgotten goes on.
func TestManyCounters(t *testing.T) {
	counting(t, []config.Counter{{Name: "*"}}, func(t *testing.T, _ *fake, all *Counters) {
		use := func(name string) (next, taken int64) {
			h, err := all.Handle(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			next, err = h.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			run, _, err := all.Take(t.Context(), name, 1)
			if err != nil {
				t.Fatal(err)
			}
			return next, run.First
		}
		next, taken := use("first")
		for i := range maxHandles + 10 {
			use(fmt.Sprint("n", i))
		}
		if n := len(all.Statuses()); n != 1 || all.handles.Len() > maxHandles || all.lines.Len() > maxHandles {
			t.Errorf("%d handles, and %d lines: want %d", all.handles.Len(), all.lines.Len(), maxHandles)
		}
		if n := all.Statuses()["*"].Issued; n != maxHandles+11 {
			t.Errorf("%d numbers issued: want also those of counters that were forgotten", n)
		}
		if later, more := use("first"); later <= max(next, taken) || more <= later {
			t.Errorf("%d and %d after %d and %d", later, more, next, taken)
		}
	})
}

// TestTry: a store that is not there, for another secret, or of another kind is told of, and
// nothing is taken.
func TestTry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake(t, config.Space{Name: "demo", Kind: "randflake", Store: "checked"})
		other := secretFile(t, randflake.NewSecret())
		for want, c := range map[string]config.Space{
			"": {Kind: "randflake", Store: "m"}, "check value is 0100000000000000, that of the secret is ": {Kind: "randflake", Store: "m", SecretFile: other},
			"want another one for twitter IDs": {Kind: "twitter", Store: "m"}, "storeFile": {Kind: "twitter", StoreFile: "no/such/file"}, "no/such/secret": {Kind: "randflake", Store: "m", SecretFile: "no/such/secret"},
		} {
			s, err := New(c, f.options)
			if err == nil {
				err = s.Try(t.Context())
			}
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %s", c, err, want)
			}
		}
		f.fail(errAway)
		if s, _ := New(f.Space.Space, f.options); s.Try(t.Context()) == nil {
			t.Error("a store that is away is none that can't be opened")
		}
		later := f.options
		later.Open = func(ctx context.Context, place string, c lease.Config) (*lease.Space, error) {
			f.fail(nil)
			defer f.fail(errAway)
			return f.options.Open(ctx, place, c)
		}
		if s, _ := New(f.Space.Space, later); !errors.Is(s.Try(t.Context()), errAway) {
			t.Error("a store that is away once it was opened is none that can't be opened")
		}
	})
}

// TestSame: a space is the same only if what its files say is.
func TestSame(t *testing.T) {
	place := filepath.Join(t.TempDir(), "place")
	newSpace := func(c config.Space, text string) *Space {
		if err := os.WriteFile(place, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.StoreFile = place
		s, err := New(c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	secret := secretFile(t, randflake.NewSecret())
	guarded := newSpace(config.Space{SecretFile: secret}, "redis://:one@db/ids")
	if err := os.WriteFile(secret, []byte(randflake.NewSecret().Hex()), 0o600); err != nil {
		t.Fatal(err)
	}
	if newSpace(config.Space{SecretFile: secret}, "redis://:one@db/ids").Same(guarded) {
		t.Error("a space with another secret in its file is the same")
	}
	before := newSpace(config.Space{}, "redis://:one@db/ids")
	for _, tt := range []struct {
		space config.Space
		text  string
		same  bool
	}{
		{config.Space{}, "redis://:one@db/ids", true},
		{config.Space{Nodes: 2}, "redis://:one@db/ids", false},
		{config.Space{Counters: []config.Counter{{Name: "orders"}}}, "redis://:one@db/ids", false},
		{config.Space{}, "redis://:two@db/ids", false},
		{config.Space{}, "redis://:one@other/ids", false},
	} {
		after := newSpace(tt.space, tt.text)
		if after.Same(before) != tt.same {
			t.Errorf("%+v at %s: the same %v", tt.space, tt.text, after.Same(before))
		}
	}
}

// TestClose: nothing works after the space was closed, whether it was open or not, and the store's
// complaint is told.
func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake(t, config.Space{Name: "demo", Kind: "twitter", Store: "memory"}, config.Counter{Name: "orders"}, config.Counter{Name: "other"})
		state := f.open(t)
		h, err := state.Counters.Handle(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		f.counters.Close()
		if err := f.Close(); !errors.Is(err, errClosing) {
			t.Errorf("close: %v", err)
		}
		if err := f.Close(); err != nil {
			t.Errorf("close again: %v", err)
		}
		if _, err := f.State(); !errors.Is(err, ErrNotOpen) || !strings.Contains(f.Ready().Error(), "it was closed") {
			t.Errorf("after close: error %v, ready %v", err, f.Ready())
		}
		if _, err := h.Wait(t.Context()); !errors.Is(err, counter.ErrClosed) {
			t.Errorf("a counter after close: error %v", err)
		}
		if !state.Own.Status().Closed {
			t.Error("the service keeps its lease")
		}
	})
	for _, kind := range []string{"twitter", "ulid"} {
		bubble(t, func(t *testing.T) {
			f := makeFake(t, config.Space{Name: "demo", Kind: kind, Store: map[string]string{"twitter": "memory"}[kind]})
			f.fail(errAway)
			f.begin(t)
			synctest.Wait()
			if err := f.Close(); err != nil || f.Ready() == nil {
				t.Errorf("%s: close: %v, ready %v", kind, err, f.Ready())
			}
		})
	}
}

// TestCloseWhileOpening: a space that is being opened ends with its store closed.
func TestCloseWhileOpening(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := makeFake(t, config.Space{Name: "demo", Kind: "twitter", Store: "memory"})
		held := make(chan struct{})
		hold := func() error {
			<-held
			return nil
		}
		f.meanwhile.Store(&hold)
		f.begin(t)
		synctest.Wait()
		var storesLeft atomic.Int64
		storesLeft.Store(-1)
		go func() {
			f.Close()
			storesLeft.Store(f.stores.Load())
		}()
		synctest.Wait()
		close(held)
		synctest.Wait()
		if n := storesLeft.Load(); n != 0 || f.Ready() == nil {
			t.Errorf("%d stores are open after Close, ready %v", n, f.Ready())
		}
	})
}

// TestLateCounter: a counter whose opening ends after the space was closed is closed, too.
func TestLateCounter(t *testing.T) {
	counting(t, []config.Counter{{Name: "orders"}}, func(t *testing.T, _ *fake, all *Counters) {
		all.Close()
		h, err := all.Handle(t.Context(), "orders")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Wait(t.Context()); !errors.Is(err, counter.ErrClosed) {
			t.Errorf("error %v", err)
		}
	})
}

// A waiting keeper has no lease until a time.
type waiting struct {
	Keeper
	until time.Time
}

func (w waiting) Status() lease.Status {
	return lease.Status{Err: &lease.WaitError{Err: lease.ErrLoss, Until: w.until}}
}

// TestExplain: without a lease, the error says until when to wait, if that is known.
func TestExplain(t *testing.T) {
	until := time.Now().Add(time.Hour)
	keeper := waiting{until: until}
	var wait *lease.WaitError
	for _, without := range []error{randflake.ErrLeaseEnded, randflake.ErrLeaseNotStarted} {
		if err := explain(without, keeper); !errors.As(err, &wait) || wait.Until != until || !errors.Is(err, without) {
			t.Error(err)
		}
	}
	if err := explain(randflake.ErrExhausted, keeper); err != randflake.ErrExhausted {
		t.Error(err)
	}
}
