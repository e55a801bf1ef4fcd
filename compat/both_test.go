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
	"github.com/randflake/randflake/internal/testing/idtest"
)

const (
	epoch    = v1.RANDFLAKE_EPOCH_OFFSET
	maximum  = v1.RANDFLAKE_MAX_TIMESTAMP
	capacity = v1.RANDFLAKE_MAX_SEQUENCE + 1 // IDs of one node in one second
	start    = epoch + 20_000_000            // a second within the leases of these tests
	node     = 4711
)

var secret = []byte("sixteen byte key")

// A version is a generator of one of the two packages. Leases are by their last second, as in v1.8.
type version struct {
	generator interface {
		Generate() (int64, error)
		GenerateString() (string, error)
	}
	inspect func(id int64) (second, node, sequence int64)
	open    func(text string) string            // what Sprint makes of second, node, sequence and error
	extend  func(node, first, last int64) error // of v1.8 ErrInvalidLease
	lease   func() v1.LeaseInfo
	encode  func(int64) string
	decode  func(string) (int64, error)
}

var versions = []func(node, first, last int64, secret []byte, clock func() int64) (version, error){
	func(node, first, last int64, secret []byte, clock func() int64) (version, error) {
		g, err := v1.NewGenerator(node, first, last, secret)
		if g == nil {
			return version{}, err
		}
		g.TimeSource = clock
		return version{
			g, func(id int64) (int64, int64, int64) { s, n, q, _ := g.Inspect(id); return s, n, q },
			func(text string) string { return fmt.Sprint(g.InspectString(text)) },
			func(n, first, last int64) error {
				return map[bool]error{false: v1.ErrInvalidLease}[n == node && g.UpdateLease(first, last)]
			},
			g.GetLeaseInfo, v1.EncodeString, v1.DecodeString,
		}, err
	},
	func(node, first, last int64, secret []byte, clock func() int64) (version, error) {
		lease := func(node, first, last int64) v2.Lease {
			return v2.Lease{NodeID: uint32(min(uint64(node), math.MaxUint32)), Start: v2.UnixSeconds(first), EndExclusive: v2.UnixSeconds(max(last, last+1))}
		}
		config := v2.Config{Lease: lease(node, first, last), Secret: secret}
		if clock != nil {
			config.Clock = func() (v2.UnixSeconds, error) { return v2.UnixSeconds(clock()), nil }
		}
		g, err := v2.New(config)
		if g == nil {
			return version{}, err
		}
		info := func() v1.LeaseInfo {
			return v1.LeaseInfo{NodeID: int64(g.Lease().NodeID), LeaseStart: int64(g.Lease().Start), LeaseEnd: int64(g.Lease().EndExclusive) - 1}
		}
		return version{
			g, func(id int64) (int64, int64, int64) {
				p := g.Inspect(id)
				return int64(p.Timestamp), int64(p.NodeID), int64(p.Sequence)
			},
			func(text string) string {
				return strings.NewReplacer("{", "", "}", "").Replace(fmt.Sprint(g.InspectString(text)))
			},
			func(node, first, last int64) error { return g.ExtendLease(lease(node, first, last)) },
			info, v2.EncodeString, v2.DecodeString,
		}, err
	},
}

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
	if err != nil {
		t.Fatal(err)
	}
	clear(key) // it was copied
	return g
}

// newLedger is for IDs of the node in the lease, which count up: each is greater than all before.
func newLedger(t testing.TB, g version) *idtest.Ledger[int64] {
	value := func(id int64) int64 { second, _, sequence := g.inspect(id); return second<<17 | sequence }
	return &idtest.Ledger[int64]{TB: t, Compare: func(a, b int64) int { return cmp.Compare(value(a), value(b)) }, Check: func(id int64) error {
		second, n, _ := g.inspect(id)
		if info := g.lease(); n != node || info.NodeID != node || second < info.LeaseStart || second > info.LeaseEnd {
			return fmt.Errorf("second %d of node %d is not in the lease %+v", second, n, info)
		}
		return nil
	}}
}

