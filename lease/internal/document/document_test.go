package document

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/backoff"
	"github.com/randflake/randflake/lease/leasetest"
)

// A memory is a backend without a server.
type memory struct {
	mu       sync.Mutex
	document Document
	versions int
	checks   int
	gets     int
	puts     int
	fails    error // of every call
	failsPut error // of puts
	changed  bool  // says each Put
	ahead    time.Duration
	proxy    bool          // answers in its place, without a version
	delay    time.Duration // of each call
}

// answered returns a document as the caller gets it.
func (m *memory) answered(d Document) Document {
	d.Date = time.Now().Add(m.ahead)
	if m.proxy {
		d.Tag = ""
	}
	return d
}

// lock begins a call, and unlock ends it.
func (m *memory) lock() (unlock func()) {
	wait := func() { time.Sleep(m.delay/4 + rand.N(m.delay/2+1)) }
	wait()
	m.mu.Lock()
	return func() {
		m.mu.Unlock()
		wait()
	}
}

func (m *memory) Check(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.checks++
	return m.fails
}

func (m *memory) Get(context.Context) (Document, error) {
	defer m.lock()()
	m.gets++
	if m.document.Tag == "" && m.fails == nil {
		return Document{}, lease.ErrNoSpace
	}
	d := m.document
	d.Content = bytes.Clone(d.Content)
	return m.answered(d), m.fails
}

func (m *memory) Put(_ context.Context, content []byte, version string) (Document, error) {
	defer m.lock()()
	m.puts++
	if err := cmp.Or(m.fails, m.failsPut); err != nil {
		return Document{}, err
	}
	if m.changed || version != m.document.Tag {
		return Document{}, ErrChanged
	}
	m.versions++
	made := time.Now().Add(m.ahead)
	m.document = Document{Content: content, Tag: fmt.Sprint(m.versions), Lineage: "-m", Made: made}
	return m.answered(m.document), nil
}

func (m *memory) String() string { return "memory" }

const much = 1 << 30

// prepared returns an engine that holds an entry.
func prepared(t *testing.T) (*memory, *Engine) {
	t.Helper()
	m := new(memory)
	e := New(m, much)
	require.NoError(t, e.Prepare(t.Context()))
	leasetest.Put(t, e, "a", "1")
	return m, e
}

func TestSuite(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) func(t *testing.T) lease.Engine {
		m := new(memory)
		return func(t *testing.T) lease.Engine { return New(m, much) }
	})
}

// TestRequests counts what calls cost: a Swap reads only if what was seen last is not as expected,
// or was seen a minute ago.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := prepared(t)
		other := New(m, much)
		for _, tt := range []struct {
			name       string
			before     func()
			expect     []lease.Entry
			swapped    bool
			gets, puts int
		}{
			{"after a Swap", func() {}, leasetest.Entry("a", "1"), true, 0, 1},
			{"after a Read", func() { leasetest.Get(t, e, "a") }, leasetest.Entry("a", "1"), true, 0, 1},
			{"after less than a minute", func() { time.Sleep(time.Minute - 1) }, leasetest.Entry("a", "1"), true, 0, 1},
			{"after a minute", func() { time.Sleep(time.Minute) }, leasetest.Entry("a", "1"), true, 1, 1},
			{"after the clock was set back", func() {
				v := *e.lastSeen.Load()
				v.seen = v.seen.Add(2 * time.Minute)
				e.lastSeen.Store(&v)
			}, leasetest.Entry("a", "1"), true, 1, 1},
			{"of a new handle", func() { e = New(m, much) }, leasetest.Entry("a", "1"), true, 1, 1},
			{"that expects what is not there", func() {}, leasetest.Entry("a", "2"), false, 1, 0},
			{"that expects what another one put", func() { leasetest.Put(t, other, "a", "3") }, leasetest.Entry("a", "3"), true, 1, 1},
			{"that expects what another one replaced", func() { leasetest.Put(t, other, "a", "4") }, leasetest.Entry("a", "1"), false, 1, 1},
			{"onto what another one put beside", func() { leasetest.Put(t, other, "b", "1") }, leasetest.Entry("a", "4"), true, 1, 2},
		} {
			tt.before()
			m.gets, m.puts = 0, 0
			a, err := e.Swap(t.Context(), tt.expect, leasetest.Entry("a", "1"))
			require.That(t, err == nil && a.Swapped == tt.swapped && m.gets == tt.gets && m.puts == tt.puts,
				"a Swap %s: %+v, %v: %d reads and %d writes, want %d and %d", tt.name, a, err, m.gets, m.puts, tt.gets, tt.puts)
			require.That(t, a.Time.Equal(time.Now().Add(time.Second)),
				"a Swap %s: %v by the server's clock at %v, want the end of that second", tt.name, a.Time, time.Now())
		}
		a := new(snapshot).answer(nil)
		require.That(t, a.Time.IsZero(), "an answer without a date: %v by the server's clock", a.Time)
	})
}

