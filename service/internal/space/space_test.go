package space

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/snowflake"
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

// Spaces on a store that is sound.
var (
	randflakes = config.Space{Name: "demo", Kind: "randflake", Store: "memory"}
	snowflakes = config.Space{Name: "demo", Kind: "snowflake", Layout: "twitter", Store: "memory"}
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

// makeFake returns a space that is not opened.
func makeFake(t *testing.T, c config.Space, counters ...config.Counter) *fake {
	t.Helper()
	c.Counters = counters
	f := &fake{data: leasetest.NewMemory()}
	limits := lease.Limits{}
	if c.Kind == "snowflake" {
		limits.Nodes = 1024
	}
	if c.Store == "upper half" {
		limits = lease.Limits{FirstNode: 512, Nodes: 512}
	}
	if c.Store == "beyond" {
		limits = lease.Limits{FirstNode: 513, Nodes: 512}
	}
	made, err := lease.Create(t.Context(), f.data.Connect(), lease.Config{
		Limits:     limits,
		NeverUsed:  c.Store != "old",
		CheckValue: map[string][8]byte{"checked": {1}}[c.Store],
	})
	require.NoError(t, err)
	made.Close()
	f.Space, err = New(c, Options{
		Open:   f.openStore,
		Taken:  func(_ string, l randflake.Lease) { f.taken = append(f.taken, l) },
		Logger: slog.New(slog.NewTextHandler(&f.log, nil)),
	})
	require.NoError(t, err)
	f.counters = NewCounters(f.Space, c)
	return f
}

// openStore is the Opener of the space.
func (f *fake) openStore(ctx context.Context, _ string, c lease.Config) (*lease.Space, error) {
	f.attempts.Add(1)
	f.stores.Add(1)
	s, err := lease.Open(ctx, store{leasetest.Intercept(f.data.Connect(), f.call), &f.stores}, c)
	if err != nil {
		f.stores.Add(-1)
	}
	return s, err
}

// call makes a call of the store, unless it is to fail.
func (f *fake) call(ctx context.Context, c leasetest.Call, e lease.Engine) (lease.Answer, error) {
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
}

// secretFile writes a secret to a file, and returns its name.
func secretFile(t *testing.T, secret randflake.Secret) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte(secret.Hex()), 0o600))
	return file
}

// begin opens the space.
func (f *fake) begin(t *testing.T) {
	f.Open()
	t.Cleanup(func() {
		f.counters.Close()
		f.Close()
		require.Equal(t, f.stores.Load(), 0, "stores stay open")
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
	require.Must(t, err == nil, "not open: %v, %v", err, f.Ready())
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
		f := makeFake(t, snowflakes)
		if _, err := f.State(); !errors.Is(err, ErrNotOpen) || !strings.Contains(f.Ready().Error(), "it is being opened") {
			t.Errorf("at first: error %v, ready %v", err, f.Ready())
		}
		f.fail(errAway)
		f.begin(t)
		time.Sleep(30 * time.Second)
		if _, err := f.State(); f.Phase() != Opening || !errors.Is(err, ErrNotOpen) || strings.Contains(err.Error(), "away") {
			t.Errorf("without its store: phase %v, error %v; want one that shows nothing", f.Phase(), err)
		}
		if err := f.Ready(); !errors.Is(err, ErrNotOpen) || !errors.Is(err, errAway) {
			t.Errorf("without its store: ready %v", err)
		}
		time.Sleep(time.Second)
		require.That(t, f.Phase() != Opening, "other spaces are waited for this one for longer than half a minute")
		time.Sleep(29 * time.Second)
		synctest.Wait()
		if n := f.attempts.Load(); n != 12 || f.logged("can't be opened") != 1 {
			t.Errorf("%d attempts in a minute, want 12, and one line about all:\n%s", n, &f.log)
		}
		f.fail(errors.New("the password is wrong"))
		time.Sleep(10 * time.Second)
		require.That(t, f.logged("can't be opened") == 2 && f.logged("the password is wrong") == 1,
			"another kind of trouble has no line:\n%s", &f.log)
		f.fail(nil)
		time.Sleep(10 * time.Second)
		state := f.open(t)
		f.fail(errAway)
		ids, err := state.Minter.Texts(t.Context(), 3)
		if err != nil || len(ids) != 3 || f.Phase() == Opening || f.Ready() != nil {
			t.Errorf("once its store is away again: %d IDs, error %v, phase %v, ready %v: want IDs by the lease that is there",
				len(ids), err, f.Phase(), f.Ready())
		}
	})
}

