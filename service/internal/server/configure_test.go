package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/space"
)

// reconfigure applies the configuration with a change.
func (w *testbed) reconfigure(change func(*config.Config)) error {
	next := *w.setup.Load().config
	next.Spaces = slices.Clone(next.Spaces)
	change(&next)
	return w.Configure(&next)
}

// TestConfigure: a space that stays as it is stays open, with its lease; others come, though their
// stores are away, and go; and a configuration that fails changes nothing.
func TestConfigure(t *testing.T) {
	w := newTestbed(t, spaces)
	kept, gone := w.setup.Load().spaces["mint"], w.setup.Load().spaces["sorted"]
	if a := w.call("CounterService/Next", `{"space":"mint","counter":"others"}`); a.status != http.StatusOK {
		t.Fatal(a.text)
	}
	same, err := w.setup.Load().counters["none"].Handle(t.Context(), "orders")
	require.NoError(t, err)
	w.broken.Store(true)
	require.NoError(t, w.reconfigure(func(c *config.Config) {
		c.Spaces = slices.DeleteFunc(c.Spaces, func(s config.Space) bool { return s.Name == "sorted" })
		c.Spaces = append(c.Spaces, config.Space{Name: "late", Kind: "snowflake", Layout: "twitter", Store: "sorted"})
		c.Spaces[0].Quota.Batch = 5
		c.Spaces[0].Counters = []config.Counter{{Name: "others", Start: 7}, {Name: "more"}}
	}))
	w.closing.Wait()
	if _, err := gone.State(); err == nil {
		t.Error("a space that is gone stays open")
	}
	require.That(t, w.setup.Load().spaces["mint"] == kept && w.call("IDService/Mint", `{"space":"mint"}`).status == http.StatusOK,
		"a space that stayed as it is, but for its limits and counters, was closed")
	w.wants("permission_denied", w.call("IDService/Mint", `{"space":"mint","count":6}`), "more than the new limit")
	w.wants("not_found", w.call("IDService/Mint", `{"space":"sorted"}`), "a space that is gone")
	if a := w.call("IDService/Mint", `{"space":"late"}`); a.body.Code != "unavailable" || w.Ready() == nil {
		t.Errorf("a space without its store: %s, ready %v", a.text, w.Ready())
	}
	w.broken.Store(false)
	for w.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	w.wants("", w.call("IDService/Mint", `{"space":"late"}`), "a space with its store")
	w.wants("", w.call("CounterService/Next", `{"space":"mint","counter":"more"}`), "a new counter")
	a := w.call("CounterService/Next", `{"space":"mint","counter":"others"}`)
	require.That(t, strings.Contains(a.text, `"COUNTER_MISMATCH"`), "a counter that is configured otherwise: %s", a.text)
	require.Gives(t, same, "a counter that stayed as it is")(w.setup.Load().counters["none"].Handle(t.Context(), "orders"))
	if err := w.reconfigure(func(c *config.Config) {
		c.Spaces = []config.Space{{Name: "new", Kind: "randflake", Store: "none", SecretFile: "no/such/file"}}
	}); err == nil || w.call("IDService/Mint", `{"space":"mint"}`).status != http.StatusOK {
		t.Errorf("a configuration that fails: error %v; or nothing is as before", err)
	}
	w.Drain()
	for path, status := range map[string]int{"/readyz": http.StatusServiceUnavailable, "/healthz": http.StatusOK} {
		a := w.send(http.MethodGet, path, "")
		require.That(t, a.status == status, "%s while it shuts down: %d %s", path, a.status, a.text)
	}
}

// TestNeverOpened: a replica that could not open a space yet is not ready, however long that takes. Once it
// could, it stays ready.
func TestNeverOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(1800000000, 0)))
		data := leasetest.NewMemory()
		var away atomic.Bool
		away.Store(true)
		s := New(func(ctx context.Context, _ string, c lease.Config) (*lease.Space, error) {
			if away.Load() {
				return nil, errors.New("connection lost")
			}
			return lease.Open(ctx, data.Connect(), c)
		}, io.Discard, slog.New(slog.DiscardHandler))
		defer s.Close()
		_, err := lease.Create(t.Context(), data.Connect(), lease.Config{Limits: lease.Limits{Nodes: 1024}, NeverUsed: true})
		require.NoError(t, err)
		spaces := []config.Space{{Name: "a", Kind: "snowflake", Layout: "twitter", Store: "memory"}, {Name: "b", Kind: "snowflake", Layout: "twitter", Store: "memory"}}
		require.NoError(t, s.Configure(&config.Config{Spaces: spaces[:1]}))
		time.Sleep(time.Hour)
		require.That(t, s.Ready() != nil, "ready, and no space was ever open")
		away.Store(false)
		time.Sleep(time.Minute)
		require.That(t, s.Ready() == nil, "not ready: %v", s.Ready())
		away.Store(true)
		require.NoError(t, s.Configure(&config.Config{Spaces: spaces[1:]}))
		time.Sleep(time.Minute)
		if err := s.Ready(); err != nil {
			t.Errorf("%v, of another configuration", err)
		}
	})
}

