package lease

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
)

// TestTake has what a take refuses, and what the error says to do.
func TestTake(t *testing.T) {
	now, server := noon, noon
	data := newMemory()
	const begin = 1000 // of the part
	s := create(t, conn{memory: data}, Limits{FirstNode: begin, Nodes: 16}, at(&now))
	present := s.Limits().WindowOf(noon)
	type step struct {
		name   string
		clock  time.Duration // how far ahead
		server time.Duration // the same of the server's clock; 0 for none
		window int64
		n      uint32
		first  uint32 // within the part
		err    error
		until  time.Time
		says   string
	}
	for _, step := range []step{
		{name: "first", n: 10},
		{name: "second", n: 5, first: 10},
		{name: "too many", n: 2, err: ErrFull, until: noon.Add(time.Minute)},
		{name: "the rest", n: 1, first: 15},
		{name: "next window", window: 1, n: 16},
		{name: "last window", window: 5, n: 1},
		{name: "too far", window: 6, n: 1, err: ErrAhead, until: noon.Add(time.Minute)},
		{name: "as far, before the server's clock", server: -time.Minute, window: 5, n: 1, first: 1},
		{name: "the last window of all", window: math.MaxInt64 - noon.Unix()/60, n: 1,
			err: ErrAhead, until: noon.Add(math.MaxInt64 / time.Minute * time.Minute)},
		{name: "a slow clock", clock: -300 * time.Hour, window: -18000, n: 3},
		{name: "a fast clock", clock: 300 * time.Hour, window: 18000, n: 3},
		{name: "a server that is behind", clock: 62 * time.Second, server: time.Second, n: 1,
			err: ErrClock, says: "the server's is 1m1s behind this machine's"},
		{name: "a server that is ahead", clock: time.Second, server: 62 * time.Second, n: 1,
			err: ErrClock, says: "the server's is 1m1s ahead of this machine's"},
		{name: "before the epoch", clock: -60 * 365 * 24 * time.Hour, window: -noon.Unix()/60 - 1,
			n: 1, err: ErrClock, says: "this machine's says 1967-01-30"},
		{name: "none", err: ErrInvalid},
		{name: "the first window of all", window: -noon.Unix() / 60, n: 1},
		{name: "before all time", window: -noon.Unix()/60 - 1, n: 1, err: ErrInvalid},
		{name: "more than there are", window: 3, n: 17, err: ErrInvalid},
	} {
		now, server, data.clock = noon.Add(step.clock), noon.Add(step.server), nil
		if step.server != 0 {
			data.clock = func() time.Time { return server }
		}
		l, err := takeWindow(t.Context(), s, present+step.window, step.n)
		var wait *WaitError
		rightTime := !errors.As(err, &wait) || wait.Until.Equal(step.until)
		require.That(t, errors.Is(err, step.err) && rightTime, "%s: %v", step.name, err)
		require.That(t, strings.Contains(fmt.Sprint(err), step.says), "%s: %v, want that it says %s", step.name, err, step.says)
		if err != nil {
			continue
		}
		start := s.Limits().start(present + step.window)
		node := begin + step.first
		want := randflake.Lease{FirstNode: node, LastNode: node + step.n - 1, Start: start, End: start.Add(time.Minute)}
		require.Equal(t, l, want, "%s", step.name)
	}
	now, data.clock = noon, nil
	for _, c := range []struct {
		first, last int64
		many        int
		err         error
	}{
		{present + 1, present, 0, ErrInvalid},
		{present, present + 33, 0, ErrInvalid},
		{present - 27, present + 5, 31, ErrFull}, // as two are
	} {
		leases, err := s.Take(t.Context(), c.first, c.last, 1)
		require.That(t, len(leases) == c.many && errors.Is(err, c.err), "%+v: %d leases, %v", c, len(leases), err)
	}
}

// A rival is faster in a number of swaps. The next one hangs.
type rival struct {
	conn
	wins int
}

func (r *rival) Swap(ctx context.Context, expect, put []Entry) (Answer, error) {
	if r.wins == 0 {
		<-ctx.Done()
		return Answer{}, ctx.Err()
	}
	r.wins--
	other, err := Open(ctx, r.conn, Config{Name: "s"})
	if err == nil {
		_, err = takeWindow(ctx, other, other.Limits().WindowOf(time.Now()), 1)
	}
	if err != nil {
		return Answer{}, err
	}
	return r.conn.Swap(ctx, expect, put)
}

