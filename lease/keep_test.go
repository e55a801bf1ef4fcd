package lease

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/vmgen"
)

var secret = randflake.NewSecret()

func keepOn(t *testing.T, s Source, options ...Option) *Keeper[*randflake.Generator] {
	t.Helper()
	k, err := Keep(t.Context(), s, secret, append([]Option{quiet}, options...)...)
	require.NoError(t, err)
	return k
}

// TestCopiedMachine copies the machine at each kind of moment. The copy makes no ID with what the original
// took, notices that at once when it is asked for an ID, and else by the next window, and goes on with leases
// of its own.
func TestCopiedMachine(t *testing.T) {
	for _, c := range []struct {
		name string
		take int           // whose answer gets to the copy; 0 for none
		idle time.Duration // then
	}{
		{"during the first take", 1, 0},
		{"during the second take", 2, 0},
		{"during a later take", 3, 2 * time.Minute},
		{"while idle", 0, 2 * time.Minute},
		{"while IDs are made", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var machine atomic.Uint64
				defer vmgen.Pretend(&machine)()
				s := newSource(t, Limits{})
				s.user = "original"
				copyNow := func() {
					machine.Add(1)
					s.user = "copy"
				}
				takes := 0
				s.arrives = func(randflake.Lease) {
					takes++
					if takes == c.take {
						copyNow()
					}
				}
				var log bytes.Buffer
				k := keepOn(t, s, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				defer k.Close()
				g := k.Generator()
				if c.take == 0 {
					s.mu.Lock()
					copyNow()
					s.mu.Unlock()
				}
				if c.take == 0 && c.idle == 0 {
					require.Refuses(t, randflake.ErrLeaseEnded, "the first call in the copy")(g.Generate())
					time.Sleep(2 * time.Second)
				}
				time.Sleep(c.idle)
				for second := range 300 {
					id, err := g.Generate()
					require.Must(t, err == nil, "after %d s: %v", second, err)
					require.Equal(t, s.owner(g.Cipher().Inspect(id)), "copy", "after %d s: who took the lease of an ID", second)
					time.Sleep(time.Second)
				}
				status := k.Status()
				require.That(t, status.Copies == 1 && status.DetectsCopies && status.Healthy, "%+v", status)
				require.Equal(t, strings.Count(log.String(), "level=WARN"), 1, "warnings in the log:\n%s", &log)
			})
		})
	}
}

// TestKeeperListens for copies of the machine from before the first take until it is closed.
func TestKeeperListens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSource(t, Limits{})
		s.arrives = func(randflake.Lease) {
			require.Equal(t, vmgen.Listeners(), 1, "who listens when a lease arrives")
		}
		k := keepOn(t, s)
		k.Close()
		require.That(t, vmgen.Listeners() == 0, "a keeper that is closed listens")
		s.set(true)
		k, err := Keep(t.Context(), s, secret, quiet)
		require.That(t, k == nil && errors.Is(err, errAway) && vmgen.Listeners() == 0,
			"%v, %v, and %d listen", k, err, vmgen.Listeners())
	})
}