// TestCallsGoOn: a call that is under way when counters change gets its numbers. Once no call can
// have them, the handles of before are closed.
func TestCallsGoOn(t *testing.T) {
	inBubble(t, spaces, func(t *testing.T, w *testbed) {
		before, err := w.setup.Load().counters["mint"].Handle(t.Context(), "others")
		require.NoError(t, err)
		kept, err := w.setup.Load().counters["none"].Handle(t.Context(), "orders")
		require.NoError(t, err)
		w.broken.Store(true)
		underWay := make(chan answer)
		go func() {
			underWay <- w.call("CounterService/Next", `{"space":"mint","counter":"others","count":100}`)
		}()
		synctest.Wait() // until it has used up the first run
		require.NoError(t, w.reconfigure(func(c *config.Config) {
			c.Spaces[0].Counters = []config.Counter{{Name: "others"}, {Name: "more"}}
		}))
		synctest.Wait()
		w.broken.Store(false)
		a := <-underWay
		require.That(t, a.status == http.StatusOK, "a call that is under way: %d %s", a.status, a.text)
		time.Sleep(longestCall)
		synctest.Wait()
		require.Refuses(t, counter.ErrClosed, "after the last call")(before.Next())
		if _, err := kept.Next(); err != nil {
			t.Errorf("after the last call, a counter that stayed as it is: %v", err)
		}
	})
}

// TestFiles: the file of the audit log is closed once another one has replaced it, and none is
// opened by a configuration that fails.
func TestFiles(t *testing.T) {
	w := newTestbed(t, spaces)
	readers := map[string]*os.File{}
	configure := func(name string, change func(*config.Config)) error {
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, syscall.Mkfifo(file, 0o600))
		reader, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		require.NoError(t, err)
		t.Cleanup(func() { reader.Close() })
		reader.SetReadDeadline(time.Now().Add(time.Minute))
		readers[name] = reader
		return w.reconfigure(func(c *config.Config) {
			c.Audit.File = file
			change(c)
		})
	}
	same := func(*config.Config) {}
	require.Must(t, configure("first", same) == nil && configure("second", same) == nil,
		"a configuration does no more")
	for what, change := range map[string]func(*config.Config){
		"secret": func(c *config.Config) {
			c.Spaces = []config.Space{{Name: "new", Kind: "randflake", Store: "none", SecretFile: "no/such/file"}}
		},
		"authority": func(c *config.Config) {
			c.Issuers = []config.Issuer{{Issuer: "https://issuer.example", CA: "no/such/file"}}
		},
		"audit log": func(c *config.Config) {
			c.Audit.File = "no/such/file"
		},
	} {
		require.That(t, configure(what, change) != nil, "the file of the %s is not there: no error", what)
	}
	w.take("none", "")
	w.reconfigure(func(c *config.Config) { c.Audit.File = "" })
	for name, reader := range readers {
		text, err := io.ReadAll(reader) // which ends when nobody has the other end
		if has := strings.Contains(string(text), `"msg":"take"`); err != nil || has != (name == "second") {
			t.Errorf("%s: %q, error %v; want the line in the second one", name, text, err)
		}
	}
}

// A slow keeper is closed when it says so.
type slow struct {
	space.Keeper
	closed atomic.Bool
}

func (s *slow) Close() error {
	err := s.Keeper.Close()
	s.closed.Store(true)
	return err
}

// TestClose: a server is closed when all its spaces are.
func TestClose(t *testing.T) {
	w := newTestbed(t, spaces)
	state, err := w.setup.Load().spaces["mint"].State()
	require.NoError(t, err)
	keeper := &slow{Keeper: state.Own}
	state.Own = keeper
	handle, err := w.setup.Load().counters["mint"].Handle(t.Context(), "others")
	require.NoError(t, err)
	w.Close()
	require.Refuses(t, counter.ErrClosed, "a counter")(handle.Next())
	require.That(t, keeper.closed.Load(), "the service's lease is kept")
	for name, in := range w.setup.Load().spaces {
		if _, err := in.State(); err == nil {
			t.Errorf("%s is open", name)
		}
	}
}

// TestChangedFiles: another secret, or another place in a file, is another space; and a file that
// is missing changes nothing.
func TestChangedFiles(t *testing.T) {
	place := filepath.Join(t.TempDir(), "place")
	write := func(file, text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write(place, "sorted")
	w := newTestbed(t, spaces)
	w.reconfigure(func(c *config.Config) {
		c.Spaces = append(c.Spaces, config.Space{Name: "filed", Kind: "snowflake", Layout: "twitter", StoreFile: place})
	})
	c := w.setup.Load().config
	for _, tt := range []struct{ space, file, text string }{
		{"filed", place, "none"},
		{"mint", c.Spaces[0].SecretFile, randflake.NewSecret().Hex()},
	} {
		before := w.setup.Load().spaces
		write(tt.file, tt.text)
		err := w.Configure(c)
		after := w.setup.Load().spaces
		require.That(t, err == nil && after[tt.space] != before[tt.space] && after["none"] == before["none"],
			"%s with another file: it, or another space, is as before or not; error %v", tt.space, err)
		os.Remove(tt.file)
		if err := w.Configure(c); err == nil {
			t.Errorf("%s without its file: no error", tt.space)
		}
		write(tt.file, tt.text)
	}
}