// TestBusy: a take whose time is over after others were faster says so, as it is worth beginning
// again. One whose first swap hangs does not.
func TestBusy(t *testing.T) {
	for wins := range 4 {
		bubble(t, func(t *testing.T) {
			engine := &rival{conn: conn{memory: newMemory()}}
			create(t, engine.conn, Limits{}, nil)
			s := open(t, engine, nil)
			engine.wins = wins
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := takeWindow(ctx, s, s.Limits().WindowOf(time.Now()), 1)
			require.That(t, err != nil && errors.Is(err, errBusy) == (wins > 0),
				"after %d swaps of others: %v", wins, err)
		})
	}
}

// TestLimits has the limits at their bounds, and beyond.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		err    error
	}{
		{Limits{Nodes: 1}, nil},
		{Limits{Nodes: 1 << 17}, nil},
		{Limits{Nodes: 1<<17 + 1}, ErrInvalid},
		{Limits{FirstNode: 1<<17 - 1}, nil},
		{Limits{FirstNode: 1<<17 - 9, Nodes: 9}, nil},
		{Limits{FirstNode: 1<<17 - 9, Nodes: 10}, ErrInvalid},
		{Limits{FirstNode: 1 << 17}, ErrInvalid},
		{Limits{FirstNode: math.MaxUint32, Nodes: 2}, ErrInvalid},
		{Limits{Window: time.Second}, nil},
		{Limits{Window: 24 * time.Hour}, nil},
		{Limits{Window: time.Second - 1}, ErrInvalid},
		{Limits{Window: -time.Second}, ErrInvalid},
		{Limits{Window: 1500 * time.Millisecond}, ErrInvalid},
		{Limits{Window: 24*time.Hour + time.Second}, ErrInvalid},
		{Limits{Ahead: 1}, nil},
		{Limits{Ahead: 32}, nil},
		{Limits{Ahead: -1}, ErrInvalid},
		{Limits{Ahead: 33}, ErrInvalid},
		{Limits{MaxSkew: time.Second}, nil},
		{Limits{MaxSkew: 24 * time.Hour}, nil},
		{Limits{MaxSkew: -time.Second}, ErrInvalid},
		{Limits{MaxSkew: 1500 * time.Millisecond}, ErrInvalid},
		{Limits{MaxSkew: 24*time.Hour + time.Second}, ErrInvalid},
		{Limits{Nodes: 65, Reserve: 1}, nil},
		{Limits{Nodes: 64, Reserve: 1}, ErrInvalid},
	} {
		s, err := Create(t.Context(), conn{memory: newMemory()}, Config{Limits: c.limits, Clock: atNoon, NeverUsed: true})
		require.That(t, errors.Is(err, c.err) && (s == nil) == (err != nil), "%+v: %v, want %v", c.limits, err, c.err)
	}
}

// TestDefaultReserve: there is one in spaces of more than 65,536 nodes, and in parts of 2,048 or more, unless
// it is not wanted.
func TestDefaultReserve(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		part   bool
		no     bool
		want   uint32
		err    error
	}{
		{Limits{Nodes: 1 << 16}, false, false, 0, nil},
		{Limits{Nodes: 1<<16 + 1}, false, false, 1024, nil},
		{Limits{}, false, false, 1024, nil},
		{Limits{Reserve: 7}, false, false, 7, nil},
		{Limits{}, false, true, 0, nil},
		{Limits{Reserve: 7}, false, true, 0, ErrInvalid},
		{Limits{}, true, false, 1024, nil},
		{Limits{Nodes: 1 << 16}, true, false, 512, nil},
		{Limits{Nodes: 2048}, true, false, 16, nil},
		{Limits{Nodes: 2047}, true, false, 0, nil},
		{Limits{FirstNode: 1 << 16}, false, false, 512, nil},
		{Limits{FirstNode: 1 << 16, Reserve: 7}, false, false, 7, nil},
		{Limits{FirstNode: 1 << 16}, false, true, 0, nil},
	} {
		config := Config{Limits: c.limits, Part: c.part, NoReserve: c.no, Clock: atNoon, NeverUsed: true}
		data := newMemory()
		s, err := Create(t.Context(), conn{memory: data}, config)
		require.That(t, errors.Is(err, c.err) && (err != nil || s.Limits().Reserve == c.want), "%+v: %v, %v", c, s, err)
		if c.want > 0 {
			require.Refuses(t, ErrMismatch, "Open without a reserve")(Open(t.Context(), conn{memory: data}, Config{NoReserve: true}))
		}
		if c.limits.FirstNode > 0 {
			require.Refuses(t, ErrMismatch, "Open of a part from 0 on")(Open(t.Context(), conn{memory: data}, Config{Part: true}))
		}
	}
}