// TestCounts: each thing that happens is counted once, in the status and in the metric, which the page has.
func TestCounts(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	bubble(t, func(t *testing.T) {
		var machine atomic.Uint64
		defer vmgen.Pretend(&machine)()
		s := newSource(t, Limits{FirstNode: 1 << 16})
		k := keepOn(t, s, WithOutage(0))
		g := k.Generator()
		want := map[string]float64{
			"space_first_node": 1 << 16, "space_last_node": 1<<17 - 1,
			"leases_taken_total": 2, "lease_window_seconds": 60, "lease_nodes": 1, "lease_healthy": 1,
			"machine_copies_detectable": 1, "lease_end_timestamp_seconds": 1800000120,
		}
		check := func(what string) {
			t.Helper()
			synctest.Wait()
			all := k.Metrics() // made of the status
			require.Equal(t, len(all), 15, "%s: metrics", what)
			for _, m := range all {
				name := strings.TrimPrefix(m.Name, "randflake_")
				require.That(t, m.Value == want[name] && m.Counter == strings.HasSuffix(name, "_total") && m.Help != "",
					"%s: %+v, want %v", what, m, want[name])
				require.That(t, strings.Contains(string(page), "`"+m.Name+"`"), "docs/operations.md lacks %s", m.Name)
			}
		}
		check("Keep")

		ids := make([]randflake.ID, randflake.MaxSequence+1)
		require.Gives(t, len(ids), "Fill")(g.Fill(ids))
		for range 3 {
			require.Refuses(t, randflake.ErrExhausted, "Generate")(g.Generate())
		}
		want["ids_made_total"], want["id_exhaustions_total"], want["id_refusals_total"] = float64(len(ids)), 3, 3
		want["lease_healthy"] = 0 // for the rest of the second
		check("exhausted")

		const many = 100 // which count at once
		require.Done(t)(g.FillWait(t.Context(), ids[:many]))
		want["ids_made_total"] += many
		want["id_waits_total"]++
		want["lease_healthy"] = 1
		check("a call that waited, and was served")

		g.Fill(ids)
		want["ids_made_total"] += float64(len(ids) - many)
		want["id_exhaustions_total"]++
		want["id_refusals_total"]++
		canceled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		require.Refuses(t, context.Canceled, "Wait")(g.Wait(canceled))
		want["id_waits_total"]++
		want["lease_healthy"] = 0
		check("a call that waited, and was canceled")
		want["lease_healthy"] = 1

		time.Sleep(3 * time.Second)
		machine.Add(1)
		g.Generate()
		time.Sleep(time.Second)
		want["ids_made_total"]++ // by the call that was refused then
		want["id_refusals_total"]++
		want["machine_copies_total"]++
		want["leases_taken_total"] += 2
		check("a copy of the machine")

		s.set(true)
		time.Sleep(time.Until(time.Unix(1800000120, 0)))
		synctest.Wait()
		want["lease_failures_total"] = float64(k.Status().Failures)
		require.That(t, want["lease_failures_total"] != 0, "no failures are counted while the store is away")
		want["lease_healthy"] = 0
		check("the leases have ended")
		require.NoError(t, s.ReportLoss(t.Context(), "a backup is back"))
		want["space_floors_set"]++
		check("a loss of data")
		g.Generate()
		time.Sleep(time.Millisecond)
		want["id_refusals_total"]++
		status := k.Status()
		require.That(t, status.Refusals == uint64(want["id_refusals_total"]) && status.Exhaustions == 4, "%+v", status)
		k.Close()
	})
}

// TestOutage: in its first window a process takes the next one. From then on it has leases for the outage
// that is wanted, as far as the space allows, and takes no more than it needs for that.
func TestOutage(t *testing.T) {
	for _, c := range []struct {
		limits  Limits
		options []Option
		least   time.Duration // that leases last at any time
		windows int64         // the most beyond the present one
	}{
		{Limits{Nodes: 1024}, nil, 3 * time.Minute, 5},
		{Limits{Nodes: 1024}, []Option{WithOutage(0)}, 0, 2},
		{Limits{Nodes: 1024}, []Option{WithOutage(-time.Hour)}, 0, 2},
		{Limits{Nodes: 1024}, []Option{WithOutage(time.Second)}, time.Second, 3},
		{Limits{Nodes: 1024}, []Option{WithOutage(time.Minute)}, time.Minute, 3},
		{Limits{Nodes: 1024}, []Option{WithOutage(61 * time.Second)}, 61 * time.Second, 4},
		{Limits{Nodes: 1024}, []Option{WithOutage(4 * time.Minute)}, 4 * time.Minute, 5},
		{Limits{Nodes: 1024}, []Option{WithOutage(math.MaxInt64)}, 4 * time.Minute, 5}, // as the space has five
		{Limits{Nodes: 1024, Ahead: 1}, nil, 15 * time.Second, 1},                      // to try again
		{Limits{}, nil, 3 * time.Minute, 5},
		{Limits{Window: 10 * time.Second, Ahead: 20}, nil, 3 * time.Minute, 20},
		{Limits{}, []Option{WithOutage(0)}, 128 * time.Second, 5}, // until the reserve opens, and a window
	} {
		bubble(t, func(t *testing.T) {
			s := newSource(t, c.limits)
			k := keepOn(t, s, c.options...)
			defer k.Close()
			window := s.Limits().Window
			for range window / time.Second {
				require.Equal(t, k.Status().Taken, 2, "%+v: leases in the first window", c)
				time.Sleep(time.Second)
			}
			time.Sleep(window / 2)
			deepest := int64(0)
			for range 30 * 60 { // as the keeper takes leases at random moments
				end, now := k.Status().End, time.Now()
				require.Must(t, end.Sub(now) >= c.least && k.Status().Healthy,
					"%+v: leases for %v: %+v", c, end.Sub(now), k.Status())
				deepest = max(deepest, s.Limits().WindowOf(end)-1-s.Limits().WindowOf(now))
				time.Sleep(time.Second)
			}
			require.Equal(t, deepest, c.windows, "%+v: windows beyond the present one", c)
		})
	}
}