// TestChangedEachTime: a Swap and Prepare try again until the context ends, and then say both.
func TestChangedEachTime(t *testing.T) {
	for name, do := range map[string]func(ctx context.Context, m *memory, e *Engine) error{
		"Swap": func(ctx context.Context, m *memory, e *Engine) error {
			return require.Err(e.Swap(ctx, nil, leasetest.Entry("a", "2")))
		},
		"Prepare": func(ctx context.Context, m *memory, e *Engine) error {
			m.document = Document{}
			return e.Prepare(ctx)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, e := prepared(t)
			m.changed, m.puts, m.delay = true, 0, 30*time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := do(ctx, m, e)
			require.That(t, errors.Is(err, backoff.ErrBusy) && errors.Is(err, context.DeadlineExceeded) && m.puts >= 50 && m.puts <= 200,
				"%s: %v after %d tries", name, err, m.puts)
		})
	}
}

// TestRush: processes of many spaces that start at once soon have what they want, by few calls.
func TestRush(t *testing.T) {
	const processes, calls = 400, 40
	synctest.Test(t, func(t *testing.T) {
		m, _ := prepared(t)
		m.delay, m.gets, m.puts = 30*time.Millisecond, 0, 0
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var all sync.WaitGroup
		for i := range processes {
			all.Go(func() {
				a, err := New(m, much).Swap(ctx, nil, leasetest.Entry(fmt.Sprint(i), "1"))
				require.That(t, err == nil && a.Swapped, "process %d: %+v, %v", i, a, err)
			})
		}
		all.Wait()
		require.That(t, m.gets+m.puts <= processes*calls,
			"%d reads and %d writes, want %d for each process at most", m.gets, m.puts, calls)
	})
}

// TestKeepBusy: a keeper whose first take ends while others change the document takes again.
func TestKeepBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(1800000000, 0))) // not before IDs have seconds
		m := &memory{delay: 30 * time.Millisecond}
		space, err := lease.Create(t.Context(), New(m, much), lease.Config{NeverUsed: true})
		require.NoError(t, err)
		busy := func(changed bool) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.changed = changed
		}
		busy(true)
		time.AfterFunc(time.Minute, func() { busy(false) })
		quiet := lease.WithLogger(slog.New(slog.DiscardHandler))
		k, err := lease.Keep(t.Context(), space, randflake.NewSecret(), quiet)
		require.NoError(t, err)
		k.Close()
	})
}

// TestBusy: processes that swap all the time don't keep each other out.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := prepared(t)
		m.delay = 5 * time.Millisecond
		end := time.Now().Add(time.Minute)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				swaps := 0
				for time.Now().Before(end) {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					_, err := e.Swap(ctx, nil, leasetest.Entry(fmt.Sprint(i), "1"))
					cancel()
					if err != nil {
						t.Errorf("process %d, after %d swaps: %v", i, swaps, err)
						return
					}
					swaps++
				}
			})
		}
		all.Wait()
	})
}