// TestOverlaps has the parts of two spaces, which overlap if they share a node.
func TestOverlaps(t *testing.T) {
	for _, c := range []struct {
		first, last uint32 // of the space beside one of 100 to 199
		want        bool
	}{
		{0, 99, false}, {0, 100, true}, {100, 199, true}, {150, 150, true}, {199, 300, true}, {200, 300, false}, {0, 300, true},
	} {
		a := Limits{FirstNode: c.first, Nodes: c.last - c.first + 1}
		b := Limits{FirstNode: 100, Nodes: 100}
		require.That(t, a.LastNode() == c.last && a.Overlaps(b) == c.want && b.Overlaps(a) == c.want,
			"%d to %d and 100 to 199: overlap %v, want %v", a.FirstNode, a.LastNode(), a.Overlaps(b), c.want)
	}
}

// unprepared is an engine that can't be prepared.
type unprepared struct{ conn }

func (unprepared) Prepare(context.Context) error { return errAway }

// TestCreate has what goes wrong when a space is made: then there is no handle.
func TestCreate(t *testing.T) {
	taken := newMemory()
	create(t, conn{memory: taken}, Limits{}, atNoon)
	raced, wrong, slow := newMemory(), newMemory(), newMemory()
	wrong.clock = func() time.Time { return noon.Add(time.Hour) }
	slow.clock = func() time.Time { return noon.Add(-time.Hour) }
	for what, c := range map[string]struct {
		engine Engine
		name   string
		err    error
	}{
		"a capital":                     {conn{memory: newMemory()}, "S", ErrInvalid},
		"a long name":                   {conn{memory: newMemory()}, strings.Repeat("s", 41), ErrInvalid},
		"there is one":                  {conn{memory: taken}, "s", ErrExists},
		"no connection to prepare":      {unprepared{conn{memory: newMemory()}}, "s", errAway},
		"no connection to read":         {failing(newMemory(), isRead), "s", errAway},
		"no connection to swap":         {failing(newMemory(), isSwap), "s", ErrOutcomeUnknown},
		"a server's clock that is off":  {conn{memory: wrong}, "s", ErrClock},
		"a server's clock that is late": {conn{memory: slow}, "s", ErrClock},
		"another process is faster":     {before(raced, isSwap, func() { create(t, conn{memory: raced}, Limits{}, atNoon) }), "s", ErrExists},
	} {
		s, err := Create(t.Context(), c.engine, Config{Name: c.name, Clock: atNoon, NeverUsed: true})
		require.That(t, s == nil && errors.Is(err, c.err), "%s: %v, %v, want %v", what, s, err, c.err)
	}
	s, err := Create(t.Context(), conn{memory: newMemory()}, Config{Name: strings.Repeat("s", 40), Clock: atNoon, NeverUsed: true})
	require.That(t, err == nil, "the longest name: %v, %v", s, err)
	born := len(taken.data)
	require.Done(t)(takeWindow(t.Context(), open(t, conn{memory: taken}, atNoon), 30000000, 1))
	require.Equal(t, len(taken.data), born, "entries after the first take")
}

// TestOutcome: an error says that the outcome is unknown only where something may have been changed, and
// otherwise that the store does not answer, unless it did.
func TestOutcome(t *testing.T) {
	unsent := fmt.Errorf("%w: connection refused", ErrStore)
	for _, tt := range []struct {
		what  string
		fails func(call) bool
		with  error
		want  error // ErrOutcomeUnknown, ErrStore, or another one alone
	}{
		{"a read", isRead, errAway, ErrStore},
		{"a read that was not sent", isRead, unsent, ErrStore},
		{"a read that waits", isRead, context.DeadlineExceeded, ErrStore},
		{"a caller who has left", isRead, context.Canceled, context.Canceled},
		{"no space", isRead, ErrNoSpace, ErrNoSpace},
		{"data that is damaged", isRead, ErrCorrupt, ErrCorrupt},
		{"a setting", isRead, ErrUnsafe, ErrUnsafe},
		{"an engine that is closed", isRead, fs.ErrClosed, fs.ErrClosed},
		{"a swap", isSwap, errAway, ErrOutcomeUnknown},
		{"a swap that waits", isSwap, context.DeadlineExceeded, ErrOutcomeUnknown},
		{"a swap that was not sent", isSwap, unsent, ErrStore},
	} {
		data, broken := newMemory(), false
		create(t, conn{memory: data}, Limits{}, atNoon)
		s := open(t, conn{data, func(_ context.Context, c call) (Answer, error) {
			if broken && tt.fails(c) {
				return Answer{}, tt.with
			}
			return data.do(c), nil
		}}, atNoon)
		broken = true
		_, err := takeWindow(t.Context(), s, s.Limits().WindowOf(noon), 1)
		require.That(t, errors.Is(err, tt.want) && errors.Is(err, tt.with), "%s: %v, want %v", tt.what, err, tt.want)
		for _, other := range []error{ErrOutcomeUnknown, ErrStore} {
			require.That(t, other == tt.want || !errors.Is(err, other), "%s: %v, want no %v", tt.what, err, other)
		}
	}
}

