package randflake_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/compat"
)

const (
	epoch    = randflake.RANDFLAKE_EPOCH_OFFSET
	maximum  = randflake.RANDFLAKE_MAX_TIMESTAMP
	capacity = randflake.RANDFLAKE_MAX_SEQUENCE + 1 // IDs of one node in one second

	start = epoch + 20_000_000 // a second within the leases of these tests
	node  = 4711
)

var secret = []byte("sixteen byte key")

// newGenerator returns a generator whose time is what the clock holds.
func newGenerator(t testing.TB, leaseStart, leaseEnd, now int64) (*randflake.Generator, *atomic.Int64) {
	t.Helper()
	key := slices.Clone(secret)
	g, err := randflake.NewGenerator(node, leaseStart, leaseEnd, key)
	if err != nil {
		t.Fatal(err)
	}
	clear(key) // it was copied
	clock := new(atomic.Int64)
	clock.Store(now)
	g.TimeSource = clock.Load
	return g, clock
}

// generate makes up to n IDs, and says why if it made fewer.
func generate(g *randflake.Generator, n int) (ids []int64, err error) {
	for range n {
		id, err := g.Generate()
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// distinct reports whether no ID comes a second time.
func distinct(ids []int64) bool {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return len(ids) == len(slices.Compact(ids))
}

func TestNewGeneratorErrors(t *testing.T) {
	const (
		badNode  = randflake.RANDFLAKE_MAX_NODE + 1
		tooEarly = epoch - 1
		tooLate  = maximum + 1
	)
	good, short, long := secret, secret[:15], append(slices.Clone(secret), 0)
	for _, tt := range []struct {
		node, leaseStart, leaseEnd int64
		secret                     []byte
		want                       error
	}{
		{1, start, start + 10, good, nil},
		{1, start, start, good, nil},
		{randflake.RANDFLAKE_MAX_NODE, epoch, maximum, good, nil},
		{0, epoch, epoch, good, nil},
		{0, maximum, maximum, good, nil},
		{1, start, start, make([]byte, 16), nil}, // as in v1.8
		// Of several conditions the first one counts.
		{badNode, math.MaxInt64, tooEarly, short, randflake.ErrInvalidLease},
		{1, start, start - 1, short, randflake.ErrInvalidLease},
		{1, tooLate + 1, tooLate, good, randflake.ErrInvalidLease},
		{badNode, tooEarly, tooLate, short, randflake.ErrInvalidNode},
		{-1, start, start, good, randflake.ErrInvalidNode},
		{math.MinInt64, start, start, good, randflake.ErrInvalidNode},
		{1 << 32, start, start, good, randflake.ErrInvalidNode},
		{1, tooEarly, tooLate, short, randflake.ErrInvalidLease},
		{1, math.MinInt64, start, good, randflake.ErrInvalidLease},
		{1, start, tooLate, short, randflake.ErrRandflakeDead},
		{1, start, math.MaxInt64, good, randflake.ErrRandflakeDead},
		{1, tooLate, tooLate, good, randflake.ErrRandflakeDead},
		{1, start, start, nil, randflake.ErrInvalidSecret},
		{1, start, start, short, randflake.ErrInvalidSecret},
		{1, start, start, long, randflake.ErrInvalidSecret},
	} {
		g, err := randflake.NewGenerator(tt.node, tt.leaseStart, tt.leaseEnd, tt.secret)
		if err != tt.want || (g == nil) != (tt.want != nil) {
			t.Errorf("%+v: %p, %v", tt, g, err)
		}
	}
}

// TestClock: the clock goes to seconds that were used up, and to others, in the lease and out of it, while the lease grows.
func TestClock(t *testing.T) {
	const top = epoch + 1<<29 // the raw value has its top bit set from here on, which is 2041-10-31
	for _, first := range []int64{epoch, start, top - 1, maximum - 102} {
		g, clock := newGenerator(t, first, first+100, first)
		var ids []int64
		for i, step := range []struct {
			now, end int64 // in seconds of the lease
			n, want  int
			err      error
			made     int64 // the second in the IDs
		}{
			{-1, 100, 1, 0, randflake.ErrInvalidLease, 0},
			{0, 100, 10, 10, nil, 0},
			{-1, 100, 10, 10, nil, 0}, // in the second in use
			{-11, 100, 1, 0, randflake.ErrInvalidLease, 0},
			{50, 100, capacity + 1, capacity, randflake.ErrResourceExhausted, 50},
			{50, 100, 1, 0, randflake.ErrResourceExhausted, 0},
			{51, 100, 1000, 1000, nil, 51},
			{50, 100, 1000, 1000, nil, 51},
			{41, 100, 1000, 1000, nil, 51},
			{40, 100, 1, 0, randflake.ErrConsistencyViolation, 0},
			{0, 100, 1, 0, randflake.ErrConsistencyViolation, 0},
			{-12, 100, 1, 0, randflake.ErrInvalidLease, 0},
			{50, 100, capacity, capacity - 3003, randflake.ErrConsistencyViolation, 51},
			{51, 100, 1, 0, randflake.ErrResourceExhausted, 0},
			{101, 100, 1, 0, randflake.ErrInvalidLease, 0},
			{maximum + 1 - first, 100, 1, 0, randflake.ErrRandflakeDead, 0},
			{100, 100, 1000, 1000, nil, 100}, // the last second is in the lease
			{101, 102, 1000, 1000, nil, 101}, // and what was made stays made
			{102, 102, capacity + 1, capacity, randflake.ErrResourceExhausted, 102},
		} {
			clock.Store(first + step.now)
			g.UpdateLease(first, first+step.end)
			made, err := generate(g, step.n)
			if len(made) != step.want || err != step.err {
				t.Errorf("from %d, step %d, at second %d: %d IDs, %v, want %d, %v", first, i, step.now, len(made), err, step.want, step.err)
			}
			if text, err := g.GenerateString(); err != step.err && step.want == 0 || err != nil && text != "" {
				t.Errorf("GenerateString = %q, %v", text, err)
			} else if err == nil {
				id, _ := randflake.DecodeString(text)
				made = append(made, id)
			}
			for _, id := range made {
				if second, n, _, err := g.Inspect(id); second != first+step.made || n != node || err != nil {
					t.Fatalf("from %d, step %d: ID of second %d, node %d, %v", first, i, second-first, n, err)
				}
			}
			ids = append(ids, made...)
		}
		if !distinct(ids) {
			t.Error("an ID was made twice")
		}
	}
}

func TestUpdateLease(t *testing.T) {
	g, _ := newGenerator(t, start, start+10, start)
	for _, tt := range []struct {
		leaseStart, leaseEnd int64
		want                 bool
	}{
		{start, start + 10, false},
		{start, start + 9, false},
		{start, start - 1, false},
		{start, math.MinInt64, false},
		{start + 1, start + 20, false},
		{start - 1, start + 20, false},
		{start, maximum + 1, false},
		{start, math.MaxInt64, false},
		{start, start + 11, true},
		{start, start + 11, false},
		{start, maximum, true},
		{start, maximum, false},
	} {
		want := g.GetLeaseInfo()
		if tt.want {
			want = randflake.LeaseInfo{NodeID: node, LeaseStart: start, LeaseEnd: tt.leaseEnd}
		}
		if got := g.UpdateLease(tt.leaseStart, tt.leaseEnd); got != tt.want || g.GetLeaseInfo() != want {
			t.Errorf("UpdateLease(%d, %d) = %v, lease %+v, want %+v", tt.leaseStart-start, tt.leaseEnd-start, got, g.GetLeaseInfo(), want)
		}
	}
}

// TestTimeSource sets and clears TimeSource while IDs are being made. It sees one call for an ID.
func TestTimeSource(t *testing.T) {
	began := time.Now().Unix()
	g, _ := newGenerator(t, began-3600, began+3600, 0)
	var ids []int64
	phase := func(source func() int64, n int, want ...error) {
		t.Helper()
		g.TimeSource = source
		made, err := generate(g, n)
		if !slices.Contains(want, err) {
			t.Errorf("after %d IDs: error %v, want one of %v", len(made), err, want)
		}
		ids = append(ids, made...)
	}
	at := func(second int64) func() int64 { return func() int64 { return began + second } }
	counting := began - 3000
	phase(func() int64 { counting++; return counting - 1 }, 1000, nil)
	for i, id := range ids {
		if second, _, _, _ := g.Inspect(id); second != began-3000+int64(i) {
			t.Fatalf("ID %d carries second %d", i, second-began)
		}
	}
	phase(nil, 1000, nil)
	if second, _, _, _ := g.Inspect(ids[1000]); second < began || second > time.Now().Unix() {
		t.Errorf("by the system clock: second %d", second-began)
	}
	// The system clock may have moved on since the start, so that the constant one is behind.
	phase(at(0), 2*capacity, randflake.ErrResourceExhausted, randflake.ErrConsistencyViolation)
	phase(nil, 1000, nil, randflake.ErrResourceExhausted)
	phase(at(-3600), 1, randflake.ErrConsistencyViolation)
	phase(at(3000), 1000, nil)
	phase(nil, 1, randflake.ErrConsistencyViolation)
	phase(at(3001), 2*capacity, randflake.ErrResourceExhausted)
	if !distinct(ids) || len(ids) < 2*capacity {
		t.Errorf("%d IDs, all different: %v", len(ids), distinct(ids))
	}
}

// TestConcurrently uses up three seconds from many goroutines, with all methods in use; of those that move the lease's end to the
// same second, at most one does.
func TestConcurrently(t *testing.T) {
	g, clock := newGenerator(t, start, start, start)
	var ids []int64
	var updated atomic.Int64
	for second := range int64(3) {
		clock.Store(start + second)
		made := make([][]int64, 8)
		var wg sync.WaitGroup
		for i := range made {
			wg.Go(func() {
				if g.UpdateLease(start, start+second) {
					updated.Add(1)
				}
				var err error
				made[i], err = generate(g, capacity+1) // which one of them alone does not get
				if info := g.GetLeaseInfo(); err != randflake.ErrResourceExhausted || info.LeaseEnd != start+second {
					t.Errorf("error %v, want ErrResourceExhausted; lease %+v", err, info)
				}
				for _, id := range made[i][:min(len(made[i]), 100)] {
					if timestamp, n, _, err := g.InspectString(randflake.EncodeString(id)); timestamp != start+second || n != node || err != nil {
						t.Errorf("ID %d opens to %d, %d, %v", id, timestamp, n, err)
					}
				}
			})
		}
		wg.Wait()
		ids = append(ids, slices.Concat(made...)...)
	}
	if !distinct(ids) || len(ids) != 3*capacity || updated.Load() != 2 {
		t.Errorf("%d IDs in three seconds, want %d different ones; the lease was updated %d times", len(ids), 3*capacity, updated.Load())
	}
}

func TestZeroGenerator(t *testing.T) {
	var g randflake.Generator
	id, err := g.Generate()
	text, textErr := g.GenerateString()
	if id != 0 || text != "" || err != randflake.ErrInvalidLease || textErr != err {
		t.Errorf("Generate = %d, %v; GenerateString = %q, %v", id, err, text, textErr)
	}
	_, _, _, err = g.Inspect(1)
	_, _, _, textErr = g.InspectString("1")
	if err != randflake.ErrInvalidSecret || textErr != err || g.UpdateLease(0, start) || g.GetLeaseInfo() != (randflake.LeaseInfo{}) {
		t.Errorf("Inspect: %v, InspectString: %v, lease %+v", err, textErr, g.GetLeaseInfo())
	}
}

func TestNoAllocation(t *testing.T) {
	g, _ := newGenerator(t, start, start, start)
	if n := testing.AllocsPerRun(1000, func() { id, _ := g.Generate(); g.Inspect(id) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestVectors opens and makes the IDs of the format's test vectors: sequences count up from 0. To save time, of the vectors far
// into their second only some are made.
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("../testdata/randflake.json")
	if err != nil {
		t.Fatal(err)
	}
	type vector struct {
		Secret                    string
		Timestamp, Node, Sequence int64
		ID                        int64 `json:",string"`
		Text                      string
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(data, &file); err != nil || len(file.Vectors) < 100 {
		t.Fatalf("%d vectors, %v", len(file.Vectors), err)
	}
	zero := false
	for i, v := range file.Vectors {
		key, _ := hex.DecodeString(v.Secret)
		zero = zero || bytes.Equal(key, make([]byte, 16))
		g, err := randflake.NewGenerator(v.Node, v.Timestamp, v.Timestamp, key)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint(v.Timestamp, v.Node, v.Sequence, nil)
		for _, text := range []string{v.Text, strings.ToUpper(v.Text)} {
			id, err := randflake.DecodeString(text)
			if got := fmt.Sprint(g.InspectString(text)); id != v.ID || err != nil || got != want || fmt.Sprint(g.Inspect(v.ID)) != want || randflake.EncodeString(v.ID) != v.Text {
				t.Errorf("%s: %d, %v opens to %s, want %+v", text, id, err, got, v)
			}
		}
		if v.Sequence > 1000 && i%16 != 0 {
			continue
		}
		g.TimeSource = func() int64 { return v.Timestamp }
		if ids, err := generate(g, int(v.Sequence)+1); err != nil || ids[v.Sequence] != v.ID {
			t.Errorf("%d IDs, %v, want as the last one that of %+v", len(ids), err, v)
		}
	}
	if !zero {
		t.Error("no vector of the zero secret")
	}
}

func TestText(t *testing.T) {
	for range 1000 {
		id := int64(rand.Uint64() >> rand.IntN(64))
		if got, err := randflake.DecodeString(randflake.EncodeString(id)); got != id || err != nil {
			t.Errorf("%d came back as %d, %v", id, got, err)
		}
	}
	if id, err := randflake.DecodeString("000000000000v"); id != 31 || err != nil {
		t.Errorf("leading zeros: got %d, %v, want 31", id, err)
	}
	g, _ := newGenerator(t, epoch, epoch, epoch)
	for _, text := range []string{
		"", "=", "3vgoe12ccb8gh=", "w", "W", "-1", "+1", " 1", "1 ", "1\n", "0x1", "é", "1\x00", "1_0",
		"g000000000000", "vvvvvvvvvvvvv", "10000000000000", "00000000000000",
	} {
		if id, err := randflake.DecodeString(text); id != 0 || err != randflake.ErrInvalidID || fmt.Sprint(g.InspectString(text)) != fmt.Sprint(0, 0, 0, err) {
			t.Errorf("DecodeString(%q) = %d, %v, want ErrInvalidID", text, id, err)
		}
	}
}
