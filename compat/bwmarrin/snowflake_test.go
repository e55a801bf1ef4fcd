package snowflake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/compat/bwmarrin"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	origin "github.com/randflake/randflake/snowflake"
)

// setFormat changes the format until the test ends.
func setFormat(t *testing.T, epoch time.Time, nodeBits, stepBits uint8) {
	t.Helper()
	set := func(epoch int64, nodeBits, stepBits uint8) {
		snowflake.Epoch = epoch
		snowflake.NodeBits = nodeBits
		snowflake.StepBits = stepBits
	}
	wasEpoch := snowflake.Epoch
	wasNodeBits := snowflake.NodeBits
	wasStepBits := snowflake.StepBits
	t.Cleanup(func() { set(wasEpoch, wasNodeBits, wasStepBits) })
	set(epoch.UnixMilli(), nodeBits, stepBits)
}

var epochs atomic.Int64

// newEpoch returns an epoch a few milliseconds after begin, which no other test has, nor this one
// when it runs again: the numbers of a format stay the process's own.
func newEpoch(begin time.Time) time.Time {
	return begin.Add(time.Duration(epochs.Add(1)) * time.Millisecond)
}

// fill is a way to IDs of generate.
func fill(generate func() snowflake.ID) func([]snowflake.ID) (int, error) {
	return idtest.One(func() (snowflake.ID, error) { return generate(), nil })
}

// A Node for each ID, as where each request makes one, or one for many.
func TestNodesOfANumberShareAGenerator(t *testing.T) {
	l := &idtest.Ledger[snowflake.ID]{TB: t}
	mine, err := snowflake.NewNode(1)
	require.NoError(t, err)
	one := func() snowflake.ID {
		node, err := snowflake.NewNode(1)
		if err != nil {
			t.Error(err)
		}
		return node.Generate()
	}
	l.AtOnce(2000, func(error) bool { return true }, fill(one), fill(mine.Generate))
	require.That(t, l.Count() >= 40_000, "%d IDs, want 40,000 or more", l.Count())
}

func TestFormats(t *testing.T) {
	for _, tt := range []struct {
		epoch              time.Time
		nodeBits, stepBits uint8
		node               int64
		says               string // in the error; or ""
	}{
		{time.UnixMilli(snowflake.Epoch), 10, 12, 1023, ""},
		{time.UnixMilli(snowflake.Epoch), 10, 12, 1024, "want 0 to 1023"},
		{time.UnixMilli(snowflake.Epoch), 10, 12, -1, "want 0 to 1023"},
		{time.UnixMilli(0), 1, 21, 1, ""},
		{time.Date(2025, 6, 1, 12, 0, 0, 123e6, time.UTC), 8, 8, 255, ""},
		{time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC), 0, 22, 0, ""},
		{time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC), 0, 22, 1, "want 0 to 0"},
		{time.UnixMilli(0), 10, 0, 1, "StepBits 0: snowflake: invalid layout: part sequence"},
		{time.UnixMilli(-1), 10, 12, 1, "Epoch -1, "},
		{time.UnixMilli(0), 10, 13, 1, "ended at 2004-11-03T19:53:47.776Z"},
		{time.Now().Add(time.Hour), 10, 12, 1, "future"},
		{time.Now(), 33, 12, math.MaxUint32 + 1, "want 0 to 4294967295"},
		{time.UnixMilli(0), 40, 23, 1, "NodeBits 40, StepBits 23: "},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			setFormat(t, tt.epoch, tt.nodeBits, tt.stepBits)
			node, err := snowflake.NewNode(tt.node)
			if tt.says != "" {
				require.Must(t, err != nil && strings.Contains(err.Error(), tt.says),
					"%v, want an error that says %q", err, tt.says)
				return
			}
			require.NoError(t, err)
			begin := time.Now().Add(-25 * time.Millisecond) // what was waited for may be a bit late
			first := node.Generate()
			second := node.Generate()
			made := time.UnixMilli(first.Time())
			if first >= second || first.Node() != tt.node || first.Step() >= 1<<tt.stepBits || made.Before(begin) || made.After(time.Now()) {
				t.Errorf("%d then %d: node %d, step %d, %v", first, second, first.Node(), first.Step(), made)
			}
			back := first.Time() - snowflake.Epoch
			id := back<<(tt.nodeBits+tt.stepBits) | first.Node()<<tt.stepBits | first.Step()
			require.That(t, id == first.Int64(), "%d, but its fields are those of %d", first, id)
		})
	}
}

