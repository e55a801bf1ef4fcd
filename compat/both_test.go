package randflake_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/randflake/randflake/compat"
	v2 "github.com/randflake/randflake/compat/v2"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/vmgen"
)

const (
	epoch    = v1.RANDFLAKE_EPOCH_OFFSET
	maximum  = v1.RANDFLAKE_MAX_TIMESTAMP
	capacity = v1.RANDFLAKE_MAX_SEQUENCE + 1 // IDs of one node in one second

	start = epoch + 20_000_000 // a second within the leases of these tests
	node  = 4711
)

var secret = []byte("sixteen byte key")

// A version is a generator of one of the two packages. Leases are by their last second, as in v1.8.
type version interface {
	Generate() (int64, error)
	GenerateString() (string, error)

	inspect(id int64) (second, node, sequence int64)
	open(text string) string              // what Sprint makes of second, node, sequence and error
	extend(node, first, last int64) error // of v1.8 ErrInvalidLease
	lease() v1.LeaseInfo
	encode(id int64) string
	decode(text string) (int64, error)
}

// versions make a generator of each package, or return nil and an error.
var versions = []func(node, first, last int64, secret []byte, clock func() int64) (version, error){newFirst, newSecond}

// first is v1.8.
type first struct{ *v1.Generator }

func newFirst(node, begin, last int64, secret []byte, clock func() int64) (version, error) {
	g, err := v1.NewGenerator(node, begin, last, secret)
	if g == nil {
		return nil, err
	}
	g.TimeSource = clock
	return first{g}, err
}

func (f first) inspect(id int64) (second, node, sequence int64) {
	second, node, sequence, _ = f.Inspect(id)
	return second, node, sequence
}

func (f first) open(text string) string { return fmt.Sprint(f.InspectString(text)) }

func (f first) extend(node, begin, last int64) error {
	if node != f.lease().NodeID || !f.UpdateLease(begin, last) {
		return v1.ErrInvalidLease
	}
	return nil
}

func (f first) lease() v1.LeaseInfo               { return f.GetLeaseInfo() }
func (f first) encode(id int64) string            { return v1.EncodeString(id) }
func (f first) decode(text string) (int64, error) { return v1.DecodeString(text) }

// second is v2.1.
type second struct{ *v2.Generator }

func newSecond(node, begin, last int64, secret []byte, clock func() int64) (version, error) {
	config := v2.Config{Lease: leaseOf(node, begin, last), Secret: secret}
	if clock != nil {
		config.Clock = func() (v2.UnixSeconds, error) { return v2.UnixSeconds(clock()), nil }
	}
	g, err := v2.New(config)
	if g == nil {
		return nil, err
	}
	return second{g}, err
}

func leaseOf(node, begin, last int64) v2.Lease {
	return v2.Lease{
		NodeID:       uint32(min(uint64(node), math.MaxUint32)),
		Start:        v2.UnixSeconds(begin),
		EndExclusive: v2.UnixSeconds(max(last, last+1)), // which does not overflow
	}
}

func (s second) inspect(id int64) (second, node, sequence int64) {
	p := s.Inspect(id)
	return int64(p.Timestamp), int64(p.NodeID), int64(p.Sequence)
}

func (s second) open(text string) string {
	p, err := s.InspectString(text)
	return fmt.Sprint(int64(p.Timestamp), p.NodeID, p.Sequence, " ", err)
}

func (s second) extend(node, begin, last int64) error {
	return s.ExtendLease(leaseOf(node, begin, last))
}

func (s second) lease() v1.LeaseInfo {
	lease := s.Lease()
	return v1.LeaseInfo{NodeID: int64(lease.NodeID), LeaseStart: int64(lease.Start), LeaseEnd: int64(lease.EndExclusive) - 1}
}

func (s second) encode(id int64) string            { return v2.EncodeString(id) }
func (s second) decode(text string) (int64, error) { return v2.DecodeString(text) }

// The errors of the two versions, which have nearly the same names. v2 has no end of all time.
type errs [2]error

var (
	good     = errs{}
	lease    = errs{v1.ErrInvalidLease, v2.ErrInvalidLease}
	badNode  = errs{v1.ErrInvalidNode, v2.ErrInvalidNode}
	badKey   = errs{v1.ErrInvalidSecret, v2.ErrInvalidSecret}
	dead     = errs{v1.ErrRandflakeDead, v2.ErrInvalidLease}
	used     = errs{v1.ErrResourceExhausted, v2.ErrResourceExhausted}
	backward = errs{v1.ErrConsistencyViolation, v2.ErrConsistencyViolation}
	badID    = errs{v1.ErrInvalidID, v2.ErrInvalidID}
)