// TestCopied: a document that was made more than CopyAge after its content is a copy, unless the
// content has no date.
func TestCopied(t *testing.T) {
	m, e := prepared(t)
	_, original := leasetest.Get(t, e, "a")
	require.Equal(t, original.Position, 1, "position after one swap")
	written := m.document.Made
	for _, tt := range []struct {
		age    time.Duration
		copied bool
	}{
		{-time.Hour, false},
		{CopyAge - time.Second, false},
		{CopyAge + time.Second, true},
	} {
		m.document.Made = written.Add(tt.age)
		if _, a := leasetest.Get(t, e, "a"); (a.Lineage != original.Lineage) != tt.copied {
			t.Errorf("made %v after its content: lineage %s, and %s at first", tt.age, a.Lineage, original.Lineage)
		}
	}
	for range 20 {
		m.document.Made = m.document.Made.Add(time.Hour)
		_, copied := leasetest.Get(t, e, "a")
		m.ahead += time.Hour // the server's clock, and not this process's
		leasetest.Get(t, e, "b")
		leasetest.Put(t, e, "a", "1")
		if _, a := leasetest.Get(t, e, "a"); a.Lineage != copied.Lineage || len(a.Lineage) > 50 {
			t.Fatalf("a copy has lineage %s, and after a swap %s: want it short, and to stay", copied.Lineage, a.Lineage)
		}
	}
	undated := content{Lineage: "l", Entries: map[string][]byte{}, others: []byte(`{"newer":1}`)}
	require.Done(t)(e.put(t.Context(), undated, m.document.Tag))
	_, a := leasetest.Get(t, e, "a")
	require.That(t, a.Lineage == "l-m", "without a date: lineage %s, want l-m", a.Lineage)
	for range 2 {
		leasetest.Put(t, e, "a", "1")
		text := string(m.document.Content)
		require.That(t, strings.HasSuffix(text, `,"newer":1}`), "a newer program's key went: %s", text)
	}
}

// TestFull: entries are added as long as all can grow, and those that are there can always change.
func TestFull(t *testing.T) {
	_, e := prepared(t) // with the space a
	for _, tt := range []struct {
		most int
		name string
		full bool
	}{
		{10000, "b/meta", false},
		{0, "b/leases", false}, // which counted with meta
		{0, "b/c/orders", true},
		{10000, "c/move", true},
		{12000, "c/move", false},
		{10000, "c/meta", false},
		{0, "a", false},
	} {
		e.maxBytes = tt.most
		a, err := e.Swap(t.Context(), nil, leasetest.Entry(tt.name, "2"))
		if errors.Is(err, lease.ErrStore) != tt.full || err != nil && !strings.Contains(err.Error(), "full") {
			t.Errorf("%+v: %+v, %v", tt, a, err)
		}
	}
	e.maxBytes = 18000
	leasetest.Put(t, e, "c/meta", strings.Repeat("2", 4000)) // as a newer program's can be
	_, err := e.Swap(t.Context(), nil, leasetest.Entry("d/meta", "2"))
	require.ErrorSays(t, err, "full", "beside a large meta")
}

// TestMoveIntoFull: a space with counters for which there is no room is not retired, and moves once there is.
func TestMoveIntoFull(t *testing.T) {
	ctx := t.Context()
	old, err := lease.Create(ctx, New(new(memory), much), lease.Config{NeverUsed: true})
	require.NoError(t, err)
	for i := range 20 {
		require.NoError(t, old.CreateCounter(ctx, lease.Counter{Name: fmt.Sprint(i)}))
	}
	m := new(memory)
	_, err = lease.Move(ctx, old, New(m, 8000), lease.Config{})
	info, infoErr := old.Info(ctx)
	require.That(t, errors.Is(err, lease.ErrStore) && strings.Contains(err.Error(), "full") && !info.Retired && infoErr == nil,
		"%v, %+v, %v: want that it goes on, as there is no room", err, info, infoErr)
	require.Done(t)(lease.Move(ctx, old, New(m, 16000), lease.Config{}))
}

