package space

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/service/internal/config"
)

// A fake is a space on data in memory, whose store fails when it is told to.
type fake struct {
	*Space
	fails atomic.Bool
	hold  atomic.Pointer[hold]
}

// A hold keeps calls of the store waiting.
type hold struct{ begun, end chan struct{} }

func newFake(t *testing.T, c config.Space, counters ...config.Counter) *fake {
	t.Helper()
	c.Counters = counters
	f, data := new(fake), leasetest.NewMemory()
	limits := lease.Limits{}
	if c.Kind == "twitter" {
		limits.Nodes = 1024
	}
	made, err := lease.Create(t.Context(), data.Connect(), lease.Config{Limits: limits, New: c.Store != "old", Check: map[string][8]byte{"checked": {1}}[c.Store]})
	if err != nil {
		t.Fatal(err)
	}
	made.Close()
	f.fails.Store(c.Nodes < 0) // from the beginning
	c.Nodes = max(c.Nodes, 0)
	f.Space, err = New(c, Options{Logger: slog.New(slog.DiscardHandler), Open: func(ctx context.Context, _ string, c lease.Config) (*lease.Space, error) {
		return lease.Open(ctx, leasetest.Intercept(data.Connect(), func(ctx context.Context, c leasetest.Call, e lease.Engine) (lease.Answer, error) {
			if f.fails.Load() {
				return lease.Answer{}, errors.New("the server is away")
			}
			if hold := f.hold.Load(); hold != nil {
				select {
				case hold.begun <- struct{}{}:
				default:
				}
				<-hold.end
			}
			return c.On(ctx, e)
		}), c)
	}})
	if err != nil {
		t.Fatal(err)
	}
	f.Open()
	t.Cleanup(func() { f.Close() })
	return f
}

// open waits until the space is open.
func (f *fake) open(t *testing.T) *State {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if state, err := f.State(); err == nil {
			return state
		}
		if time.Now().After(end) {
			t.Fatalf("not open after a minute: %v", f.Ready())
		}
	}
}

// TestBegun: a space whose store is away is not there yet, opens once the store is back, and stays begun when it goes away again.
func TestBegun(t *testing.T) {
	f := newFake(t, config.Space{Name: "demo", Kind: "twitter", Store: "memory", Nodes: -1})
	for f.Ready() == nil || !errors.Is(f.Ready(), ErrNotOpen) {
		time.Sleep(time.Millisecond)
	}
	if _, err := f.State(); f.Begun() || !errors.Is(err, ErrNotOpen) {
		t.Errorf("without its store: begun %v, error %v", f.Begun(), err)
	}
	f.begun = f.begun.Add(-time.Hour)
	if !f.Begun() {
		t.Error("other spaces are waited for this one for an hour")
	}
	f.fails.Store(false)
	state := f.open(t)
	f.fails.Store(true)
	if ids, _, err := state.Minter(t.Context(), 3, true); err != nil || len(ids) != 3 || !f.Begun() || f.Ready() != nil {
		t.Errorf("once its store is away again: %d IDs, error %v, begun %v, ready %v: want IDs by the lease that is there", len(ids), err, f.Begun(), f.Ready())
	}
}

// TestOld: a space where forgotten leases may be in use says until when, and opens then.
func TestOld(t *testing.T) {
	f := newFake(t, config.Space{Name: "demo", Kind: "twitter", Store: "old"})
	for wait := (*lease.WaitError)(nil); !errors.As(f.Ready(), &wait); time.Sleep(time.Millisecond) {
		if t.Context().Err() != nil || f.Ready() == nil {
			t.Fatal(f.Ready())
		}
	}
	wait := (*lease.WaitError)(nil)
	if _, err := f.State(); !errors.As(err, &wait) || time.Until(wait.Until) < time.Minute || strings.Contains(err.Error(), "memory") {
		t.Errorf("%v: want until when to wait, and not where the data is", err)
	}
}