// Twitter's ID that Wikipedia has, and five later.
func TestFields(t *testing.T) {
	setFormat(t, time.UnixMilli(1288834974657), 10, 12)
	id := snowflake.ParseInt64(1541815603606036480 + 5)
	made := time.UnixMilli(id.Time()).UTC().Format(time.RFC3339Nano)
	require.That(t, made == "2022-06-28T16:07:40.105Z" && id.Node() == 378 && id.Step() == 5,
		"node %d, step %d, %s", id.Node(), id.Step(), made)
}

// Two IDs a millisecond: each caller sleeps until there is one, and IDs increase.
func TestGenerateWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		setFormat(t, newEpoch(time.UnixMilli(0)), 10, 1)
		node, err := snowflake.NewNode(7)
		require.NoError(t, err)
		begin := time.Now()
		before := snowflake.ID(0)
		for range 200 {
			id := node.Generate()
			require.Must(t, id > before, "%d after %d", id, before)
			before = id
		}
		took := time.Since(begin)
		require.That(t, took >= 99*time.Millisecond && took <= 110*time.Millisecond, "200 IDs took %s, want 100 ms", took)
	})
}

// wantPanic wants a sentence with a text in it.
func wantPanic(t *testing.T, says string, generate func() snowflake.ID) {
	t.Helper()
	defer func() {
		t.Helper()
		said, _ := recover().(string)
		require.That(t, strings.Contains(said, "waiting doesn't help") && strings.Contains(said, says),
			"panics with %q, want a sentence with %q", said, says)
	}()
	t.Errorf("made %d", generate())
}

// A layout with 16 bits of time has a minute of it.
func TestGenerateAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		setFormat(t, begin, 10, 37)
		node, err := snowflake.NewNode(1)
		require.NoError(t, err)
		node.Close() // which does nothing
		time.Sleep(1<<16*time.Millisecond - 1)
		id := node.Generate()
		require.That(t, id.Time() == begin.UnixMilli()+1<<16-1, "made at %d", id.Time())
		require.Done(t)(snowflake.NewNode(2))
		time.Sleep(time.Nanosecond)
		const end = "2000-01-01T00:01:05.536Z"
		wantPanic(t, "ends at "+end, node.Generate)
		require.Says(t, "ended at "+end, "a new Node")(snowflake.NewNode(2))
	})
}

// A market is a space for Nodes, whose store can be away, and the ledger of their IDs.
type market struct {
	*testing.T
	memory *leasetest.Memory
	away   atomic.Bool
	ledger idtest.Ledger[snowflake.ID]
}

// open returns the space as another process has it.
func (m *market) open(nodes uint32) *lease.Space {
	m.Helper()
	return m.openPart(0, nodes)
}

// openPart does the same with a space that has a part of the numbers.
func (m *market) openPart(first, nodes uint32) *lease.Space {
	m.Helper()
	engine := leasetest.Intercept(m.memory.Connect(), func(ctx context.Context, c leasetest.Call, engine lease.Engine) (lease.Answer, error) {
		if m.away.Load() {
			return lease.Answer{}, errors.New("the store is away")
		}
		return c.On(ctx, engine)
	})
	space, err := lease.Create(m.Context(), engine, lease.Config{Limits: lease.Limits{FirstNode: first, Nodes: nodes}, NeverUsed: true})
	if errors.Is(err, lease.ErrExists) {
		space, err = lease.Open(m.Context(), engine, lease.Config{})
	}
	require.NoError(m, err)
	return space
}

func (m *market) keep(space *lease.Space, options ...lease.Option) *snowflake.Node {
	m.Helper()
	options = append(options, lease.WithLogger(slog.New(slog.DiscardHandler)))
	node, err := snowflake.Keep(m.Context(), space, options...)
	require.NoError(m, err)
	m.Cleanup(node.Close)
	return node
}

// inMarket runs f in a bubble, in 2030.
func inMarket(t *testing.T, f func(m *market)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)))
		setFormat(t, newEpoch(time.Unix(1<<30, 0)), 10, 12)
		f(&market{T: t, memory: leasetest.NewMemory(), ledger: idtest.Ledger[snowflake.ID]{TB: t}})
	})
}