func newVersion(t testing.TB, v int, first, last int64, clock func() int64) version {
	t.Helper()
	key := slices.Clone(secret)
	g, err := versions[v](node, first, last, key, clock)
	require.NoError(t, err)
	clear(key) // it was copied
	return g
}

// newLedger is for IDs of the node in the lease, which count up: each is greater than all before.
func newLedger(t testing.TB, g version) *idtest.Ledger[int64] {
	value := func(id int64) int64 {
		second, _, sequence := g.inspect(id)
		return second<<17 | sequence
	}
	return &idtest.Ledger[int64]{
		TB:      t,
		Compare: func(a, b int64) int { return cmp.Compare(value(a), value(b)) },
		Check: func(id int64) error {
			second, n, _ := g.inspect(id)
			info := g.lease()
			if n != node || info.NodeID != node || second < info.LeaseStart || second > info.LeaseEnd {
				return fmt.Errorf("second %d of node %d is not in the lease %+v", second, n, info)
			}
			return nil
		},
	}
}

// Of several conditions the first one counts.
func TestNew(t *testing.T) {
	const (
		highNode = v1.RANDFLAKE_MAX_NODE + 1
		early    = epoch - 1
		late     = maximum + 1
	)
	short := secret[:15]
	long := append(slices.Clone(secret), 0)
	for _, tt := range []struct {
		node, first, last int64
		secret            []byte
		want              errs
	}{
		{1, start, start + 10, secret, good},
		{1, start, start, secret, good},
		{v1.RANDFLAKE_MAX_NODE, epoch, maximum, secret, good},
		{0, epoch, epoch, secret, good},
		{0, maximum, maximum, secret, good},
		{1, start, start, make([]byte, 16), good}, // as upstream

		{highNode, math.MaxInt64, early, short, errs{lease[0], badNode[1]}},
		{1, start, start - 1, short, lease},
		{1, late + 1, late, secret, lease},

		{highNode, early, late, short, badNode},
		{-1, start, start, secret, badNode},
		{math.MinInt64, start, start, secret, badNode},
		{1 << 32, start, start, secret, badNode},

		{1, early, late, short, lease},
		{1, early, start, secret, lease},
		{1, math.MinInt64, start, secret, lease},
		{0, 0, -1, secret, lease},

		{1, start, late, short, dead},
		{1, start, math.MaxInt64, secret, dead},
		{1, late, late, secret, dead},

		{1, start, start, nil, badKey},
		{1, start, start, short, badKey},
		{1, start, start, long, badKey},
	} {
		for v, make := range versions {
			clock := func() int64 {
				t.Error("New read the clock")
				return 0
			}
			g, err := make(tt.node, tt.first, tt.last, tt.secret, clock)
			require.That(t, err == tt.want[v] && (g == nil) == (err != nil), "v%d: %+v: %v", v+1, tt, err)
		}
	}
}

// An outcome is how many IDs there are, of which second of the lease, and why not more.
type outcome struct {
	n      int
	second int64
	err    errs
}

func both(n int, second int64, err errs) [2]outcome {
	return [2]outcome{{n, second, err}, {n, second, err}}
}

