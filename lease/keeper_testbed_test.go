package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// ttl is the lease time of most keepers under test: renewals are due each 100 s give or take 10,
// the pauses after failures go from 5 s up to 50, plus half at most, and a call may take 10 s.
const ttl = 300 * time.Second

var testSecret = randflake.NewSecret()

var keeperLimits = store.Limits{MaxTTL: time.Hour, MaxSkew: time.Minute}

// A skewed clock goes with the bubble's and can be set apart from it.
type skewed struct{ skew atomic.Int64 }

func (c *skewed) Now() time.Time          { return time.Now().Add(time.Duration(c.skew.Load())) }
func (c *skewed) step(by time.Duration)   { c.skew.Add(int64(by)) }
func (c *skewed) secondsFrom(t int64) int { return int(c.Now().Unix() - t) }

// A call is one that a keeper made of its store.
type call struct {
	op storetest.Op
	at time.Time
}

// A town is what the tests play in: a store that notes its calls and fails on demand, and its
// clock, which the keepers share unless they are given one of their own.
type town struct {
	*testing.T
	clock skewed
	store *storetest.Leases
	log   logBook

	mu    sync.Mutex
	calls []call
	fault func(storetest.Op) storetest.Fault
}

// inTown runs f in a bubble, where time passes when everybody waits, two years after the epoch.
func inTown(t *testing.T, f func(w *town)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		sleepToPresent()
		w := &town{T: t}
		w.store = storetest.NewLeases(keeperLimits, w.clock.Now)
		w.store.Inject(w.called)
		f(w)
	})
}

// sleepToPresent leaves the year 2000, where a bubble's time begins.
func sleepToPresent() {
	time.Sleep(time.Until(time.Unix(randflake.Epoch, 0).Add(2 * 365 * 24 * time.Hour)))
}

func (w *town) called(op storetest.Op) storetest.Fault {
	w.mu.Lock()
	w.calls = append(w.calls, call{op, time.Now()})
	fault := w.fault
	w.mu.Unlock()
	if fault == nil {
		return storetest.Fault{}
	}
	return fault(op)
}

// inject makes calls fail as fault says, nil for not at all.
func (w *town) inject(fault func(storetest.Op) storetest.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

// down is the fault of a store that is away.
func down(storetest.Op) storetest.Fault { return storetest.Fault{Err: storetest.ErrInjected} }

// once goes wrong at the next call of op only.
func once(op storetest.Op, fault storetest.Fault) func(storetest.Op) storetest.Fault {
	var gone atomic.Bool
	return func(o storetest.Op) storetest.Fault {
		if o != op || gone.Swap(true) {
			return storetest.Fault{}
		}
		return fault
	}
}

// forget drops the noted calls.
func (w *town) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = nil
}

// noted returns the noted calls, of ops only if there are any.
func (w *town) noted(ops ...storetest.Op) []call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.calls), func(c call) bool {
		return len(ops) > 0 && !slices.Contains(ops, c.op)
	})
}

// renewal returns one that is none of a keeper's.
func (w *town) renewal() lease.Renewal {
	return lease.Renewal{TTL: ttl, Token: lease.NewToken(w.clock.Now())}
}