// Two processes without numbers of their own, for some windows.
func TestKeep(t *testing.T) {
	inMarket(t, func(m *market) {
		var processes sync.WaitGroup
		for range 2 {
			node := m.keep(m.open(1024))
			processes.Go(func() { m.addAll(node, node) })
		}
		processes.Wait()
		require.Equal(t, m.ledger.Count(), 40_000, "IDs")
	})
}

// own is NewNode.
func (m *market) own(number int64) *snowflake.Node {
	m.Helper()
	node, err := snowflake.NewNode(number)
	require.NoError(m, err)
	return node
}

// addAll adds IDs of nodes to the ledger, for some windows.
func (m *market) addAll(nodes ...*snowflake.Node) {
	for range 500 {
		for _, node := range nodes {
			for range 20 {
				m.ledger.Add(node.Generate())
			}
		}
		time.Sleep(400 * time.Millisecond)
	}
}

// counted counts takes.
type counted struct {
	*lease.Space
	takes atomic.Int64
}

func (c *counted) Take(ctx context.Context, first, last int64, nodes uint32) ([]randflake.Lease, error) {
	c.takes.Add(1)
	return c.Space.Take(ctx, first, last, nodes)
}

// Nodes with numbers of their own and a leased one in one process, in either order.
func TestKeepBesideNewNode(t *testing.T) {
	for _, tt := range []struct {
		name string
		test func(m *market)
	}{
		{"own numbers first", func(m *market) {
			first := m.own(0)
			m.own(2)
			kept := m.keep(m.open(4))
			require.Equal(m, kept.Generate().Node(), 1, "the number of Keep")
			m.addAll(first, m.own(0), m.own(2), m.own(4), kept)
		}},
		{"a number that Keep can have next", func(m *market) {
			m.keep(m.open(4))
			require.Says(m, "number 3 is one of 0 to 3, which Keep leases", "number 3")(snowflake.NewNode(3))
		}},
		{"a part", func(m *market) {
			before, own := m.own(7), m.own(8)
			kept := m.keep(m.openPart(8, 4))
			require.Equal(m, kept.Generate().Node(), 9, "Keep has the number")
			for _, number := range []int64{9, 11} {
				require.Says(m, "is one of 8 to 11, which Keep leases", "number %d", number)(snowflake.NewNode(number))
			}
			m.addAll(before, own, m.own(12), kept)
		}},
		{"all numbers of a part", func(m *market) {
			m.own(8)
			m.own(9)
			require.Refuses(m, lease.ErrInvalid, "Keep")(snowflake.Keep(m.Context(), m.openPart(8, 2)))
		}},
		{"after Close", func(m *market) {
			kept := m.keep(m.open(4))
			m.addAll(kept)
			last := kept.Generate()
			m.ledger.Add(last)
			kept.Close()
			kept.Close()
			same := m.own(last.Node())
			id := same.Generate()
			require.That(m, id > last, "%d with the number of a Node that is closed, after %d", id, last)
			m.ledger.Add(id)
			m.addAll(m.own(0), m.own(1), m.own(2), m.own(3))
		}},
		{"all numbers are the process's own", func(m *market) {
			for number := range int64(4) {
				m.own(number)
			}
			_, err := snowflake.Keep(m.Context(), m.open(4))
			require.ErrorIs(m, err, lease.ErrInvalid, "Keep")
			require.ErrorSays(m, err, "has all 4 numbers of space", "Keep")
		}},
		{"many own numbers", func(m *market) {
			for number := range int64(100) {
				m.own(number)
			}
			space := &counted{Space: m.open(1024)}
			for want := range int64(2) {
				node, err := snowflake.Keep(m.Context(), space, lease.WithLogger(slog.New(slog.DiscardHandler)))
				require.NoError(m, err)
				defer node.Close()
				number, takes := node.Generate().Node(), space.takes.Load()
				require.That(m, number == 100+want && takes == want+1,
					"the number is %d after %d takes, want %d after %d", number, takes, 100+want, want+1)
			}
		}},
		{"another format", func(m *market) {
			m.keep(m.open(8))
			setFormat(m.T, time.UnixMilli(snowflake.Epoch), 9, 13)
			m.addAll(m.own(3), m.own(5))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) { inMarket(t, tt.test) })
	}
}