// The clock goes anywhere, at both ends of the format, in between and where the raw value gets its
// top bit, which is 2041-10-31. A refusal uses nothing up, and an extended lease gives no second
// back.
func TestClock(t *testing.T) {
	firsts := []int64{maximum - 102, epoch + 1<<29 - 1, start, epoch}
	if testing.Short() {
		firsts = firsts[:2]
	}
	for _, first := range firsts {
		steps := []struct {
			now, last int64 // in seconds of the lease
			n         int
			want      [2]outcome
		}{
			{-1, 100, 1, both(0, 0, lease)},
			{0, 100, 10, both(10, 0, good)},
			{-1, 100, 10, [2]outcome{{10, 0, good}, {0, 0, lease}}}, // v1.8: in the second in use
			{-11, 100, 1, both(0, 0, lease)},

			{50, 100, capacity + 1, both(capacity, 50, used)},
			{50, 100, 1, both(0, 0, used)},
			{49, 100, 1, both(0, 0, backward)},
			{51, 100, 1000, both(1000, 51, good)},
			{50, 100, 1000, [2]outcome{{1000, 51, good}, {0, 0, backward}}},
			{41, 100, 1000, [2]outcome{{1000, 51, good}, {0, 0, backward}}},
			{40, 100, 1, both(0, 0, backward)},
			{0, 100, 1, both(0, 0, backward)},
			{-12, 100, 1, both(0, 0, lease)},
			{50, 100, capacity, [2]outcome{{capacity - 3000, 51, backward}, {0, 0, backward}}},
			{51, 100, 1, [2]outcome{{0, 0, used}, {1, 51, good}}},

			{101, 100, 1, both(0, 0, lease)},
			{-first, 100, 1, both(0, 0, lease)},
			{maximum + 1 - first, 100, 1, both(0, 0, dead)},
			{100, 100, 1000, both(1000, 100, good)},
			{101, 102, 1000, both(1000, 101, good)},
			{102, 102, capacity + 1, both(capacity, 102, used)},
		}
		for v := range versions {
			now := first
			calls := 0
			g := newVersion(t, v, first, first+100, func() int64 {
				calls++
				return now
			})
			l := newLedger(t, g)
			for i, step := range steps {
				where := fmt.Sprintf("v%d, from %d, step %d", v+1, first, i)
				want := step.want[v]
				ids := make([]int64, step.n)
				g.extend(node, first, first+step.last)
				now = first + step.now
				calls = 0

				n, err := l.Take(ids, idtest.One(g.Generate))
				require.That(t, n == want.n && err == want.err[v],
					"%s: %d IDs, %v, want %d, %v", where, n, err, want.n, want.err[v])
				once := err == nil && want.second == step.now && step.last == 100
				if once && calls != n {
					t.Errorf("%s: %d calls of the clock for %d IDs", where, calls, n)
				}
				for _, id := range ids[:n] {
					if second, _, _ := g.inspect(id); second != first+want.second {
						t.Fatalf("%s: an ID of second %d", where, second-first)
					}
				}
				if n > 0 {
					continue
				}
				id, again := g.Generate()
				require.That(t, again == err && id == 0, "%s: Generate = %d, %v", where, id, again)
				text, again := g.GenerateString()
				require.That(t, again == err && text == "", "%s: GenerateString = %q, %v", where, text, again)
			}
		}
	}
}

// In a copy of the machine, a generator refuses at once whatever the clock says, and its lease
// can't be extended: it is the original's. A new generator makes IDs.
func TestCopiedMachine(t *testing.T) {
	for v := range versions {
		var machine atomic.Uint64
		undo := vmgen.Pretend(&machine)
		defer undo()

		now := int64(start)
		calls := 0
		clock := func() int64 {
			calls++
			require.Must(t, calls <= 1000, "v%d: Generate reads the clock again and again", v+1)
			return now
		}
		g := newVersion(t, v, start, start+10, clock)
		require.Done(t)(g.Generate())

		machine.Add(1)
		for _, now = range []int64{start, start + 1, start + 10} {
			id, err := g.Generate()
			require.That(t, id == 0 && err == lease[v], "v%d: Generate in the copy: %d, %v, want %v", v+1, id, err, lease[v])
			text, err := g.GenerateString()
			require.That(t, text == "" && err == lease[v], "v%d: GenerateString in the copy: %q, %v", v+1, text, err)
			before := g.lease()
			err = g.extend(node, start, start+20)
			require.That(t, err == lease[v] && g.lease() == before, "v%d: extended in the copy: %v, lease %+v", v+1, err, g.lease())
		}

		g = newVersion(t, v, start+5, start+20, clock)
		require.Done(t)(g.Generate())
		require.Equal(t, g.extend(node, start+5, start+30), nil, "v%d: its lease is not extended", v+1)
	}
}

func TestExtendLease(t *testing.T) {
	late := errs{v1.ErrInvalidLease, nil} // to v2 it is no extension, and no error
	for v := range versions {
		g := newVersion(t, v, start, start+10, nil)
		last := int64(start + 10)
		for _, tt := range []struct {
			node, first, last int64
			want              errs
		}{
			{node, start, start + 10, late},
			{node, start, start + 9, late},
			{node, start, start - 1, lease},
			{node, start, math.MinInt64, lease},

			{node, start + 1, start + 20, lease},
			{node, start - 1, start + 20, lease},
			{node + 1, start, start + 20, lease},

			{node, start, maximum + 1, lease},
			{node, start, math.MaxInt64, lease},

			{node, start, start + 11, good},
			{node, start, start + 11, late},
			{node, start, maximum, good},
			{node, start, start + 12, late},
		} {
			if tt.want == good {
				last = tt.last
			}
			err := g.extend(tt.node, tt.first, tt.last)
			want := v1.LeaseInfo{NodeID: node, LeaseStart: start, LeaseEnd: last}
			require.That(t, err == tt.want[v] && g.lease() == want,
				"v%d: node %d, %d to %d: %v, lease %+v", v+1, tt.node, tt.first, tt.last, err, g.lease())
		}
	}
}