// TestOutcomeAfterLoss: a swap shows a loss, which can't be noted.
func TestOutcomeAfterLoss(t *testing.T) {
	data, swapped := newMemory(), false
	create(t, conn{memory: data}, Limits{}, atNoon)
	s := open(t, conn{data, func(_ context.Context, c call) (Answer, error) {
		if swapped {
			return Answer{}, errAway
		}
		if swapped = isSwap(c); swapped {
			data.lineage = "second"
		}
		return data.do(c), nil
	}}, atNoon)
	_, err := takeWindow(t.Context(), s, s.Limits().WindowOf(noon), 1)
	require.That(t, errors.Is(err, ErrOutcomeUnknown) && errors.Is(err, errAway), "%v, want ErrOutcomeUnknown", err)
}

// TestCreateInUse: no lease begins before all have ended that an earlier space can have granted.
func TestCreateInUse(t *testing.T) {
	now := noon
	s := createAs(t, conn{memory: newMemory()}, Config{Limits: Limits{Nodes: 1024}, Clock: at(&now)})
	for window := range int64(6) {
		require.Refuses(t, ErrLoss, "window %d", window)(takeWindow(t.Context(), s, s.Limits().WindowOf(noon)+window, 1))
	}
	info, err := s.Info(t.Context())
	require.That(t, err == nil && info.Floor.Equal(noon.Add(7*time.Minute)) && info.Why != "" && info.FloorsSet == 1,
		"%+v, %v: want nothing before a minute of skew, five windows and one more", info, err)
	now = info.Floor
	require.Done(t)(takeWindow(t.Context(), s, s.Limits().WindowOf(now), 1))
}

// TestSilentEngine: Open and Create wait ten seconds for an engine that doesn't answer.
func TestSilentEngine(t *testing.T) {
	silent := conn{newMemory(), func(ctx context.Context, _ call) (Answer, error) {
		<-ctx.Done()
		return Answer{}, ctx.Err()
	}}
	for name, do := range map[string]func(context.Context, Engine, Config) (*Space, error){"open": Open, "create": Create} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			require.Refuses(t, context.DeadlineExceeded, "%s", name)(do(t.Context(), silent, Config{Clock: atNoon}))
			require.Equal(t, time.Since(began), 10*time.Second, "%s: it waits", name)
		})
	}
}