// TestStopped: when its last lease has ended the space is not ready and says why, until the store is back.
func TestStopped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake(t, snowflakes)
		state := f.open(t)
		f.fail(errAway)
		time.Sleep(time.Hour)
		if err := f.Ready(); !errors.Is(err, errAway) || !strings.Contains(err.Error(), "space demo") || f.Phase() == Opening {
			t.Errorf("without a lease: ready %v, phase %v", err, f.Phase())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ids, err := state.Minter.Texts(ctx, 3)
		saysWhy := strings.Contains(fmt.Sprint(err), "the service gets no lease from its store")
		require.That(t, len(ids) == 0 && saysWhy, "without a lease: %d IDs, error %v", len(ids), err)
		for _, l := range f.leases() {
			require.That(t, !l.End.IsZero(), "a lease that was not granted is told of: %+v", f.taken)
		}
		f.fail(nil)
		time.Sleep(2 * time.Minute)
		if ids, err := state.Minter.Texts(t.Context(), 3); len(ids) != 3 || err != nil || f.Ready() != nil {
			t.Errorf("with its store again: %d IDs, error %v, ready %v", len(ids), err, f.Ready())
		}
	})
}

// TestOld: a space where forgotten leases may be in use says until when, and opens then.
func TestOld(t *testing.T) {
	for _, c := range []config.Space{
		{Kind: "snowflake", Layout: "twitter"},
		{Kind: "randflake", SecretFile: secretFile(t, randflake.NewSecret())},
	} {
		bubble(t, func(t *testing.T) {
			c.Name, c.Store = "demo", "old"
			f := newFake(t, c)
			synctest.Wait()
			_, err := f.State()
			var wait *lease.WaitError
			require.Must(t, errors.As(err, &wait) && time.Until(wait.Until) >= time.Minute,
				"%s: %v: want until when to wait", c.Kind, err)
			require.Omits(t, err.Error(), "memory", "%s: it shows where the data is", c.Kind)
			require.That(t, errors.As(f.Ready(), &wait), "%s: ready %v: want until when to wait", c.Kind, f.Ready())
			time.Sleep(time.Until(wait.Until) + 11*time.Second)
			f.open(t)
		})
	}
}

// TestCauses: why a space is not open is told by an error of package lease, without what a driver says.
func TestCauses(t *testing.T) {
	for _, cause := range []error{lease.ErrMoving, lease.ErrNoSpace, lease.ErrRetired, lease.ErrCorrupt, lease.ErrUnsafe, lease.ErrStore} {
		bubble(t, func(t *testing.T) {
			f := makeFake(t, snowflakes)
			f.fail(fmt.Errorf("%w: db.example.com", cause))
			f.begin(t)
			synctest.Wait()
			_, err := f.State()
			require.ErrorIs(t, err, cause, "the state of a space with that trouble")
			require.Omits(t, err.Error(), "example", "it shows what a driver says")
		})
	}
	bubble(t, func(t *testing.T) {
		f := newFake(t, config.Space{Name: "demo", Kind: "randflake", Store: "checked", SecretFile: secretFile(t, randflake.NewSecret())})
		synctest.Wait()
		_, err := f.State()
		require.ErrorIs(t, err, lease.ErrWrongSecret, "with another secret")
	})
}