// TestOutcome: a swap says that nothing was changed until its content was sent, and then leaves that open.
func TestOutcome(t *testing.T) {
	away := &net.OpError{Op: "dial", Err: errors.New("refused")}
	broken := &net.OpError{Op: "read", Err: errors.New("reset")}
	for what, fails := range map[string]struct {
		get, put error
		unmade   bool
	}{
		"no connection to read":  {away, nil, true},
		"no answer to a read":    {broken, nil, true},
		"no connection to write": {nil, away, true},
		"no answer to a write":   {nil, broken, false},
	} {
		m, e := prepared(t)
		e.lastSeen.Store(nil)
		m.fails, m.failsPut = fails.get, fails.put
		if _, err := e.Swap(t.Context(), nil, leasetest.Entry("a", "2")); err == nil || errors.Is(err, lease.ErrStore) != fails.unmade {
			t.Errorf("%s: error %v, which says that nothing was changed: want %v", what, err, fails.unmade)
		}
	}
}

// TestContent refuses what is no document of ours, and answers that can't be the server's.
func TestContent(t *testing.T) {
	for content, want := range map[string]error{
		"":                              lease.ErrCorrupt,
		"{}":                            lease.ErrCorrupt,
		`{"lineage": "l"}`:              lease.ErrCorrupt,
		`{"entries": {}}`:               lease.ErrCorrupt,
		`{"lineage": "l", "entries": 1`: lease.ErrCorrupt,
		`{"lineage": "l", "entries": {}, "position": -1}`: lease.ErrCorrupt,
		`{"lineage": "l", "entries": {}}`:                 nil,
	} {
		m, e := prepared(t)
		m.document.Content = []byte(content)
		_, readErr := e.Read(t.Context(), "a")
		_, listErr := e.List(t.Context(), "", "", 9)
		require.That(t, errors.Is(readErr, want) && errors.Is(listErr, want),
			"%s: %v, %v, want %v", content, readErr, listErr, want)
		if readErr != nil && strings.HasSuffix(readErr.Error(), "<nil>") {
			t.Errorf("%s: %v, want why", content, readErr)
		}
	}
	m, e := prepared(t)
	m.document.Tag = ""
	m.fails = errors.New("broken")
	_, err := e.Read(t.Context(), "a")
	require.ErrorIs(t, err, m.fails, "an error without a version")
	m, e = prepared(t)
	m.proxy = true
	if _, err := e.Read(t.Context(), "a"); err == nil {
		t.Fatal("an answer without a version is taken for the server's")
	}
	if _, err := e.Swap(t.Context(), nil, leasetest.Entry("a", "2")); err == nil || errors.Is(err, lease.ErrStore) {
		t.Errorf("a write whose answer has no version: %v, want an outcome that is unknown", err)
	}
}

// TestCheck: the backend is checked before anything is asked, until it is found good, and then no more.
func TestCheck(t *testing.T) {
	m := &memory{fails: lease.ErrUnsafe}
	e := New(m, much)
	for range 2 {
		if err := e.Prepare(t.Context()); !errors.Is(err, lease.ErrUnsafe) || m.gets+m.puts > 0 {
			t.Errorf("%v after %d reads and %d writes", err, m.gets, m.puts)
		}
	}
	m.fails = nil
	for range 2 {
		err := e.Prepare(t.Context())
		require.That(t, err == nil && m.checks == 3, "%v after %d checks", err, m.checks)
	}
	m.document = Document{}
	failed := errors.New("failed")
	for _, fails := range []*error{&m.fails, &m.failsPut} {
		m.fails, m.failsPut = nil, nil
		*fails = failed
		require.ErrorIs(t, e.Prepare(t.Context()), failed, "Prepare")
	}
}

// A late context ends a while after its deadline.
type late struct {
	context.Context
	deadline time.Time
}

func (l late) Deadline() (time.Time, bool) { return l.deadline, true }

// TestDeadline: an error at the deadline also says that the context ended, even if the connection
// was the first to notice.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := prepared(t)
		m.fails = errors.New("the connection timed out")
		for _, tt := range []struct {
			deadline time.Duration
			ended    bool
		}{
			{time.Hour, false},
			{0, true},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := e.Read(late{ctx, time.Now().Add(tt.deadline)}, "a")
			require.That(t, errors.Is(err, m.fails) && !strings.Contains(err.Error(), "%!"),
				"%v before the deadline: %v", tt.deadline, err)
			require.That(t, errors.Is(err, context.DeadlineExceeded) == tt.ended,
				"%v before the deadline: %v, want the end of the context: %t", tt.deadline, err, tt.ended)
		}
	})
}