// TestKeeperOutlives: the store is away from the middle of a window until seven seconds after the last lease
// has ended. It fails, or does not answer at all. The keeper is healthy as long as leases are left for more
// than a window, IDs last until these end, and go on within five seconds when the store is back. The log and
// the status say since when there were none.
func TestKeeperOutlives(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			s := newSource(t, Limits{})
			s.hangs = hangs
			var log bytes.Buffer
			k := keepOn(t, s, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			works := func() bool {
				_, err := k.Generator().Generate()
				return err == nil
			}
			time.Sleep(10*time.Minute + 31*time.Second)
			s.set(true)
			left := time.Now()
			end := k.Status().End
			require.That(t, end.Sub(left) >= 3*time.Minute, "leases for %v, want 3 minutes", end.Sub(left))
			for ; time.Now().Before(end); time.Sleep(time.Second) {
				synctest.Wait()
				status := k.Status()
				healthy := time.Until(end) > time.Minute || status.Err == nil
				if !works() || status.Healthy != healthy || !status.End.Equal(end) || !status.Stopped.IsZero() {
					t.Fatalf("%v before the end: %+v", time.Until(end), status)
				}
			}
			time.Sleep(7 * time.Second)
			status := k.Status()
			isStopped := !works() && !status.Healthy && status.Err != nil && status.End.Equal(end) && status.Stopped.Equal(end)
			require.That(t, isStopped, "%v after the end: %+v", time.Since(end), status)
			asked := time.Now()
			require.Refuses(t, randflake.ErrLeaseEnded, "Wait")(k.Generator().Wait(t.Context()))
			require.Equal(t, time.Since(asked), 0, "Wait takes")

			s.set(false)
			for back := time.Now(); !works(); time.Sleep(100 * time.Millisecond) {
				require.Must(t, time.Since(back) <= 5*time.Second, "no IDs 5 s after the store is back")
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			status = k.Status()
			isWell := status.Healthy && status.Stopped.IsZero() && status.Err == nil && !status.End.Before(time.Now()) && !status.Closed
			require.That(t, isWell, "the store is back: %+v", status)
			text := log.String()
			since := "since=" + end.UTC().Format("2006-01-02T15:04:05")
			for _, once := range []string{"level=WARN", "level=ERROR", "IDs go on", since} {
				require.Equal(t, strings.Count(text, once), 1, "%s in the log:\n%s", once, text)
			}

			for range 2 {
				require.NoError(t, k.Close())
			}
			require.Refuses(t, randflake.ErrClosed, "closed")(k.Generator().Generate())
			status = k.Status()
			require.That(t, !status.Healthy && status.Closed, "closed: %+v", status)
		})
	}
}