// TestOpen has what Open refuses, and what a handle refuses when the entries are others by now, or since it
// has read them.
func TestOpen(t *testing.T) {
	data := newMemory()
	config := Config{Name: "s", Limits: Limits{Nodes: 1024}, CheckValue: [8]byte{1}, Clock: atNoon, NeverUsed: true}
	wantOpen := func(want error) {
		t.Helper()
		s, err := Open(t.Context(), conn{memory: data}, config)
		require.That(t, errors.Is(err, want) && (s == nil) == (err != nil), "Open: %v, %v, want %v", s, err, want)
	}
	wantOpen(ErrNoSpace)
	s := createAs(t, conn{memory: data}, config)
	wantOpen(nil)
	for _, other := range []Config{
		{Limits: Limits{FirstNode: 1}}, {Limits: Limits{Nodes: 1023}}, {Limits: Limits{Window: time.Second}},
		{Limits: Limits{Ahead: 6}}, {Limits: Limits{MaxSkew: time.Second}}, {Limits: Limits{Reserve: 1}},
	} {
		other.Name = "s"
		_, openErr := Open(t.Context(), conn{memory: data}, other)
		_, moveErr := Move(t.Context(), s, conn{memory: newMemory()}, other)
		require.That(t, errors.Is(openErr, ErrMismatch) && errors.Is(moveErr, ErrMismatch), "%+v: %v, %v", other, openErr, moveErr)
	}
	good := data.snapshot()
	present := s.Limits().WindowOf(noon)
	for _, change := range []struct {
		entry, old, new string
		open, use       error
	}{
		{"s/meta", `"window":60`, `"window":10`, nil, ErrNoSpace},            // made anew, with other limits
		{"s/meta", `"check":"01`, `"check":"02`, ErrWrongSecret, ErrNoSpace}, // and for another secret
		{"s/meta", `"nodes":1024`, `"first":1024,"nodes":1024`, nil, ErrNoSpace},
		{"s/meta", `"nodes":1024`, `"first":131071,"nodes":1024`, ErrCorrupt, ErrCorrupt},
		{"s/meta", `"window":60`, `"window":60.5`, ErrCorrupt, ErrCorrupt},
		{"s/meta", `"window":60`, `"window":18446744073769551616`, ErrCorrupt, ErrCorrupt},
		{"s/meta", `"format":1`, `"format":0`, ErrCorrupt, ErrCorrupt},
		{"s/meta", `"format":1`, `"format":4`, ErrCorrupt, ErrCorrupt},
		{"s/meta", `"nodes":1024`, `"nodes":0`, ErrCorrupt, ErrCorrupt},
		{"s/meta", `"nodes":1024`, `"nodes":1000000`, ErrCorrupt, ErrCorrupt},
		{"s/meta", `{`, ``, ErrCorrupt, ErrCorrupt},
		{"s/meta", `"floor":0`, `"floor":-60`, ErrCorrupt, ErrCorrupt},
		{"s/meta", `"floor":0`, `"floor":90`, ErrCorrupt, ErrCorrupt}, // where no window begins
		{"s/meta", `"floor":0`, `"floor":"9"`, ErrCorrupt, ErrCorrupt},
		{"s/meta", `"floor":0`, `"begin":-60,"floor":0`, ErrCorrupt, ErrCorrupt},
		{"s/meta", `"floor":0`, `"floor":0,"tick":-8`, ErrCorrupt, ErrCorrupt},
		{"s/meta", `"floor":0`, `"floor":0,"tick":9223372036854775807`, ErrCorrupt, ErrCorrupt},
		{"s/leases", "0 0 0 0", "1 0 0", nil, ErrCorrupt},
		{"s/leases", "0 0 0 0", "1", nil, ErrCorrupt},
		{"s/leases", "0 0 0 0", "1 0 0 x", nil, ErrCorrupt},
		{"s/leases", "0 0 0 0", "1 1 0 0", nil, ErrCorrupt},
		{"s/leases", "0 0 0 0", "1 0 0 0 0 0 0", nil, ErrCorrupt},
		{"s/leases", "0 0 0 0", "1 0 0 0 9 0 0 9 0 0", nil, ErrCorrupt},
		{"s/leases", "0 0 0 0", "1 0 -1 0", nil, ErrCorrupt},
		{"s/leases", "0 0 0 0", "1 0 4294967296 0", nil, ErrCorrupt},
		{"s/leases", "0 0 0 0", "9223372036854775807 0 0 0", nil, ErrCorrupt},
		{"s/leases", "0 0 0 0", "1 0 1025 0", nil, ErrFull},
		{"s/leases", "0 0 0 0", "1 0 4294967295 0", nil, ErrFull},
	} {
		data.restore(good)
		happens := func() {
			data.data[change.entry] = strings.Replace(data.data[change.entry], change.old, change.new, 1)
		}
		other := open(t, before(data, isSwap, happens), atNoon)
		require.Refuses(t, change.use, "take, %s meanwhile", change.new)(takeWindow(t.Context(), other, present, 1))
		wantOpen(change.open)
		require.Refuses(t, change.use, "take, %s", change.new)(takeWindow(t.Context(), s, present, 1))
		if change.use != ErrFull {
			require.ErrorIs(t, require.Err(s.Info(t.Context())), change.use, "info, %s", change.new)
		}
	}
}

func TestCheckSecret(t *testing.T) {
	for check, errs := range map[[8]byte][2]error{
		{}:  {nil, nil}, // a space for any IDs
		{1}: {nil, ErrWrongSecret},
	} {
		s := createAs(t, conn{memory: newMemory()}, Config{CheckValue: check, Clock: atNoon, NeverUsed: true})
		for i, want := range errs {
			require.ErrorIs(t, s.CheckSecret([8]byte{byte(i + 1)}), want, "space of %v, secret %d", check, i+1)
		}
	}
}