// TestPart: a space with a part of a layout's workers opens, and the log says which. One with workers
// that the layout does not have is refused.
func TestPart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake(t, config.Space{Name: "demo", Kind: "snowflake", Layout: "twitter", Store: "upper half"})
		f.open(t)
		if first := f.leases()[0].FirstNode; first != 512 || f.logged("first_node=512 last_node=1023") != 1 {
			t.Errorf("worker %d, want 512:\n%s", first, &f.log)
		}
		beyond := newFake(t, config.Space{Name: "demo", Kind: "snowflake", Layout: "twitter", Store: "beyond"})
		synctest.Wait()
		if err := beyond.Ready(); !errors.Is(err, snowflake.ErrInvalidLayout) || !strings.Contains(err.Error(), "has nodes 513 to 1024") {
			t.Errorf("nodes 513 to 1024 for 1,024 workers: %v", err)
		}
	})
}

// TestTry: a store that is not there, for another secret, or of another kind is told of, and nothing is taken.
func TestTry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake(t, config.Space{Name: "demo", Kind: "randflake", Store: "checked"})
		other := secretFile(t, randflake.NewSecret())
		for want, c := range map[string]config.Space{
			"": {Kind: "randflake", Store: "m"},
			"check value is 0100000000000000, that of the secret is ": {Kind: "randflake", Store: "m", SecretFile: other},
			"want another one for snowflake IDs":                      {Kind: "snowflake", Layout: "twitter", Store: "m"},
			"storeFile":                                               {Kind: "snowflake", Layout: "twitter", StoreFile: "no/such/file"},
			"no/such/secret":                                          {Kind: "randflake", Store: "m", SecretFile: "no/such/secret"},
		} {
			err := CheckOpens(t.Context(), c, f.openStore)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %s", c, err, want)
			}
		}
		f.fail(errAway)
		if CheckOpens(t.Context(), f.Config, f.openStore) == nil {
			t.Error("a store that is away is none that can't be opened")
		}
		later := func(ctx context.Context, place string, c lease.Config) (*lease.Space, error) {
			f.fail(nil)
			defer f.fail(errAway)
			return f.openStore(ctx, place, c)
		}
		if !errors.Is(CheckOpens(t.Context(), f.Config, later), errAway) {
			t.Error("a store that is away once it was opened is none that can't be opened")
		}
	})
}

// TestSame: a space is the same only if what its files say is.
func TestSame(t *testing.T) {
	place := filepath.Join(t.TempDir(), "place")
	newSpace := func(c config.Space, text string) *Space {
		require.NoError(t, os.WriteFile(place, []byte(text), 0o600))
		c.StoreFile = place
		s, err := New(c, Options{})
		require.NoError(t, err)
		return s
	}
	secret := secretFile(t, randflake.NewSecret())
	guarded := newSpace(config.Space{SecretFile: secret}, "redis://:one@db/ids")
	require.NoError(t, os.WriteFile(secret, []byte(randflake.NewSecret().Hex()), 0o600))
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
		require.Equal(t, after.Same(before), tt.same, "%+v at %s: the same", tt.space, tt.text)
	}
}

// TestClose: after the space was closed all calls fail, whether it was open or not, and the store's
// complaint is told.
func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake(t, snowflakes, config.Counter{Name: "orders"})
		state := f.open(t)
		h, err := state.Counters.Handle(t.Context(), "orders")
		require.NoError(t, err)
		f.counters.Close()
		require.ErrorIs(t, f.Close(), errClosing, "close")
		require.Equal(t, f.Close(), nil, "close again")
		if _, err := f.State(); !errors.Is(err, ErrNotOpen) || !strings.Contains(f.Ready().Error(), "it was closed") {
			t.Errorf("after close: error %v, ready %v", err, f.Ready())
		}
		require.Refuses(t, counter.ErrClosed, "a counter after close")(h.Wait(t.Context()))
		require.That(t, state.Own.Status().Closed, "the service keeps its lease")
	})
	for _, kind := range []string{"snowflake", "ulid"} {
		bubble(t, func(t *testing.T) {
			f := makeFake(t, config.Space{Name: "demo", Kind: kind, Layout: map[string]string{"snowflake": "twitter"}[kind], Store: map[string]string{"snowflake": "memory"}[kind]})
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
		f := makeFake(t, snowflakes)
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
		n := storesLeft.Load()
		require.That(t, n == 0 && f.Ready() != nil, "%d stores are open after Close, ready %v", n, f.Ready())
	})
}