// TestStoppedSince: where the end of the leases was noticed late, as the process was paused, IDs stopped at
// the end.
func TestStoppedSince(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var clock shifted
		s := newSource(t, Limits{})
		k := keepOn(t, s, WithClock(clock.now))
		defer k.Close()
		time.Sleep(5 * time.Minute)
		s.set(true)
		end := k.Status().End
		clock.Store(int64(time.Hour))
		k.Generator().Generate()
		time.Sleep(2 * time.Second)
		status := k.Status()
		require.That(t, status.Stopped.Equal(end) && status.End.Equal(end), "%+v, want the end %v", status, end)
	})
}

// TestAheadRefused: a source that grants fewer windows ahead than its limits say is no failure of the keeper.
// If it grants none ahead, that is one, and the keeper takes each window when it begins.
func TestAheadRefused(t *testing.T) {
	for ahead := range int64(2) {
		bubble(t, func(t *testing.T) {
			s := newSource(t, Limits{})
			s.refuse = func(window int64) error {
				if window > s.Limits().WindowOf(time.Now())+ahead {
					return &WaitError{ErrAhead, time.Now().Add(time.Hour), "not yet"}
				}
				return nil
			}
			k := keepOn(t, s)
			defer k.Close()
			missed := 0
			for range 600 {
				time.Sleep(time.Second)
				if status := k.Status(); (status.Err == nil && status.Healthy) != (ahead > 0) {
					t.Fatalf("%d ahead: %+v", ahead, status)
				}
				if _, err := k.Generator().Generate(); err != nil {
					missed++
				}
			}
			require.That(t, missed <= 20, "%d ahead: no ID in %d seconds of ten windows", ahead, missed)
		})
	}
}

// TestLossByAnotherClock: the clock of the source is behind that of the keeper, so that the time until which
// it is to wait is over. It pauses between two tries all the same.
func TestLossByAnotherClock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSource(t, Limits{})
		k := keepOn(t, s)
		defer k.Close()
		time.Sleep(5 * time.Minute)
		calls := 0
		lost := time.Now()
		s.mu.Lock()
		s.refuse = func(int64) error {
			calls++
			if time.Since(lost) > 10*time.Minute {
				return nil
			}
			if calls > 100000 {
				return errAway // or it asks for ever, and no time passes
			}
			return &WaitError{ErrLoss, time.Now().Add(-30 * time.Second), "not yet"}
		}
		s.mu.Unlock()
		time.Sleep(11 * time.Minute)
		status := k.Status()
		require.That(t, status.Failures >= 100 && status.Failures <= 5000 && status.Healthy, "%+v", status)
	})
}

// TestAheadAfterRefusal: a window was refused, and when it is asked for again, it is too far ahead by the clock
// of the source, which is behind. It is not asked for at once after that.
func TestAheadAfterRefusal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		behind := func() time.Time { return time.Now().Add(-25 * time.Second) }
		limits := Limits{Window: 10 * time.Second} // and a MaxSkew of a minute
		s := &source{Space: create(t, conn{memory: newMemory()}, limits, behind), taken: map[randflake.Lease]string{}}
		full := s.Limits().WindowOf(time.Now()) + 2
		asked := 0
		s.refuse = func(window int64) error {
			asked++
			if asked > 10000 {
				return errAway // or it asks for ever, and no time passes
			}
			if window == full {
				return &WaitError{ErrFull, s.Limits().start(window + 1), "full"}
			}
			return nil
		}
		k := keepOn(t, s)
		defer k.Close()
		time.Sleep(2 * time.Minute)
		status := k.Status()
		require.That(t, asked <= 100 && status.Healthy, "asked for %d windows in 12 of them: %+v", asked, status)
	})
}