// Many goroutines use up three seconds, and in v1 one call alone moves the lease's end.
func TestConcurrently(t *testing.T) {
	for v := range versions {
		var second, extended atomic.Int64
		g := newVersion(t, v, start, start, func() int64 { return start + second.Load() })
		l := newLedger(t, g)
		untilUsed := func(err error) bool {
			if err != nil && err != used[v] {
				t.Errorf("v%d: %v", v+1, err)
			}
			return err == nil
		}
		for ; second.Load() < 3; second.Add(1) {
			l.AtOnce(capacity, untilUsed, func(dst []int64) (int, error) {
				if g.extend(node, start, start+second.Load()) == nil {
					extended.Add(1)
				}
				return idtest.One(g.Generate)(dst)
			})
		}
		require.Equal(t, l.Count(), 3*capacity, "v%d: IDs", v+1)
		if n := extended.Load(); v == 0 && n != 2 {
			t.Errorf("v1: the lease was extended %d times, want 2", n)
		}
	}
}

// Each goroutine sees other seconds, back and forth, in the lease and out of it, while the lease grows.
func TestWildClock(t *testing.T) {
	for v := range versions {
		for range 2 {
			var refused atomic.Int64
			g := newVersion(t, v, start, start, func() int64 { return start - 2 + rand.Int64N(40) })
			l := newLedger(t, g)
			goOn := func(err error) bool {
				switch err {
				case nil, used[v], lease[v]:
				case backward[v]:
					refused.Add(1)
				default:
					t.Errorf("v%d: %v", v+1, err)
				}
				return true
			}
			for last := range int64(3) {
				l.AtOnce(capacity>>5, goOn, func(dst []int64) (int, error) {
					g.extend(node, start, start+20*last)
					return idtest.One(g.Generate)(dst)
				})
			}
			require.That(t, l.Count() != 0 && refused.Load() != 0,
				"v%d: %d IDs, %d steps back, want some of both", v+1, l.Count(), refused.Load())
		}
	}
}

// The system's clock is the default.
func TestSystemClock(t *testing.T) {
	for v := range versions {
		now := time.Now().Unix()
		g := newVersion(t, v, now, now+3600, nil)
		id, err := g.Generate()
		if second, _, _ := g.inspect(id); err != nil || second < now || second > time.Now().Unix() {
			t.Errorf("v%d: an ID of second %d, %v, made after %d", v+1, second, err, now)
		}
		n := testing.AllocsPerRun(1000, func() {
			id, _ := g.Generate()
			g.inspect(id)
		})
		require.Equal(t, n, 0, "v%d: allocations", v+1)
	}
}

// The zero generators make nothing.
func TestZero(t *testing.T) {
	one := new(v1.Generator)
	two := new(v2.Generator)
	text := fmt.Sprint
	for _, tt := range []struct{ got, want string }{
		{text(one.Generate()), text(0, lease[0])},
		{text(one.GenerateString()), text("", lease[0])},
		{text(one.Inspect(1)), text(0, 0, 0, badKey[0])},
		{text(one.InspectString("1")), text(0, 0, 0, badKey[0])},
		{text(one.UpdateLease(0, start), one.GetLeaseInfo()), "false {0 0 0}"},

		{text(two.Generate()), text(0, lease[1])},
		{text(two.GenerateString()), text("", lease[1])},
		{text(two.ExtendLease(v2.Lease{Start: start, EndExclusive: start + 1}), two.Lease()), text(lease[1], v2.Lease{})},
	} {
		require.Equal(t, tt.got, tt.want, "a zero generator")
	}
}

// Sequences count up from 0. Of the vectors far into their second only some are made, to save time.
func TestVectors(t *testing.T) {
	for i, vector := range idtest.Vectors(t, "../testdata/randflake.json") {
		for v, make := range versions {
			g, err := make(int64(vector.Node), vector.Timestamp, vector.Timestamp, vector.Secret, func() int64 { return vector.Timestamp })
			require.NoError(t, err)
			want := fmt.Sprint(vector.Timestamp, vector.Node, vector.Sequence)
			if id, err := g.decode(vector.GosudaText); id != vector.ID || err != nil || g.encode(id) != vector.GosudaText {
				t.Errorf("v%d: %s is %d, %v, want %d", v+1, vector.GosudaText, id, err, vector.ID)
			}
			if opened := g.open(vector.GosudaText); opened != want+" <nil>" || fmt.Sprint(g.inspect(vector.ID)) != want {
				t.Errorf("v%d: %s opens to %s, want %s", v+1, vector.GosudaText, opened, want)
			}

			if vector.Sequence > 1000 && i%16 != v {
				continue
			}
			for range vector.Sequence {
				g.Generate()
			}
			require.Gives(t, vector.GosudaText, "v%d: made", v+1)(g.GenerateString())
		}
	}
}