func TestKeepRefuses(t *testing.T) {
	inMarket(t, func(m *market) {
		space := m.open(1025)
		_, err := snowflake.Keep(t.Context(), space)
		require.That(t, errors.Is(err, origin.ErrInvalidLayout) && strings.Contains(err.Error(), "make a space with 1024 nodes"),
			"1025 nodes for 10 bits: %v", err)
		require.Done(t)(snowflake.NewNode(900)) // which no Keep leases
		setFormat(m.T, time.UnixMilli(0), 11, 0)
		require.Refuses(t, origin.ErrInvalidLayout, "no bits of steps")(snowflake.Keep(t.Context(), space))
	})
}

// While the store is away leases end, and Generate waits until there is another one. A store that
// is never the same again, and Close, are no reason to wait.
func TestKeepWaitsForTheStore(t *testing.T) {
	inMarket(t, func(m *market) {
		space := m.open(64)
		node := m.keep(space, lease.WithOutage(0))
		before := node.Generate()
		m.away.Store(true)
		time.Sleep(10 * time.Minute)
		back := time.Now().Add(time.Minute)
		time.AfterFunc(time.Minute, func() { m.away.Store(false) })
		if id := node.Generate(); id <= before || time.Now().Before(back) || id.Time() < back.UnixMilli() {
			t.Errorf("%d after %d at %v, want a later one from %v on", id, before, time.Now(), back)
		}
		require.NoError(t, space.Retire(m.Context()))
		time.Sleep(10 * time.Minute)
		wantPanic(t, "lease of the worker has ended", node.Generate)
		node.Close()
		wantPanic(t, "closed", node.Generate)
	})
}

func TestTexts(t *testing.T) {
	type form struct {
		text  string
		parse func(string) (snowflake.ID, error)
	}
	bytes := func(parse func([]byte) (snowflake.ID, error)) func(string) (snowflake.ID, error) {
		return func(text string) (snowflake.ID, error) { return parse([]byte(text)) }
	}
	for _, id := range []snowflake.ID{0, 1, 31, 32, 57, 58, 1541815603606036480, math.MaxInt64, -1, math.MinInt64} {
		packed := id.IntBytes()
		for name, f := range map[string]form{
			"String": {id.String(), snowflake.ParseString},
			"Base2":  {id.Base2(), snowflake.ParseBase2},
			"Base32": {id.Base32(), bytes(snowflake.ParseBase32)},
			"Base36": {id.Base36(), snowflake.ParseBase36},
			"Base58": {id.Base58(), bytes(snowflake.ParseBase58)},
			"Base64": {id.Base64(), snowflake.ParseBase64},
			"Bytes":  {string(id.Bytes()), bytes(snowflake.ParseBytes)},
			"Int64":  {"", func(string) (snowflake.ID, error) { return snowflake.ParseInt64(id.Int64()), nil }},
			"packed": {"", func(string) (snowflake.ID, error) { return snowflake.ParseIntBytes(packed), nil }},
			"JSON": {"", func(string) (back snowflake.ID, err error) {
				data, _ := id.MarshalJSON()
				return back, back.UnmarshalJSON(data)
			}},
		} {
			require.Gives(t, id, "%s of %d is %q, which is read as", name, id, f.text)(f.parse(f.text))
		}
	}
}

func TestTextsOfNoID(t *testing.T) {
	for _, text := range []string{"l", "v", "0", "ybndv", strings.Repeat("9", 14), "b" + strings.Repeat("y", 13)} {
		id, err := snowflake.ParseBase32([]byte(text))
		require.That(t, id == -1 && err == snowflake.ErrInvalidBase32, "base 32 %q: %d, %v", text, id, err)
	}
	for _, text := range []string{"l", "0", "12O", strings.Repeat("Z", 11), strings.Repeat("2", 12)} {
		id, err := snowflake.ParseBase58([]byte(text))
		require.That(t, id == -1 && err == snowflake.ErrInvalidBase58, "base 58 %q: %d, %v", text, id, err)
	}
	id, err := snowflake.ParseBase64("MQ")
	require.That(t, id == -1 && err != nil, "base 64: %d, %v", id, err)
	for _, data := range []string{"1", `"1`, `1"`, `""`, "null", `"x"`} {
		id := snowflake.ID(7)
		buffer := []byte(data)
		err := id.UnmarshalJSON(buffer)
		clear(buffer) // as the decoder may
		_, syntax := err.(snowflake.JSONSyntaxError)
		if err == nil || id != 7 || syntax != (data != `"x"`) || syntax && !strings.Contains(err.Error(), fmt.Sprintf("%q", data)) {
			t.Errorf("JSON %s is read as %d, %v", data, id, err)
		}
	}
}