// TestKeepOptions has options that are refused, and those that others replace.
func TestKeepOptions(t *testing.T) {
	for name, c := range map[string]struct {
		check  [8]byte // of the space
		secret randflake.Secret
		option Option
		err    error
	}{
		"no secret":           {[8]byte{}, randflake.Secret{}, quiet, randflake.ErrInvalidSecret},
		"another secret":      {[8]byte{1}, secret, quiet, ErrWrongSecret},
		"no nodes":            {[8]byte{}, secret, WithNodes(0), ErrInvalid},
		"too many nodes":      {[8]byte{}, secret, WithNodes(1<<17 + 1), ErrInvalid},
		"no logger":           {[8]byte{}, secret, WithLogger(nil), ErrInvalid},
		"no clock":            {[8]byte{}, secret, WithClock(nil), ErrInvalid},
		"a zero option":       {[8]byte{}, secret, Option{}, ErrInvalid},
		"the generator's":     {[8]byte{}, secret, Generating(randflake.WithClock(nil)), randflake.ErrInvalidOption},
		"all main nodes":      {[8]byte{}, secret, WithNodes(1 << 16), nil},
		"two for a generator": {[8]byte{}, secret, Generating(randflake.Strict(), randflake.Strict()), nil},
		"the space's secret":  {secret.CheckValue(), secret, quiet, nil},
	} {
		space := createAs(t, conn{memory: newMemory()}, Config{CheckValue: c.check, NeverUsed: true})
		k, err := Keep(t.Context(), space, c.secret, quiet, c.option)
		require.That(t, errors.Is(err, c.err) && (k == nil) == (err != nil), "%s: %v, %v, want %v", name, k, err, c.err)
		if k != nil {
			k.Close()
		}
		if c.err == ErrInvalid { // which needs no store
			data, away := newMemory(), false
			create(t, conn{memory: data}, Limits{Nodes: 1 << 17}, nil)
			space := open(t, failing(data, func(call) bool { return away }), nil)
			away = true
			require.Refuses(t, c.err, "%s, for another kind", name)(new(queue).keep(t, space, c.option))
		}
	}
}

// TestKeepClock: keeper and generator have the same clock, and the generator its own options. A source need not
// know a secret.
func TestKeepClock(t *testing.T) {
	space := create(t, conn{memory: newMemory()}, Limits{}, atNoon)
	service := struct{ Source }{space} // without CheckSecret
	k := keepOn(t, service, WithClock(atNoon), WithNodes(3), Generating(randflake.Strict()))
	defer k.Close()
	for i := range uint32(100) {
		id, err := k.Generator().Generate()
		f := k.Generator().Cipher().Inspect(id)
		require.Must(t, err == nil && f.Time.Equal(noon) && f.Node == 0 && f.Sequence == i,
			"%+v, %v: want noon, and one after the other", f, err)
	}
	l := k.Status().Lease
	require.That(t, l.LastNode == 2 && l.Start.Equal(noon), "%+v: want three nodes at noon", l)
}

// TestKeepLogs: without options the log is the program's, and names the program. Its level says whether it has
// each lease, or the first one alone.
func TestKeepLogs(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	program := "/" + filepath.Base(os.Args[0])
	bubble(t, func(t *testing.T) {
		for _, tt := range []struct {
			label   string
			options []Option
			level   slog.Level
			lines   int
		}{
			{program, nil, slog.LevelInfo, 1},
			{program, nil, slog.LevelDebug, 2},
			{"web-1", []Option{WithLabel("web-1")}, slog.LevelInfo, 1},
		} {
			var log bytes.Buffer
			slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: tt.level})))
			k, err := Keep(t.Context(), newSource(t, Limits{}), secret, tt.options...)
			require.NoError(t, err)
			k.Close()
			form := regexp.MustCompile(` msg="randflake: leased" first_node=0 last_node=0 start=2027-01-15T08:0\S+ end=2027-01-15T08:0\S+ label=\S*` +
				regexp.QuoteMeta(tt.label) + "$")
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			for _, line := range lines {
				require.That(t, form.MatchString(line), "%s", line)
			}
			require.Equal(t, len(lines), tt.lines, "%v: lines", tt.level)
		}
	})
}