// TestInfo compares what people are told with what happened.
func TestInfo(t *testing.T) {
	now, data := noon, newMemory()
	data.clock = func() time.Time { return noon.Add(time.Second) }
	away := false
	engine := failing(data, func(call) bool { return away })
	part := Limits{FirstNode: 512, Nodes: 1024}
	s := createAs(t, engine, Config{Name: "s", CheckValue: [8]byte{1, 2}, Limits: part, Clock: at(&now), NeverUsed: true})
	limits := Limits{FirstNode: 512, Nodes: 1024, Window: time.Minute, Ahead: 5, MaxSkew: time.Minute}
	want := Info{Limits: limits, MainNodes: 1024, CheckValue: "0102000000000000", ServerTime: noon.Add(time.Second)}
	check := func(when string, wantErr error) {
		t.Helper()
		info, err := s.Info(t.Context())
		require.That(t, info == want && errors.Is(err, wantErr), "%s: %+v, %v, want %+v, %v", when, info, err, want, wantErr)
	}
	check("at first", nil)
	present := s.Limits().WindowOf(noon)
	require.Done(t)(takeWindow(t.Context(), s, present, 3))
	require.Done(t)(takeWindow(t.Context(), s, present+1, 9))
	want.TakenNodes = 3
	check("after a take", nil)
	now = noon.Add(time.Minute)
	want.TakenNodes = 9
	check("in the next window", nil)
	now = noon.Add(time.Hour)
	want.TakenNodes = 0
	check("with a clock that is wrong", ErrClock)
	now = noon
	require.NoError(t, s.ReportLoss(t.Context(), "by hand"))
	want.TakenNodes, want.FloorsSet, want.Why, want.Floor = 3, 1, "by hand", noon.Add(7*time.Minute).UTC()
	check("after a loss", nil)
	data.restore(state{data: map[string]string{}, lineage: "first"})
	want = Info{}
	check("without a space", ErrNoSpace)
	away = true
	check("without a connection", errAway)
}

// TestContended: while others change the entries all the time, a call tries again after pauses of at most
// eight seconds, until its context ends or the others leave.
func TestContended(t *testing.T) {
	take := func(ctx context.Context, s *Space) error {
		return require.Err(takeWindow(ctx, s, s.Limits().WindowOf(time.Now()), 1))
	}
	report := func(ctx context.Context, s *Space) error { return s.ReportLoss(ctx, "by hand") }
	retire := func(ctx context.Context, s *Space) error { return s.Retire(ctx) }
	for name, c := range map[string]struct {
		lineage string // by then
		do      func(ctx context.Context, s *Space) error
		err     error // once the others have left
	}{
		"a take":                   {"first", take, nil},
		"a take that notes a loss": {"second", take, ErrLoss},
		"a report of a loss":       {"first", report, nil},
		"a retirement":             {"first", retire, nil},
	} {
		t.Run(name+", for a minute", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				took, _, err := contend(t, time.Minute, c.lineage, c.do)
				require.That(t, errors.Is(err, c.err) && took <= time.Minute+8*time.Second,
					"%v after %v, want %v once the others have left", err, took, c.err)
			})
		})
		t.Run(name+", for ever", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				took, swaps, err := contend(t, time.Hour, c.lineage, c.do)
				require.That(t, errors.Is(err, context.DeadlineExceeded) && took == 10*time.Minute && swaps >= 75,
					"%v after %v and %d swaps, want the end of its context", err, took, swaps)
			})
		})
	}
}

// contend does something in ten minutes at most, while others change the entries before each swap.
func contend(
	t *testing.T, lasts time.Duration, lineage string, do func(context.Context, *Space) error,
) (took time.Duration, swaps int, err error) {
	const most = 400 // of ten minutes
	data := newMemory()
	create(t, conn{memory: data}, Limits{}, nil)
	began := time.Now()
	last := began
	s := open(t, conn{data, func(_ context.Context, c call) (Answer, error) {
		if !isSwap(c) || time.Since(began) >= lasts || swaps > most {
			return data.do(c), nil
		}
		swaps++
		pause := time.Since(last)
		require.That(t, pause <= 8*time.Second, "a pause of %v", pause)
		last = time.Now()
		return data.do(call{expect: c.expect}), nil
	}}, nil)
	data.lineage = lineage
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	err = do(ctx, s)
	require.That(t, swaps <= most, "%d swaps and more, want pauses between them", most)
	return time.Since(began), swaps, err
}