// reportLoss makes the store suspect that it lost data, and returns its floor.
func (w *town) reportLoss() int64 {
	w.Helper()
	if err := w.store.ReportLoss(w.Context()); err != nil {
		w.Fatal(err)
	}
	limits, err := w.store.Limits(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return limits.Floor.Unix()
}

// wantCalls checks which calls were noted, in order.
func (w *town) wantCalls(what string, want ...storetest.Op) {
	w.Helper()
	var got []storetest.Op
	for _, c := range w.noted() {
		got = append(got, c.op)
	}
	if !slices.Equal(got, want) {
		w.Errorf("%s: calls %v, want %v", what, got, want)
	}
}

// keep starts a keeper, which is closed with the test.
func (w *town) keep(options ...lease.Option) *lease.Keeper[*randflake.Generator] {
	w.Helper()
	k, err := w.tryKeep(w.store, options...)
	if err != nil {
		w.Fatalf("Keep: %v", err)
	}
	return k
}

func (w *town) tryKeep(store lease.Source, options ...lease.Option) (*lease.Keeper[*randflake.Generator], error) {
	all := append([]lease.Option{lease.WithTTL(ttl), lease.WithClock(w.clock.Now), lease.WithLogger(slog.New(&w.log))}, options...)
	k, err := lease.Keep(w.Context(), store, testSecret, all...)
	if err == nil {
		w.Cleanup(func() { k.Close() })
	}
	return k, err
}

// generate wants an ID for the second that the clock shows.
func (w *town) generate(k *lease.Keeper[*randflake.Generator]) randflake.Fields {
	w.Helper()
	id, err := k.Generator().Generate()
	if err != nil {
		w.Fatalf("Generate: %v; %+v", err, k.Status())
	}
	return k.Generator().Cipher().Inspect(id)
}

// wantRefused wants err instead of an ID.
func (w *town) wantRefused(k *lease.Keeper[*randflake.Generator], want error) {
	w.Helper()
	if id, err := k.Generator().Generate(); !errors.Is(err, want) {
		w.Errorf("Generate: %v, %v; want error %v", id, err, want)
	}
}

// wantHealth checks what Status says about it.
func (w *town) wantHealth(k *lease.Keeper[*randflake.Generator], healthy bool, err error) {
	w.Helper()
	s := k.Status()
	if s.Healthy != healthy || !errors.Is(s.Err, err) || (s.Err == nil) != s.Since.IsZero() {
		w.Errorf("status %+v: want healthy %v, error %v", s, healthy, err)
	}
}

// pace is the time between two calls in a storm.
const pace = 50 * time.Millisecond

// storm asks for IDs, one call after the other, for d, and returns how often that failed. Each call counts
// as what it was, whatever the keeper does meanwhile.
func (w *town) storm(k *lease.Keeper[*randflake.Generator], d time.Duration) (refused int) {
	w.Helper()
	before, made := k.Status(), 0
	for end := time.Now().Add(d); time.Now().Before(end); {
		if _, err := k.Generator().Generate(); err != nil {
			refused++
		} else {
			made++
		}
		if s := k.Status(); s.Refusals != before.Refusals+uint64(refused) || s.Issued != before.Issued+uint64(made) {
			w.Fatalf("%d IDs and %d refusals after %+v, but status %+v", made, refused, before, s)
		}
		time.Sleep(pace)
	}
	return refused
}

// usurp takes k's lease away: an operator releases it and somebody else acquires its nodes.
func (w *town) usurp(k *lease.Keeper[*randflake.Generator]) lease.Record {
	w.Helper()
	held, err := w.store.Lookup(w.Context(), k.Status().Record)
	if err == nil {
		err = w.store.Release(w.Context(), held, time.Unix(held.HighWater, 0))
	}
	if err != nil {
		w.Fatalf("can't usurp: %v", err)
	}
	return held
}

// wantLog checks the lines written since the last time, by what they contain.
func (w *town) wantLog(want ...string) {
	w.Helper()
	synctest.Wait()
	got := w.log.take()
	ok := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		ok = ok && strings.Contains(got[i], want[i])
	}
	if !ok {
		w.Errorf("log:\n%s\nwant lines with:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A logBook is a slog.Handler that keeps the lines.
type logBook struct {
	mu    sync.Mutex
	lines []string
}

func (b *logBook) Enabled(context.Context, slog.Level) bool { return true }
func (b *logBook) WithAttrs([]slog.Attr) slog.Handler       { return b }
func (b *logBook) WithGroup(string) slog.Handler            { return b }

func (b *logBook) Handle(_ context.Context, r slog.Record) error {
	line := fmt.Sprint(r.Level, " ", r.Message)
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, line)
	return nil
}

func (b *logBook) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := b.lines
	b.lines = nil
	return lines
}

// A twisted store changes what Acquire answers.
type twisted struct {
	lease.Source
	acquire func(lease.Record) lease.Record
}

func (s twisted) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	rec, err := s.Source.Acquire(ctx, req)
	if err == nil {
		rec = s.acquire(rec)
	}
	return rec, err
}