// TestKeepStarts has what Keep does without a lease of the present window.
func TestKeepStarts(t *testing.T) {
	early := randflake.ErrLeaseNotStarted
	for name, c := range map[string]struct {
		present, later error         // why these windows are not granted
		keep           error         // of Keep
		first          error         // of the first call
		begins         time.Duration // when IDs begin
	}{
		"all is free":         {nil, nil, nil, nil, 0},
		"this window is full": {ErrFull, nil, nil, early, 50 * time.Second},
		"before the floor":    {ErrLoss, nil, nil, early, 50 * time.Second},
		"both are full":       {ErrFull, ErrFull, ErrFull, nil, 0},
		"all is lost":         {ErrLoss, ErrLoss, ErrLoss, nil, 0},
		"the clock is wrong":  {ErrClock, ErrClock, ErrClock, nil, 0},
		"it has ended":        {context.Canceled, context.Canceled, context.Canceled, nil, 0},
		"nothing ahead":       {nil, ErrAhead, nil, nil, 0},
	} {
		bubble(t, func(t *testing.T) {
			time.Sleep(10 * time.Second)
			s := newSource(t, Limits{})
			present := s.Limits().WindowOf(time.Now())
			s.refuse = func(window int64) error {
				why := c.present
				if window > present {
					why = c.later
				}
				if why == nil {
					return nil
				}
				return &WaitError{why, time.Now(), name}
			}
			k, err := Keep(t.Context(), s, secret, quiet)
			require.That(t, errors.Is(err, c.keep) && (k == nil) == (err != nil),
				"%s: %v, %v, want %v", name, k, err, c.keep)
			if k == nil {
				return
			}
			defer k.Close()
			_, err = k.Generator().Generate()
			require.ErrorIs(t, err, c.first, "%s: the first ID", name)
			time.Sleep(c.begins)
			require.ErrorIs(t, require.Err(k.Generator().Generate()), nil, "%s: after %v", name, c.begins)
		})
	}
	wrong := errors.New("no generator")
	begin := func(randflake.Lease) (*queue, error) { return nil, wrong }
	k, err := KeepFor(t.Context(), create(t, conn{memory: newMemory()}, Limits{}, nil), begin, quiet)
	require.That(t, k == nil && errors.Is(err, wrong), "%v, %v, want the error of begin", k, err)
}