// Texts that no version reads, and those that v1.8 reads: it takes upper case and leading zeros, v2
// the one text of an ID.
var (
	noText = []string{
		"", "=", "w", "W", "-1", "+1", " 1", "1 ", "1\n", "0x1", "é", "1\x00", "1_0", "3vgoe12ccb8gh=", // no digits
		"g000000000000", "vvvvvvvvvvvvv", // more than 64 bits
		"10000000000000", "00000000000000", strings.Repeat("1", 1000), // too long
	}
	looseText = map[string]int64{
		"00":            0,
		"0v":            31,
		"000000000000v": 31,
		"V":             31,
		"3VGOE12CCB8GH": 4594531474933654033,
		"0000000000000": 0,
	}
)

func TestText(t *testing.T) {
	for text, want := range looseText {
		require.Gives(t, want, "v1: DecodeString(%q)", text)(v1.DecodeString(text))
	}
	bad := noText
	for v := range versions {
		g := newVersion(t, v, epoch, epoch, nil)
		for _, text := range bad {
			if id, err := g.decode(text); id != 0 || err != badID[v] || g.open(text) != fmt.Sprint(0, 0, 0, err) {
				t.Errorf("v%d: DecodeString(%q) = %d, %v", v+1, text, id, err)
			}
		}
		bad = slices.AppendSeq(slices.Clone(bad), maps.Keys(looseText))
	}
}

// What v2 reads is an ID's one text. v1.8 reads it too, and otherwise what differs from it in case
// and in leading zeros.
func FuzzText(f *testing.F) {
	for _, text := range append(noText, "0", "v", "3vgoe12ccb8gh", "fvvvvvvvvvvvv") {
		f.Add(text)
	}
	for text := range looseText {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		loose, looseErr := v1.DecodeString(text)
		strict, strictErr := v2.DecodeString(text)
		if looseErr != nil && (looseErr != badID[0] || loose != 0) {
			t.Fatalf("%q is %d, %v in v1", text, loose, looseErr)
		}
		if strictErr != nil && (strictErr != badID[1] || strict != 0) {
			t.Fatalf("%q is %d, %v in v2", text, strict, strictErr)
		}
		if strictErr == nil && (loose != strict || looseErr != nil || v2.EncodeString(strict) != text) {
			t.Fatalf("%q is %d in v2, and %d, %v in v1", text, strict, loose, looseErr)
		}

		if looseErr != nil {
			return
		}
		shortest := strings.TrimLeft(strings.ToLower(text), "0")
		if shortest == "" {
			shortest = "0"
		}
		back := v1.EncodeString(loose)
		require.Must(t, back == shortest && len(text) <= 13, "%q is %d in v1, which is %s", text, loose, back)
		id, err := v2.DecodeString(shortest)
		require.Must(t, id == loose && err == nil, "%q is %d in v1, and %s %d, %v in v2", text, loose, shortest, id, err)
	})
}

// Whatever the bits of an ID, both versions open them to the same fields, which are within the format.
func FuzzInspect(f *testing.F) {
	for _, id := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 4594531474933654033} {
		f.Add(id)
	}
	one := newVersion(f, 0, start, start, nil)
	two := newVersion(f, 1, start, start, nil)
	f.Fuzz(func(t *testing.T, id int64) {
		second, node, sequence := one.inspect(id)
		require.That(t, second >= epoch && second <= maximum, "%d opens to second %d", id, second)
		require.That(t, node >= 0 && node <= v1.RANDFLAKE_MAX_NODE, "%d opens to node %d", id, node)
		require.That(t, sequence >= 0 && sequence < capacity, "%d opens to sequence %d", id, sequence)
		text := one.encode(id)
		require.Equal(t, two.encode(id), text, "%d in v2", id)
		opened := fmt.Sprint(second, node, sequence, " ", nil)
		require.That(t, one.open(text) == opened && two.open(text) == opened,
			"%s opens to %s in v1, and %s in v2, want %s", text, one.open(text), two.open(text), opened)
	})
}
