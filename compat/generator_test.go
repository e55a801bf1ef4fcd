package randflake_test

import (
	"math"
	"math/rand/v2"
	"slices"
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

func newGenerator(t testing.TB, leaseStart, leaseEnd int64) *randflake.Generator {
	t.Helper()
	g, err := randflake.NewGenerator(node, leaseStart, leaseEnd, secret)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// newWithClock returns a generator whose time is what the clock holds.
func newWithClock(t testing.TB, leaseStart, leaseEnd, now int64) (*randflake.Generator, *atomic.Int64) {
	t.Helper()
	g := newGenerator(t, leaseStart, leaseEnd)
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

// repeats returns how many IDs come a second time.
func repeats(ids []int64) int {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return len(ids) - len(slices.Compact(ids))
}

func TestRepeatsFindsAPlantedOne(t *testing.T) {
	g, _ := newWithClock(t, start, start, start)
	ids, err := generate(g, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if n := repeats(ids); n != 0 {
		t.Errorf("%d repeats among distinct IDs", n)
	}
	if n := repeats(append(ids, ids[500])); n != 1 {
		t.Errorf("found %d repeats, want the planted one", n)
	}
}

func TestNewGeneratorErrors(t *testing.T) {
	const (
		badNode  = randflake.RANDFLAKE_MAX_NODE + 1
		tooEarly = epoch - 1
		tooLate  = maximum + 1
	)
	good, short, long := secret, secret[:15], append(slices.Clone(secret), 0)
	for _, tt := range []struct {
		name                       string
		node, leaseStart, leaseEnd int64
		secret                     []byte
		want                       error
	}{
		{"good", 1, start, start + 10, good, nil},
		{"one second", 1, start, start, good, nil},
		{"widest", randflake.RANDFLAKE_MAX_NODE, epoch, maximum, good, nil},
		{"first second", 0, epoch, epoch, good, nil},
		{"last second", 0, maximum, maximum, good, nil},

		{"end before start", 1, start, start - 1, good, randflake.ErrInvalidLease},
		{"node below", -1, start, start, good, randflake.ErrInvalidNode},
		{"node far below", math.MinInt64, start, start, good, randflake.ErrInvalidNode},
		{"node above", badNode, start, start, good, randflake.ErrInvalidNode},
		{"node above 32 bits", 1 << 32, start, start, good, randflake.ErrInvalidNode},
		{"start too early", 1, tooEarly, start, good, randflake.ErrInvalidLease},
		{"start far too early", 1, math.MinInt64, start, good, randflake.ErrInvalidLease},
		{"end too late", 1, start, tooLate, good, randflake.ErrRandflakeDead},
		{"end far too late", 1, start, math.MaxInt64, good, randflake.ErrRandflakeDead},
		{"start and end too late", 1, tooLate, tooLate, good, randflake.ErrRandflakeDead},
		{"no secret", 1, start, start, nil, randflake.ErrInvalidSecret},
		{"short secret", 1, start, start, short, randflake.ErrInvalidSecret},
		{"long secret", 1, start, start, long, randflake.ErrInvalidSecret},
		{"zero secret, as in v1.8", 1, start, start, make([]byte, 16), nil},

		// Where several conditions hold at once, the first one counts.
		{"order, all", badNode, math.MaxInt64, tooEarly, short, randflake.ErrInvalidLease},
		{"end before start, then node", badNode, start, start - 1, good, randflake.ErrInvalidLease},
		{"end before start, then end too late", 1, tooLate + 1, tooLate, good, randflake.ErrInvalidLease},
		{"end before start, then secret", 1, start, start - 1, short, randflake.ErrInvalidLease},
		{"node, then start too early", badNode, tooEarly, start, good, randflake.ErrInvalidNode},
		{"node, then end too late", badNode, start, tooLate, good, randflake.ErrInvalidNode},
		{"node, then the rest", badNode, tooEarly, tooLate, short, randflake.ErrInvalidNode},
		{"start too early, then end too late", 1, tooEarly, tooLate, good, randflake.ErrInvalidLease},
		{"start too early, then secret", 1, tooEarly, start, short, randflake.ErrInvalidLease},
		{"end too late, then secret", 1, start, tooLate, short, randflake.ErrRandflakeDead},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := randflake.NewGenerator(tt.node, tt.leaseStart, tt.leaseEnd, tt.secret)
			if err != tt.want {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if (g == nil) != (tt.want != nil) {
				t.Errorf("generator %p with error %v", g, err)
			}
		})
	}
}

func TestSecretIsCopied(t *testing.T) {
	key := slices.Clone(secret)
	g, err := randflake.NewGenerator(node, start, start, key)
	if err != nil {
		t.Fatal(err)
	}
	clear(key)
	g.TimeSource = func() int64 { return start }
	id, err := g.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if timestamp, n, _, _ := newGenerator(t, start, start).Inspect(id); timestamp != start || n != node {
		t.Errorf("the ID opens to second %d of node %d, want %d of %d", timestamp, n, start, node)
	}
}

func TestGenerateWithinLease(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		leaseStart, leaseEnd int64
		now                  int64
		want                 error
	}{
		{"first second", start, start + 10, start, nil},
		{"last second, which is included", start, start + 10, start + 10, nil},
		{"only second", start, start, start, nil},
		{"the epoch", epoch, start, epoch, nil},
		{"the last second of all", start, maximum, maximum, nil},
		{"before", start, start + 10, start - 1, randflake.ErrInvalidLease},
		{"far before", start, start + 10, 0, randflake.ErrInvalidLease},
		{"after", start, start + 10, start + 11, randflake.ErrInvalidLease},
		{"after the last second of all", start, maximum, maximum + 1, randflake.ErrRandflakeDead},
		{"after the last second of all, the lease long ended", start, start, maximum + 1, randflake.ErrRandflakeDead},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, _ := newWithClock(t, tt.leaseStart, tt.leaseEnd, tt.now)
			id, err := g.Generate()
			if err != tt.want {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			text, textErr := g.GenerateString()
			if textErr != tt.want {
				t.Fatalf("GenerateString: error %v, want %v", textErr, tt.want)
			}
			if tt.want != nil {
				if id != 0 || text != "" {
					t.Errorf("got %d and %q with an error", id, text)
				}
				return
			}
			timestamp, n, _, err := g.Inspect(id)
			if timestamp != tt.now || n != node || err != nil {
				t.Errorf("Inspect = %d, %d, %v, want %d, %d", timestamp, n, err, tt.now, node)
			}
			timestamp, n, _, err = g.InspectString(text)
			if timestamp != tt.now || n != node || err != nil {
				t.Errorf("InspectString = %d, %d, %v, want %d, %d", timestamp, n, err, tt.now, node)
			}
		})
	}
}

// TestSecondIsUsedUp asks for twice what a second has, on a fresh lease and on an old one.
func TestSecondIsUsedUp(t *testing.T) {
	for name, age := range map[string]int64{"fresh": 0, "an hour old": 3600} {
		t.Run(name, func(t *testing.T) {
			g, clock := newWithClock(t, start, start+7200, start+age)
			var ids []int64
			for second := range int64(2) {
				clock.Store(start + age + second)
				made, err := generate(g, 2*capacity)
				if err != randflake.ErrResourceExhausted {
					t.Errorf("error %v, want ErrResourceExhausted", err)
				}
				if len(made) != capacity {
					t.Errorf("%d IDs, want %d", len(made), capacity)
				}
				if more, err := generate(g, 1); err != randflake.ErrResourceExhausted {
					t.Errorf("after the last one: %d IDs, %v", len(more), err)
				}
				ids = append(ids, made...)
			}
			if n := repeats(ids); n != 0 {
				t.Errorf("%d of %d IDs are repeats", n, len(ids))
			}
		})
	}
}

// TestStepBackAfterRollover has the clock go back to a second that was used up, and to others.
func TestStepBackAfterRollover(t *testing.T) {
	g, clock := newWithClock(t, start, start+7200, start+100)
	var ids []int64
	step := func(second int64, n, wantMade int, want error) {
		t.Helper()
		clock.Store(start + second)
		made, err := generate(g, n)
		if len(made) != wantMade || err != want {
			t.Errorf("at second %d: %d IDs, %v, want %d, %v", second, len(made), err, wantMade, want)
		}
		ids = append(ids, made...)
	}
	step(100, capacity+1, capacity, randflake.ErrResourceExhausted)
	step(101, 1000, 1000, nil)
	step(100, 1000, 1000, nil) // in the second 101
	step(91, 1000, 1000, nil)
	step(90, 1, 0, randflake.ErrConsistencyViolation)
	step(0, 1, 0, randflake.ErrConsistencyViolation)
	step(-1, 1, 0, randflake.ErrInvalidLease)
	step(7201, 1, 0, randflake.ErrInvalidLease)
	step(101, 1000, 1000, nil)
	clock.Store(start + 100)
	rest, err := generate(g, capacity)
	if err != randflake.ErrConsistencyViolation {
		t.Errorf("a second ahead of the clock used up: error %v, want ErrConsistencyViolation", err)
	}
	ids = append(ids, rest...)
	step(101, 1, 0, randflake.ErrResourceExhausted)
	step(102, 1000, 1000, nil)
	if n := repeats(ids); n != 0 {
		t.Errorf("%d of %d IDs are repeats", n, len(ids))
	}
	for _, id := range ids {
		if timestamp, _, _, _ := g.Inspect(id); timestamp < start+100 || timestamp > start+102 {
			t.Fatalf("ID %d carries second %d", id, timestamp-start)
		}
	}
}

func TestStepBackBeforeLease(t *testing.T) {
	g, clock := newWithClock(t, start, start+10, start)
	ids, err := generate(g, 10)
	if err != nil {
		t.Fatal(err)
	}
	clock.Store(start - 1)
	more, err := generate(g, 10)
	if err != nil {
		t.Fatal(err)
	}
	if n := repeats(append(ids, more...)); n != 0 {
		t.Errorf("%d repeats", n)
	}
	if timestamp, _, _, _ := g.Inspect(more[0]); timestamp != start {
		t.Errorf("second %d of the lease, want the one in use", timestamp-start)
	}
	clock.Store(start - 11)
	if _, err := g.Generate(); err != randflake.ErrInvalidLease {
		t.Errorf("error %v, want ErrInvalidLease", err)
	}
}

// TestTimeSourceCalls: a TimeSource that counts or follows a script sees one call for an ID.
func TestTimeSourceCalls(t *testing.T) {
	g := newGenerator(t, start, start+5000)
	now := int64(start)
	g.TimeSource = func() int64 { now++; return now - 1 }
	for i := range int64(5000) {
		id, err := g.Generate()
		if err != nil {
			t.Fatal(err)
		}
		if timestamp, _, _, _ := g.Inspect(id); timestamp != start+i {
			t.Fatalf("ID %d carries second %d", i, timestamp-start)
		}
	}
}

// TestTopBit opens IDs whose raw value has its top bit set, as it is after 2041-10-31.
func TestTopBit(t *testing.T) {
	const first = epoch + 1<<29
	if date := time.Unix(first, 0).UTC().Format(time.DateOnly); date != "2041-10-31" {
		t.Fatalf("the top bit is first set on %s", date)
	}
	for _, second := range []int64{first - 1, first, first + 1, maximum} {
		g, _ := newWithClock(t, second, second, second)
		ids, err := generate(g, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if timestamp, n, _, err := g.Inspect(id); timestamp != second || n != node || err != nil {
				t.Fatalf("Inspect(%d) = %d, %d, %v, want %d, %d", id, timestamp, n, err, second, node)
			}
		}
	}
}

func TestUpdateLease(t *testing.T) {
	g, clock := newWithClock(t, start, start+10, start+11)
	for _, tt := range []struct {
		name                 string
		leaseStart, leaseEnd int64
		want                 bool
		end                  int64 // of the lease afterwards
	}{
		{"same end", start, start + 10, false, start + 10},
		{"earlier end", start, start + 9, false, start + 10},
		{"end before start", start, start - 1, false, start + 10},
		{"end far before start", start, math.MinInt64, false, start + 10},
		{"later start", start + 1, start + 20, false, start + 10},
		{"earlier start", start - 1, start + 20, false, start + 10},
		{"end too late", start, maximum + 1, false, start + 10},
		{"end far too late", start, math.MaxInt64, false, start + 10},
		{"one second later", start, start + 11, true, start + 11},
		{"the same again", start, start + 11, false, start + 11},
		{"the latest", start, maximum, true, maximum},
		{"after the latest", start, maximum, false, maximum},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := g.GetLeaseInfo()
			if before.LeaseEnd < start+11 {
				if _, err := g.Generate(); err != randflake.ErrInvalidLease {
					t.Errorf("before: error %v, want ErrInvalidLease", err)
				}
			}
			if got := g.UpdateLease(tt.leaseStart, tt.leaseEnd); got != tt.want {
				t.Errorf("UpdateLease = %v, want %v", got, tt.want)
			}
			want := randflake.LeaseInfo{NodeID: node, LeaseStart: start, LeaseEnd: tt.end}
			if info := g.GetLeaseInfo(); info != want {
				t.Errorf("lease %+v, want %+v", info, want)
			}
		})
	}
	for _, second := range []int64{start + 11, maximum} {
		clock.Store(second)
		if _, err := g.Generate(); err != nil {
			t.Errorf("at second %d of the lease: %v", second-start, err)
		}
	}
}