// TestKeepWaits has for how long Keep waits. The log says until when.
func TestKeepWaits(t *testing.T) {
	const full = 30 * time.Second // then nodes are free
	for name, c := range map[string]struct {
		waits       time.Duration
		ends        time.Duration // when the context does
		hangs       bool          // the store does not answer
		behind      time.Duration // by which the source's clock is
		least, most time.Duration // that Keep takes
		err         error
	}{
		"as long as it may":       {full, time.Hour, false, 0, full, full + time.Second, nil},
		"not if it may wait less": {full - 1, time.Hour, false, 0, 0, 0, ErrFull},
		"until its context ends":  {time.Hour, time.Second, false, 0, time.Second, time.Second, ErrFull},
		"for a store that hangs":  {time.Hour, time.Hour, true, 0, longestTake, longestTake, context.DeadlineExceeded},
		"by a clock that is late": {10 * time.Second, time.Hour, false, full, 10 * time.Second, 11 * time.Second, ErrFull},
	} {
		bubble(t, func(t *testing.T) {
			s := newSource(t, Limits{})
			s.away, s.hangs = c.hangs, c.hangs
			began := time.Now()
			until := began.Add(full - c.behind).UTC()
			s.refuse = func(int64) error {
				if time.Since(began) < full {
					return &WaitError{ErrFull, until, "others have all"}
				}
				return nil
			}
			ctx, cancel := context.WithTimeout(t.Context(), c.ends)
			defer cancel()
			var log bytes.Buffer
			k, err := Keep(ctx, s, secret, WithWait(c.waits), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			took := time.Since(began)
			require.That(t, errors.Is(err, c.err) && (k == nil) == (err != nil) && took >= c.least && took <= c.most,
				"%s: %v, %v after %v, want %v after %v", name, k, err, took, c.err, c.least)
			if told := strings.Contains(log.String(), until.Format("until=2006-01-02T15:04:05")); told != (took > 0 && !c.hangs) {
				t.Errorf("%s: log:\n%s", name, &log)
			}
			if k != nil {
				k.Close()
			}
		})
	}
}

// TestClockSet: after the clock was set IDs go on within two seconds, with a lease of the new time. If all
// nodes are taken they go on when the clock has caught up.
func TestClockSet(t *testing.T) {
	for _, c := range []struct {
		by    time.Duration
		nodes int
		wait  time.Duration
	}{
		{time.Hour, 1, 2 * time.Second},
		{-time.Hour, 1, 2 * time.Second},
		{-20 * time.Second, 1, 2 * time.Second},
		{-20 * time.Second, 1 << 16, 20 * time.Second},
	} {
		bubble(t, func(t *testing.T) {
			var clock shifted
			s := create(t, conn{memory: newMemory()}, Limits{}, clock.now)
			k := keepOn(t, s, WithClock(clock.now), WithNodes(c.nodes))
			defer k.Close()
			time.Sleep(10*time.Minute + 30*time.Second)
			require.Done(t)(k.Generator().Generate())
			clock.Store(int64(c.by))
			k.Generator().Generate()
			time.Sleep(c.wait)
			id, err := k.Generator().Generate()
			if f := k.Generator().Cipher().Inspect(id); err != nil || f.Time.Sub(clock.now()).Abs() > time.Second {
				t.Errorf("%+v: %v, an ID of %v at %v", c, err, f.Time, clock.now())
			}
		})
	}
}

// TestWrongClock: while the clocks of process and server differ by more than MaxSkew, IDs are made until the
// leases end by the process's clock, and the status says why no others are taken. IDs go on within two seconds
// when the clock is right again.
func TestWrongClock(t *testing.T) {
	for _, c := range []struct {
		process, server time.Duration // by how much the clock is wrong
		least, most     time.Duration // for how long IDs are made
		err             error         // then
	}{
		{50 * time.Second, 0, 20 * time.Minute, 20 * time.Minute, nil}, // within MaxSkew
		{150 * time.Second, 0, 30 * time.Second, 210 * time.Second, randflake.ErrLeaseEnded},
		{time.Hour, 0, 0, 0, randflake.ErrLeaseEnded}, // beyond all leases
		{-time.Hour, 0, 0, 0, randflake.ErrClockBackward},
		{0, 2 * time.Minute, 3 * time.Minute, 6 * time.Minute, randflake.ErrLeaseEnded},
		{0, -2 * time.Minute, 3 * time.Minute, 6 * time.Minute, randflake.ErrLeaseEnded},
	} {
		bubble(t, func(t *testing.T) {
			var process, server shifted
			data := newMemory()
			data.clock = server.now
			s := create(t, conn{memory: data}, Limits{}, process.now)
			k := keepOn(t, s, WithClock(process.now))
			defer k.Close()
			time.Sleep(10 * time.Minute)
			require.Done(t)(k.Generator().Generate())

			process.Store(int64(c.process))
			server.Store(int64(c.server))
			wrong := time.Now()
			_, err := k.Generator().Generate()
			for err == nil && time.Since(wrong) < 20*time.Minute {
				time.Sleep(time.Second)
				_, err = k.Generator().Generate()
			}
			lasted := time.Since(wrong)
			time.Sleep(2 * time.Second)
			status := k.Status()
			inTime := lasted >= c.least && lasted <= c.most
			says := errors.Is(status.Err, ErrClock) == (c.err != nil)
			require.That(t, inTime && says && errors.Is(err, c.err), "%+v: %v after %v, %+v", c, err, lasted, status)

			process.Store(0)
			server.Store(0)
			k.Generator().Generate() // may be refused, and then has the keeper take a lease
			time.Sleep(2 * time.Second)
			require.ErrorIs(t, require.Err(k.Generator().Generate()), nil, "%+v: the clock is right again", c)
		})
	}
}

// TestClockSetTwice: the clock is set forward into the next window, back, and forward again, while no window
// beyond is leased. Each time the generator has given up the lease of that window, whether it has used that of
// the next one or only looked at it, and gets another one.
func TestClockSetTwice(t *testing.T) {
	for _, uses := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			var clock shifted
			s := newSource(t, Limits{})
			next := s.Limits().WindowOf(time.Now()) + 1
			s.refuse = func(window int64) error {
				if window > next {
					return &WaitError{ErrAhead, time.Now().Add(time.Minute), "the next one only"}
				}
				return nil
			}
			k := keepOn(t, s, WithClock(clock.now))
			defer k.Close()
			for _, by := range []time.Duration{0, time.Minute, 0, time.Minute} {
				clock.Store(int64(by))
				if by > 0 && !uses {
					k.Status()
					continue
				}
				k.Generator().Generate()
				time.Sleep(2 * time.Second)
				require.ErrorIs(t, require.Err(k.Generator().Generate()), nil, "the clock is set to %v", clock.now())
			}
		})
	}
}