// Of several conditions the first one counts.
func TestNew(t *testing.T) {
	const highNode, early, late = v1.RANDFLAKE_MAX_NODE + 1, epoch - 1, maximum + 1
	short, long := secret[:15], append(slices.Clone(secret), 0)
	for _, tt := range []struct {
		node, first, last int64
		secret            []byte
		want              errs
	}{
		{1, start, start + 10, secret, good}, {1, start, start, secret, good}, {v1.RANDFLAKE_MAX_NODE, epoch, maximum, secret, good},
		{0, epoch, epoch, secret, good}, {0, maximum, maximum, secret, good}, {1, start, start, make([]byte, 16), good}, // as upstream
		{highNode, math.MaxInt64, early, short, errs{lease[0], badNode[1]}}, {1, start, start - 1, short, lease}, {1, late + 1, late, secret, lease},
		{highNode, early, late, short, badNode}, {-1, start, start, secret, badNode}, {math.MinInt64, start, start, secret, badNode}, {1 << 32, start, start, secret, badNode},
		{1, early, late, short, lease}, {1, math.MinInt64, start, secret, lease}, {0, 0, -1, secret, lease},
		{1, start, late, short, dead}, {1, start, math.MaxInt64, secret, dead}, {1, late, late, secret, dead},
		{1, start, start, nil, badKey}, {1, start, start, short, badKey}, {1, start, start, long, badKey},
	} {
		for v, make := range versions {
			g, err := make(tt.node, tt.first, tt.last, tt.secret, func() int64 { t.Error("New read the clock"); return 0 })
			if err != tt.want[v] || (g.generator == nil) != (err != nil) {
				t.Errorf("version %d: %+v: %v", v+1, tt, err)
			}
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

// The clock goes anywhere, at both ends of the format, in between and where the raw value gets its top bit, which is 2041-10-31. A
// refusal uses nothing up, and an extended lease gives no second back.
func TestClock(t *testing.T) {
	for _, first := range []int64{epoch, start, epoch + 1<<29 - 1, maximum - 102} {
		steps := []struct {
			now, last int64 // in seconds of the lease
			n         int
			want      [2]outcome
		}{
			{-1, 100, 1, both(0, 0, lease)}, {0, 100, 10, both(10, 0, good)},
			{-1, 100, 10, [2]outcome{{10, 0, good}, {0, 0, lease}}}, {-11, 100, 1, both(0, 0, lease)}, // v1.8: in the second in use
			{50, 100, capacity + 1, both(capacity, 50, used)}, {50, 100, 1, both(0, 0, used)}, {49, 100, 1, both(0, 0, backward)},
			{51, 100, 1000, both(1000, 51, good)},
			{50, 100, 1000, [2]outcome{{1000, 51, good}, {0, 0, backward}}},
			{41, 100, 1000, [2]outcome{{1000, 51, good}, {0, 0, backward}}},
			{40, 100, 1, both(0, 0, backward)}, {0, 100, 1, both(0, 0, backward)}, {-12, 100, 1, both(0, 0, lease)},
			{50, 100, capacity, [2]outcome{{capacity - 3000, 51, backward}, {0, 0, backward}}},
			{51, 100, 1, [2]outcome{{0, 0, used}, {1, 51, good}}},
			{101, 100, 1, both(0, 0, lease)}, {-first, 100, 1, both(0, 0, lease)}, {maximum + 1 - first, 100, 1, both(0, 0, dead)},
			{100, 100, 1000, both(1000, 100, good)}, {101, 102, 1000, both(1000, 101, good)}, {102, 102, capacity + 1, both(capacity, 102, used)},
		}
		for v := range versions {
			now, calls := first, 0
			g := newVersion(t, v, first, first+100, func() int64 { calls++; return now })
			l := newLedger(t, g)
			for i, step := range steps {
				want, ids := step.want[v], make([]int64, step.n)
				g.extend(node, first, first+step.last)
				now, calls = first+step.now, 0
				n, err := l.Take(ids, idtest.One(g.generator.Generate))
				if n != want.n || err != want.err[v] || err == nil && want.second == step.now && step.last == 100 && calls != n {
					t.Errorf("v%d, from %d, step %d: %d IDs, %v, by %d calls of the clock, want %d, %v", v+1, first, i, n, err, calls, want.n, want.err[v])
				}
				for _, id := range ids[:n] {
					if second, _, _ := g.inspect(id); second != first+want.second {
						t.Fatalf("v%d, from %d, step %d: an ID of second %d", v+1, first, i, second-first)
					}
				}
				if n > 0 {
					continue
				}
				if text, again := g.generator.GenerateString(); again != err || text != "" {
					t.Errorf("v%d, from %d, step %d: GenerateString = %q, %v", v+1, first, i, text, again)
				}
			}
		}
	}
}

func TestExtendLease(t *testing.T) {
	late := errs{v1.ErrInvalidLease, nil} // to v2 it is no extension, and no error
	for v := range versions {
		g, last := newVersion(t, v, start, start+10, nil), int64(start+10)
		for _, tt := range []struct {
			node, first, last int64
			want              errs
		}{
			{node, start, start + 10, late}, {node, start, start + 9, late}, {node, start, start - 1, lease}, {node, start, math.MinInt64, lease},
			{node, start + 1, start + 20, lease}, {node, start - 1, start + 20, lease}, {node + 1, start, start + 20, lease},
			{node, start, maximum + 1, lease}, {node, start, math.MaxInt64, lease},
			{node, start, start + 11, good}, {node, start, start + 11, late}, {node, start, maximum, good}, {node, start, start + 12, late},
		} {
			if tt.want == good {
				last = tt.last
			}
			err := g.extend(tt.node, tt.first, tt.last)
			if err != tt.want[v] || g.lease() != (v1.LeaseInfo{NodeID: node, LeaseStart: start, LeaseEnd: last}) {
				t.Errorf("v%d: node %d, %d to %d: %v, lease %+v", v+1, tt.node, tt.first, tt.last, err, g.lease())
			}
		}
	}
}

// Many goroutines use up three seconds, and in v1 one call alone moves the lease's end; then each sees other seconds, back and forth, in
// the lease and out of it, while the lease grows.
func TestConcurrently(t *testing.T) {
	for v := range versions {
		for wild := range 6 {
			var second, extended, refused atomic.Int64
			g := newVersion(t, v, start, start, func() int64 {
				if wild > 0 {
					return start - 2 + rand.Int64N(40)
				}
				return start + second.Load()
			})
			l := newLedger(t, g)
			for ; second.Load() < 3; second.Add(1) {
				l.AtOnce(capacity>>(5*min(wild, 1)), func(err error) bool {
					if err == backward[v] {
						refused.Add(1)
					}
					if err != nil && err != used[v] && (wild == 0 || err != lease[v] && err != backward[v]) {
						t.Errorf("v%d: %v", v+1, err)
					}
					return wild > 0 || err == nil
				}, func(dst []int64) (int, error) {
					if g.extend(node, start, start+second.Load()*int64(1+19*min(wild, 1))) == nil {
						extended.Add(1)
					}
					return idtest.One(g.generator.Generate)(dst)
				})
			}
			if n := l.Count(); v == 0 && extended.Load() != 2 || wild == 0 && n != 3*capacity || wild > 0 && (n == 0 || refused.Load() == 0) {
				t.Errorf("v%d: %d IDs, and %d steps back; the lease was extended %d times; want %d IDs, or some and steps back, and 2 (in v1)", v+1, n, refused.Load(), extended.Load(), 3*capacity)
			}
		}
	}
}

// The system's clock is the default. The zero generators make nothing.
func TestDefaults(t *testing.T) {
	for v := range versions {
		now := time.Now().Unix()
		g := newVersion(t, v, now, now+3600, nil)
		id, err := g.generator.Generate()
		if second, _, _ := g.inspect(id); err != nil || second < now || second > time.Now().Unix() {
			t.Errorf("v%d: an ID of second %d, %v, made after %d", v+1, second, err, now)
		}
		if n := testing.AllocsPerRun(1000, func() { id, _ := g.generator.Generate(); g.inspect(id) }); n != 0 {
			t.Errorf("v%d: %v allocations", v+1, n)
		}
	}
	one, two, text := new(v1.Generator), new(v2.Generator), fmt.Sprint
	for _, got := range [][2]string{
		{text(one.Generate()), text(0, lease[0])}, {text(one.GenerateString()), text("", lease[0])}, {text(two.Generate()), text(0, lease[1])}, {text(two.GenerateString()), text("", lease[1])},
		{text(one.Inspect(1)), text(0, 0, 0, badKey[0])}, {text(one.InspectString("1")), text(0, 0, 0, badKey[0])}, {text(one.UpdateLease(0, start), one.GetLeaseInfo()), "false {0 0 0}"},
		{text(two.ExtendLease(v2.Lease{Start: start, EndExclusive: start + 1}), two.Lease()), text(lease[1], v2.Lease{})},
	} {
		if got[0] != got[1] {
			t.Errorf("a zero generator: %s, want %s", got[0], got[1])
		}
	}
}

// Sequences count up from 0. Of the vectors far into their second only some are made, to save time.
func TestVectors(t *testing.T) {
	for i, vector := range idtest.Vectors(t, "../testdata/randflake.json") {
		for v, make := range versions {
			g, err := make(int64(vector.Node), vector.Timestamp, vector.Timestamp, vector.Secret, func() int64 { return vector.Timestamp })
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprint(vector.Timestamp, vector.Node, vector.Sequence)
			id, err := g.decode(vector.Text)
			if id != vector.ID || err != nil || g.open(vector.Text) != want+" <nil>" || fmt.Sprint(g.inspect(id)) != want || g.encode(id) != vector.Text {
				t.Errorf("v%d: %s is %d, %v, and opens to %s, want %+v", v+1, vector.Text, id, err, g.open(vector.Text), vector)
			}
			if vector.Sequence > 1000 && i%16 != v {
				continue
			}
			for range vector.Sequence {
				g.generator.Generate()
			}
			if text, err := g.generator.GenerateString(); text != vector.Text || err != nil {
				t.Errorf("v%d: made %s, %v, want %+v", v+1, text, err, vector)
			}
		}
	}
}

// v1.8 reads upper case and leading zeros, v2 the one text of an ID.
func TestText(t *testing.T) {
	loose := map[string]int64{"00": 0, "0v": 31, "000000000000v": 31, "V": 31, "3VGOE12CCB8GH": 4594531474933654033, "0000000000000": 0}
	bad := []string{"", "=", "3vgoe12ccb8gh=", "w", "W", "-1", "+1", " 1", "1 ", "1\n", "0x1", "é", "1\x00", "1_0", "g000000000000", "vvvvvvvvvvvvv", "10000000000000", "00000000000000", strings.Repeat("1", 1000)}
	for text, want := range loose {
		if id, err := v1.DecodeString(text); id != want || err != nil {
			t.Errorf("v1: DecodeString(%q) = %d, %v, want %d", text, id, err, want)
		}
	}
	for v := range versions {
		g := newVersion(t, v, epoch, epoch, nil)
		for _, text := range bad {
			if id, err := g.decode(text); id != 0 || err != badID[v] || g.open(text) != fmt.Sprint(0, 0, 0, err) {
				t.Errorf("v%d: DecodeString(%q) = %d, %v", v+1, text, id, err)
			}
		}
		bad = slices.AppendSeq(bad, maps.Keys(loose))
	}
}