// TestPatterns: counters of a pattern are made at their first use, as it says; a principal makes so many; others make more, and the counters that exist serve everybody.
func TestPatterns(t *testing.T) {
	counters := []config.Counter{{Name: "orders/*", Start: 100, Most: 12}, {Name: "orders/de"}}
	f := newFake(t, config.Space{Name: "demo", Kind: "randflake", Store: "memory"}, counters...)
	all := f.open(t).Counters
	take := func(who, name string) error {
		_, err := all.Take(t.Context(), who, name, lease.Period{}, 1)
		return err
	}
	for name, want := range map[string]int64{"orders/fr": 100, "orders/de": 1, "orders/de/1": 100} {
		h, err := all.Handle(t.Context(), "web", name)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := h.Wait(t.Context()); n != want || err != nil {
			t.Errorf("%s: the first number is %d, error %v, want %d", name, n, err, want)
		}
	}
	for _, name := range []string{"orders/*", "orders/", "orders/É", "orders/ "} {
		if _, err := all.Handle(t.Context(), "web", name); !errors.Is(err, lease.ErrInvalid) && !errors.Is(err, lease.ErrNoCounter) {
			t.Errorf("%q: error %v", name, err)
		}
	}
	if _, err := all.Handle(t.Context(), "web", "other/1"); !errors.Is(err, lease.ErrNoCounter) {
		t.Errorf("a counter that is in no configuration: error %v", err)
	}
	for i := range 10 {
		if err := take("web", fmt.Sprintf("orders/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	const many = connect.CodeResourceExhausted
	_, err := all.Handle(t.Context(), "web", "orders/more")
	if made := take("web", "orders/more"); connect.CodeOf(err) != many || connect.CodeOf(made) != many {
		t.Errorf("one more than there may be: errors %v, %v", err, made)
	}
	if err := take("cron", "orders/more"); err != nil {
		t.Errorf("one principal has made so many, and another one can't make any: %v", err)
	}
	again := newCounters(all.Source, config.Space{Counters: []config.Counter{{Name: "orders/*", Start: 100, Most: 1}}}, all.logger) // as after a restart
	for i := range 10 {
		if _, err := again.Handle(t.Context(), "web", fmt.Sprintf("orders/%d", i)); err != nil {
			t.Fatalf("a counter that exists: %v", err)
		}
	}
	again.Close()
	f.fails.Store(true)
	if _, err := all.Handle(t.Context(), "web", "orders/8"); err == nil {
		t.Error("a counter came from a store that fails")
	}
}

// TestOpening: while a counter is being opened, others serve; and whoever hangs up ends the opening for nobody else.
func TestOpening(t *testing.T) {
	f := newFake(t, config.Space{Name: "demo", Kind: "randflake", Store: "memory"}, config.Counter{Name: "a"}, config.Counter{Name: "b"})
	all := f.open(t).Counters
	if _, err := all.Handle(t.Context(), "web", "a"); err != nil {
		t.Fatal(err)
	}
	hold := &hold{make(chan struct{}, 1), make(chan struct{})}
	f.hold.Store(hold)
	impatient, hangUp := context.WithCancel(t.Context())
	results := make(chan error, 2)
	open := func(ctx context.Context) {
		_, err := all.Handle(ctx, "web", "b")
		results <- err
	}
	go open(impatient)
	<-hold.begun
	go open(t.Context())
	served := make(chan error, 1)
	go func() {
		_, err := all.Handle(t.Context(), "web", "a")
		served <- err
	}()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("a counter that is being opened holds up others")
	}
	hangUp()
	if err := <-results; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that hung up: error %v", err)
	}
	close(hold.end)
	if err := <-results; err != nil {
		t.Errorf("one caller hung up, and the other one got no counter: %v", err)
	}
}

// TestTry: a store that is not there, for another secret, or of another kind is told of, and nothing is taken.
func TestTry(t *testing.T) {
	f := newFake(t, config.Space{Name: "demo", Kind: "randflake", Store: "checked"})
	other := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(other, []byte(randflake.NewSecret().Hex()), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]config.Space{
		"": {Kind: "randflake", Store: "m"}, "check value is 0100000000000000, and this one's is ": {Kind: "randflake", Store: "m", SecretFile: other},
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
	f.fails.Store(true)
	if s, _ := New(f.Space.Space, f.options); s.Try(t.Context()) == nil {
		t.Error("a store that is away is none that can't be opened")
	}
}

// TestClose: nothing works after the space was closed.
func TestClose(t *testing.T) {
	f := newFake(t, config.Space{Name: "demo", Kind: "twitter", Store: "memory"})
	f.open(t)
	if err := f.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := f.State(); !errors.Is(err, ErrNotOpen) || f.Ready() == nil {
		t.Errorf("after close: error %v, ready %v", err, f.Ready())
	}
}

// TestExplain: without a lease, the error says until when to wait, if that is known.
func TestExplain(t *testing.T) {
	until := time.Now().Add(time.Hour)
	status := lease.Status{Err: &lease.WaitError{Err: lease.ErrLoss, Until: until}}
	var wait *lease.WaitError
	if err := explain(randflake.ErrLeaseEnded, status); !errors.As(err, &wait) || wait.Until != until || !errors.Is(err, randflake.ErrLeaseEnded) {
		t.Error(err)
	}
	if err := explain(randflake.ErrExhausted, status); err != randflake.ErrExhausted {
		t.Error(err)
	}
}