// TestUnfitLease: what a generator can't use is taken once, and the status says why.
func TestUnfitLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newSource(t, Limits{})
		q, unfit := new(queue), errors.New("unfit")
		k, err := q.keep(t, s.Space)
		require.NoError(t, err)
		defer k.Close()
		q.mu.Lock()
		q.unfit = unfit
		q.mu.Unlock()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		info, err := s.Info(t.Context())
		if status := k.Status(); err != nil || info.TakenNodes != 1 || !errors.Is(status.Err, unfit) || status.Taken != 2 {
			t.Errorf("%+v, %+v, %v", status, info, err)
		}
		k.Close()
		k.Close()
		require.That(t, !k.Status().Healthy && q.closes == 1,
			"a keeper that is closed is healthy, or has closed its generator %d times", q.closes)
	})
}

// An absence is a store that is away for a while, and the tries of a keeper meanwhile.
type absence struct {
	*testing.T
	*memory
	away   atomic.Bool
	hangs  bool // a try ends with its context
	keeper *Keeper[*queue]
	last   time.Time       // when the last try ended
	pauses []time.Duration // that began while leases were left for 30 s or more
	urgent int             // how many pauses began later
}

func (a *absence) call(ctx context.Context, c call) (Answer, error) {
	if !a.away.Load() {
		return a.do(c), nil
	}
	left := time.Until(a.keeper.Status().End)
	if !a.last.IsZero() {
		a.notePause(time.Since(a.last), left)
	}
	if a.hangs {
		began := time.Now()
		<-ctx.Done()
		want := 25 * time.Second
		if left < 30*time.Second {
			want = 3 * time.Second
		}
		took := time.Since(began)
		require.That(a, took == want || !a.away.Load(), "a try of %v, %v before the end, want %v", took, left, want)
	}
	a.last = time.Now()
	return Answer{}, errAway
}

// notePause notes a pause. left is for how long there are leases when it ends.
func (a *absence) notePause(pause, left time.Duration) {
	if left+pause >= 30*time.Second {
		a.pauses = append(a.pauses, pause)
		return
	}
	a.urgent++
	require.That(a, pause <= 2*time.Second, "a pause of %v, %v before the end", pause, left)
}

// TestRetries: while the store is away tries become rarer, up to one in 30 s, and more frequent when IDs are
// about to end. A try lasts 25 s at most, so that a pause of 2 s and a try of 3 s fit after it, and 3 s then.
func TestRetries(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			a := &absence{T: t, memory: newMemory(), hangs: hangs}
			create(t, conn{memory: a.memory}, Limits{}, nil)
			k, err := new(queue).keep(t, open(t, conn{a.memory, a.call}, nil))
			require.NoError(t, err)
			defer k.Close()
			a.keeper = k
			time.Sleep(5 * time.Minute)
			a.away.Store(true)
			time.Sleep(8 * time.Minute)
			a.away.Store(false)
			synctest.Wait()
			for i, pause := range a.pauses {
				most := min(time.Second<<i, 30*time.Second)
				require.That(t, pause >= most/2 && pause <= most,
					"pause %d: %v, want %v at most, and half of it at least", i, pause, most)
			}
			require.That(t, len(a.pauses) >= 3 && a.urgent >= 20, "%d pauses, %d urgent tries", len(a.pauses), a.urgent)
		})
	}
}