// TestUpdateLeaseKeepsPlace: what was handed out before stays handed out.
func TestUpdateLeaseKeepsPlace(t *testing.T) {
	g, _ := newWithClock(t, start, start, start)
	ids, err := generate(g, capacity/2)
	if err != nil {
		t.Fatal(err)
	}
	if !g.UpdateLease(start, start+10) {
		t.Fatal("the lease was not updated")
	}
	rest, err := generate(g, capacity)
	if err != randflake.ErrResourceExhausted {
		t.Errorf("error %v, want ErrResourceExhausted", err)
	}
	ids = append(ids, rest...)
	if n := repeats(ids); n != 0 || len(ids) != capacity {
		t.Errorf("%d IDs with %d repeats, want %d without", len(ids), n, capacity)
	}
}

// TestUpdateLeaseOnce: of many that move the end to the same second, one does.
func TestUpdateLeaseOnce(t *testing.T) {
	g := newGenerator(t, start, start)
	var updated atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for end := int64(start + 1); end <= start+100; end++ {
				if g.UpdateLease(start, end) {
					updated.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := updated.Load(); n > 100 || n < 1 {
		t.Errorf("%d updates are said to have moved the end, want 1 to 100", n)
	}
	if end := g.GetLeaseInfo().LeaseEnd; end != start+100 {
		t.Errorf("the lease ends at %d, want 100", end-start)
	}
}

// TestTimeSourceSwitch sets and clears TimeSource while IDs are being made.
func TestTimeSourceSwitch(t *testing.T) {
	began := time.Now().Unix()
	g := newGenerator(t, began-3600, began+3600)
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
	phase(nil, 1000, nil)
	// The system clock may have moved on since the start, so that the constant one is behind.
	phase(at(0), 2*capacity, randflake.ErrResourceExhausted, randflake.ErrConsistencyViolation)
	phase(nil, 1000, nil, randflake.ErrResourceExhausted)
	phase(at(-3600), 1, randflake.ErrConsistencyViolation)
	phase(nil, 1000, nil, randflake.ErrResourceExhausted)
	phase(at(3000), 1000, nil)
	phase(nil, 1, randflake.ErrConsistencyViolation)
	phase(at(3001), 2*capacity, randflake.ErrResourceExhausted)
	phase(at(3002), 1000, nil)
	if n := repeats(ids); n != 0 {
		t.Errorf("%d of %d IDs are repeats", n, len(ids))
	}
	if len(ids) < capacity+3000 {
		t.Errorf("only %d IDs", len(ids))
	}
}

func TestSystemClock(t *testing.T) {
	before := time.Now().Unix()
	g := newGenerator(t, before, before+3600)
	id, err := g.Generate()
	if err != nil {
		t.Fatal(err)
	}
	after := time.Now().Unix()
	if timestamp, _, _, _ := g.Inspect(id); timestamp < before || timestamp > after {
		t.Errorf("the ID carries second %d, made between %d and %d", timestamp, before, after)
	}
}

// TestConcurrently uses up three seconds from many goroutines, with all methods in use.
func TestConcurrently(t *testing.T) {
	const goroutines = 8
	g, clock := newWithClock(t, start, start, start)
	var ids []int64
	for second := range int64(3) {
		clock.Store(start + second)
		made := make([][]int64, goroutines)
		var wg sync.WaitGroup
		for i := range goroutines {
			wg.Go(func() {
				g.UpdateLease(start, start+second)
				var err error
				made[i], err = generate(g, capacity+1) // which one of them alone does not get
				if err != randflake.ErrResourceExhausted {
					t.Errorf("error %v, want ErrResourceExhausted", err)
				}
				for _, id := range made[i][:min(len(made[i]), 100)] {
					timestamp, n, _, err := g.InspectString(randflake.EncodeString(id))
					if timestamp != start+second || n != node || err != nil {
						t.Errorf("ID %d opens to %d, %d, %v", id, timestamp, n, err)
					}
				}
				if info := g.GetLeaseInfo(); info.LeaseEnd != start+second {
					t.Errorf("lease %+v", info)
				}
			})
		}
		wg.Wait()
		ids = append(ids, slices.Concat(made...)...)
	}
	if n := repeats(ids); n != 0 {
		t.Errorf("%d of %d IDs are repeats", n, len(ids))
	}
	if len(ids) != 3*capacity {
		t.Errorf("%d IDs in three seconds, want %d", len(ids), 3*capacity)
	}
}

func TestZeroGenerator(t *testing.T) {
	var g randflake.Generator
	if id, err := g.Generate(); id != 0 || err != randflake.ErrInvalidLease {
		t.Errorf("Generate = %d, %v, want ErrInvalidLease", id, err)
	}
	if text, err := g.GenerateString(); text != "" || err != randflake.ErrInvalidLease {
		t.Errorf("GenerateString = %q, %v, want ErrInvalidLease", text, err)
	}
	if _, _, _, err := g.Inspect(1); err != randflake.ErrInvalidSecret {
		t.Errorf("Inspect: error %v, want ErrInvalidSecret", err)
	}
	if _, _, _, err := g.InspectString("1"); err != randflake.ErrInvalidSecret {
		t.Errorf("InspectString: error %v, want ErrInvalidSecret", err)
	}
	if g.UpdateLease(0, start) {
		t.Error("UpdateLease made a lease")
	}
	if info := g.GetLeaseInfo(); info != (randflake.LeaseInfo{}) {
		t.Errorf("GetLeaseInfo = %+v, want zeros", info)
	}
}

func TestNoAllocation(t *testing.T) {
	g, _ := newWithClock(t, start, start, start)
	id, err := g.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() { id, _ = g.Generate() }); n != 0 {
		t.Errorf("Generate allocates %v times", n)
	}
	if n := testing.AllocsPerRun(1000, func() { g.Inspect(id) }); n != 0 {
		t.Errorf("Inspect allocates %v times", n)
	}
}

// BenchmarkGenerate goes on with another node whenever a second is used up: that happens long
// before the second is over.
func BenchmarkGenerate(b *testing.B) {
	now := time.Now().Unix()
	var g *randflake.Generator
	nextNode := func() {
		var err error
		if g, err = randflake.NewGenerator(rand.Int64N(capacity), now, now+3600, secret); err != nil {
			b.Fatal(err)
		}
	}
	nextNode()
	for b.Loop() {
		_, err := g.Generate()
		if err == randflake.ErrResourceExhausted {
			nextNode()
			_, err = g.Generate()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInspect(b *testing.B) {
	g := newGenerator(b, start, start)
	id := int64(1)
	for b.Loop() {
		_, _, sequence, err := g.Inspect(id)
		if err != nil {
			b.Fatal(err)
		}
		id += sequence
	}
}
