package randflake_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/compat/v2"
)

const (
	capacity = int(randflake.MaxSequence) + 1 // IDs of one node in one second

	start = randflake.Epoch + 20_000_000 // a second within the leases of these tests
	node  = 4711
)

var secret = []byte("sixteen byte key")

// A fakeClock shows what it is told to. It is safe for concurrent use, but for failing.
type fakeClock struct {
	second  atomic.Int64
	failing error
	calls   atomic.Int64
}

func (c *fakeClock) read() (randflake.UnixSeconds, error) {
	c.calls.Add(1)
	if c.failing != nil {
		return randflake.UnixSeconds(c.second.Load()), c.failing
	}
	return randflake.UnixSeconds(c.second.Load()), nil
}

func (c *fakeClock) set(s randflake.UnixSeconds) { c.second.Store(int64(s)) }

// newGenerator returns a generator for the seconds from first up to end, and its clock, which shows first.
func newGenerator(t testing.TB, first, end randflake.UnixSeconds) (*randflake.Generator, *fakeClock) {
	t.Helper()
	clock := new(fakeClock)
	clock.set(first)
	g, err := randflake.New(randflake.Config{
		Lease:  randflake.Lease{NodeID: node, Start: first, EndExclusive: end},
		Secret: secret,
		Clock:  clock.read,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g, clock
}

// wants has g make an ID, and checks what it holds.
func wants(t *testing.T, g *randflake.Generator, second randflake.UnixSeconds, sequence int) {
	t.Helper()
	id, err := g.Generate()
	want := randflake.Parts{Timestamp: second, NodeID: node, Sequence: uint32(sequence)}
	if parts := g.Inspect(id); parts != want || err != nil {
		t.Fatalf("got %+v, %v, want %+v", parts, err, want)
	}
}

// refuses has g make no ID, in either form.
func refuses(t *testing.T, g *randflake.Generator, want error) {
	t.Helper()
	if id, err := g.Generate(); id != 0 || err != want {
		t.Fatalf("Generate = %d, %v, want %v", id, err, want)
	}
	if text, err := g.GenerateString(); text != "" || err != want {
		t.Fatalf("GenerateString = %q, %v, want %v", text, err, want)
	}
}

func TestNew(t *testing.T) {
	type lease = randflake.Lease
	const badNode = randflake.MaxNodeID + 1
	good, short := secret, secret[:15]
	for _, tt := range []struct {
		name   string
		lease  randflake.Lease
		secret []byte
		want   error
	}{
		{"good", lease{1, start, start + 10}, good, nil},
		{"one second", lease{1, start, start + 1}, good, nil},
		{"widest", lease{randflake.MaxNodeID, randflake.Epoch, randflake.MaxTimestamp + 1}, good, nil},
		{"first second", lease{0, randflake.Epoch, randflake.Epoch + 1}, good, nil},
		{"last second", lease{0, randflake.MaxTimestamp, randflake.MaxTimestamp + 1}, good, nil},
		{"zero secret", lease{1, start, start + 10}, make([]byte, 16), nil},

		{"node", lease{badNode, start, start + 10}, good, randflake.ErrInvalidNode},
		{"highest node there is no ID for", lease{math.MaxUint32, start, start + 10}, good, randflake.ErrInvalidNode},
		{"empty", lease{1, start, start}, good, randflake.ErrInvalidLease},
		{"end before start", lease{1, start, start - 1}, good, randflake.ErrInvalidLease},
		{"zero", lease{}, good, randflake.ErrInvalidLease},
		{"too early", lease{1, randflake.Epoch - 1, start}, good, randflake.ErrInvalidLease},
		{"far too early", lease{1, math.MinInt64, start}, good, randflake.ErrInvalidLease},
		{"too late", lease{1, start, randflake.MaxTimestamp + 2}, good, randflake.ErrInvalidLease},
		{"far too late", lease{1, start, math.MaxInt64}, good, randflake.ErrInvalidLease},
		{"everything", lease{1, math.MinInt64, math.MaxInt64}, good, randflake.ErrInvalidLease},
		{"starts too late", lease{1, randflake.MaxTimestamp + 1, randflake.MaxTimestamp + 2}, good, randflake.ErrInvalidLease},
		{"no secret", lease{1, start, start + 10}, nil, randflake.ErrInvalidSecret},
		{"short secret", lease{1, start, start + 10}, short, randflake.ErrInvalidSecret},
		{"long secret", lease{1, start, start + 10}, append(slices.Clone(good), 0), randflake.ErrInvalidSecret},

		{"node before lease and secret", lease{badNode, start, start}, short, randflake.ErrInvalidNode},
		{"lease before secret", lease{1, start, start}, short, randflake.ErrInvalidLease},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := func() (randflake.UnixSeconds, error) { t.Error("New read the clock"); return 0, nil }
			g, err := randflake.New(randflake.Config{Lease: tt.lease, Secret: tt.secret, Clock: clock})
			if err != tt.want || (g == nil) != (err != nil) {
				t.Fatalf("New = %p, %v, want error %v", g, err, tt.want)
			}
			if g != nil && g.Lease() != tt.lease {
				t.Errorf("Lease() = %+v, want %+v", g.Lease(), tt.lease)
			}
		})
	}
}

func TestSecretIsCopied(t *testing.T) {
	key := slices.Clone(secret)
	g, err := randflake.New(randflake.Config{Lease: randflake.Lease{NodeID: node, Start: start, EndExclusive: start + 1}, Secret: key})
	if err != nil {
		t.Fatal(err)
	}
	clear(key)
	other, _ := newGenerator(t, start, start+1)
	if got, want := g.Inspect(12345), other.Inspect(12345); got != want {
		t.Errorf("12345 opens to %+v, want %+v", got, want)
	}
}

// TestWholeSeconds uses up seconds at both ends of the format and in between: sequences count up from 0, and each second
// has all of them.
func TestWholeSeconds(t *testing.T) {
	for _, first := range []randflake.UnixSeconds{randflake.Epoch, randflake.Epoch + 1<<29 - 1, randflake.MaxTimestamp - 1} {
		g, clock := newGenerator(t, first, first+2)
		for second := first; second < first+2; second++ {
			clock.set(second)
			for sequence := range capacity {
				wants(t, g, second, sequence)
			}
			refuses(t, g, randflake.ErrResourceExhausted)
		}
		clock.set(first)
		refuses(t, g, randflake.ErrConsistencyViolation)
		clock.set(first + 2)
		refuses(t, g, randflake.ErrInvalidLease)
	}
}

// TestClockGoesBack by one second and by more, after one ID and after none.
func TestClockGoesBack(t *testing.T) {
	g, clock := newGenerator(t, start, start+100)
	clock.set(start + 50)
	wants(t, g, start+50, 0)
	for _, back := range []randflake.UnixSeconds{1, 2, 10, 11, 50} {
		clock.set(start + 50 - back)
		refuses(t, g, randflake.ErrConsistencyViolation)
	}
	clock.set(start - 1) // out of the lease counts first
	refuses(t, g, randflake.ErrInvalidLease)
	clock.set(start + 50)
	wants(t, g, start+50, 1) // nothing was used up
	clock.set(start + 51)
	wants(t, g, start+51, 0)
	clock.set(start + 50)
	refuses(t, g, randflake.ErrConsistencyViolation)
}

// TestClockOutsideLease: seconds outside the lease leave nothing behind.
func TestClockOutsideLease(t *testing.T) {
	g, clock := newGenerator(t, start, start+10)
	for _, second := range []randflake.UnixSeconds{
		start + 10, start - 1, randflake.MaxTimestamp, randflake.MaxTimestamp + 1, math.MaxInt64, 0, math.MinInt64,
	} {
		clock.set(second)
		refuses(t, g, randflake.ErrInvalidLease)
	}
	clock.set(start)
	wants(t, g, start, 0)
	clock.set(start + 9)
	wants(t, g, start+9, 0)
}

// TestClockFails: Generate returns the error itself, whatever second comes with it, and uses nothing up.
func TestClockFails(t *testing.T) {
	g, clock := newGenerator(t, start, start+10)
	wants(t, g, start, 0)
	clock.failing = errors.New("no clock")
	for _, second := range []randflake.UnixSeconds{start, start + 5, start - 1, math.MaxInt64} {
		clock.set(second)
		refuses(t, g, clock.failing)
	}
	clock.failing = nil
	clock.set(start)
	wants(t, g, start, 1)
}

// TestClockIsReadOnce for an ID, also for the first one of a second.
func TestClockIsReadOnce(t *testing.T) {
	g, clock := newGenerator(t, start, start+10)
	for i := range 10 {
		clock.set(start + randflake.UnixSeconds(i/2))
		wants(t, g, start+randflake.UnixSeconds(i/2), i%2)
	}
	if n := clock.calls.Load(); n != 10 {
		t.Errorf("the clock was read %d times for 10 IDs", n)
	}
}

func TestExtendLease(t *testing.T) {
	type lease = randflake.Lease
	g, clock := newGenerator(t, start, start+10)
	for _, tt := range []struct {
		name string
		next lease
		want error
		end  randflake.UnixSeconds // of the lease after that
	}{
		{"same", lease{node, start, start + 10}, nil, start + 10},
		{"earlier end", lease{node, start, start + 1}, nil, start + 10},
		{"empty", lease{node, start, start}, randflake.ErrInvalidLease, start + 10},
		{"end before start", lease{node, start, math.MinInt64}, randflake.ErrInvalidLease, start + 10},
		{"other node", lease{node + 1, start, start + 20}, randflake.ErrInvalidLease, start + 10},
		{"other node, earlier end", lease{node + 1, start, start + 5}, randflake.ErrInvalidLease, start + 10},
		{"node that can't be", lease{math.MaxUint32, start, start + 20}, randflake.ErrInvalidLease, start + 10},
		{"later start", lease{node, start + 1, start + 20}, randflake.ErrInvalidLease, start + 10},
		{"earlier start", lease{node, start - 1, start + 20}, randflake.ErrInvalidLease, start + 10},
		{"too late", lease{node, start, randflake.MaxTimestamp + 2}, randflake.ErrInvalidLease, start + 10},
		{"far too late", lease{node, start, math.MaxInt64}, randflake.ErrInvalidLease, start + 10},
		{"one second more", lease{node, start, start + 11}, nil, start + 11},
		{"the latest", lease{node, start, randflake.MaxTimestamp + 1}, nil, randflake.MaxTimestamp + 1},
		{"no shorter again", lease{node, start, start + 11}, nil, randflake.MaxTimestamp + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := g.ExtendLease(tt.next); err != tt.want {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if got, want := g.Lease(), (lease{node, start, tt.end}); got != want {
				t.Errorf("lease %+v, want %+v", got, want)
			}
			clock.set(tt.end - 1)
			if _, err := g.Generate(); err != nil {
				t.Errorf("in the last second: %v", err)
			}
			clock.set(tt.end)
			refuses(t, g, randflake.ErrInvalidLease)
		})
	}
}

// TestExtendLeaseKeepsPlace: an extension gives no second back, though the lease had ended.
func TestExtendLeaseKeepsPlace(t *testing.T) {
	g, clock := newGenerator(t, start, start+1)
	wants(t, g, start, 0)
	clock.set(start + 5)
	refuses(t, g, randflake.ErrInvalidLease)
	if err := g.ExtendLease(randflake.Lease{NodeID: node, Start: start, EndExclusive: start + 6}); err != nil {
		t.Fatal(err)
	}
	clock.set(start)
	wants(t, g, start, 1)
	clock.set(start + 5)
	wants(t, g, start+5, 0)
	clock.set(start)
	refuses(t, g, randflake.ErrConsistencyViolation)
}

// TestExtendConcurrently keeps the latest end, while IDs are made.
func TestExtendConcurrently(t *testing.T) {
	g, clock := newGenerator(t, start, start+1)
	var wg sync.WaitGroup
	for i := range randflake.UnixSeconds(64) {
		wg.Go(func() {
			if err := g.ExtendLease(randflake.Lease{NodeID: node, Start: start, EndExclusive: start + 1 + i}); err != nil {
				t.Error(err)
			}
			if end := g.Lease().EndExclusive; end < start+1+i {
				t.Errorf("the lease ends at %d, after an extension to %d", end, start+1+i)
			}
			clock.set(start + i)
			g.Generate()
		})
	}
	wg.Wait()
	if end := g.Lease().EndExclusive; end != start+64 {
		t.Errorf("the lease ends %d seconds after its start, want 64", end-start)
	}
}

// repeats returns how many IDs come a second time.
func repeats(ids []int64) int {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return len(ids) - len(slices.Compact(ids))
}

func TestRepeatsFindsAPlantedOne(t *testing.T) {
	if n := repeats([]int64{3, 1, 2}); n != 0 {
		t.Errorf("%d repeats among distinct IDs", n)
	}
	if n := repeats([]int64{3, 1, 2, 1}); n != 1 {
		t.Errorf("found %d repeats, want the planted one", n)
	}
}

// TestConcurrently uses up three seconds from many goroutines: together they get all that there is.
func TestConcurrently(t *testing.T) {
	g, clock := newGenerator(t, start, start+3)
	var ids []int64
	for second := range randflake.UnixSeconds(3) {
		clock.set(start + second)
		made := make([][]int64, 8)
		var wg sync.WaitGroup
		for i := range made {
			wg.Go(func() {
				for {
					id, err := g.Generate()
					if err != nil {
						if err != randflake.ErrResourceExhausted {
							t.Error(err)
						}
						return
					}
					made[i] = append(made[i], id)
				}
			})
		}
		wg.Wait()
		ids = append(ids, slices.Concat(made...)...)
	}
	if n := repeats(ids); n != 0 || len(ids) != 3*capacity {
		t.Errorf("%d IDs with %d repeats, want %d without", len(ids), n, 3*capacity)
	}
}

// TestWildClock has each goroutine see other seconds, back and forth, in the lease and out of it, while the lease grows.
func TestWildClock(t *testing.T) {
	clock := func() (randflake.UnixSeconds, error) { return start - 2 + randflake.UnixSeconds(rand.IntN(40)), nil }
	for range 20 {
		g, err := randflake.New(randflake.Config{Lease: randflake.Lease{NodeID: node, Start: start, EndExclusive: start + 2}, Secret: secret, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		made := make([][]int64, 8)
		var back atomic.Int64
		var wg sync.WaitGroup
		for i := range made {
			wg.Go(func() {
				var newest randflake.UnixSeconds // no goroutine sees a second after a later one
				for n := range 2000 {
					if n%100 == 0 {
						lease := g.Lease()
						lease.EndExclusive++
						if err := g.ExtendLease(lease); err != nil {
							t.Error(err)
						}
					}
					id, err := g.Generate()
					switch err {
					case nil:
						second := g.Inspect(id).Timestamp
						if second < newest {
							t.Errorf("second %d after %d", second-start, newest-start)
						}
						newest = second
						made[i] = append(made[i], id)
					case randflake.ErrConsistencyViolation:
						back.Add(1)
					case randflake.ErrInvalidLease:
					default:
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		ids := slices.Concat(made...)
		if n := repeats(ids); n != 0 {
			t.Errorf("%d of %d IDs are repeats", n, len(ids))
		}
		if back.Load() == 0 || len(ids) == 0 {
			t.Errorf("%d IDs, and %d steps back: this tested nothing", len(ids), back.Load())
		}
	}
}

// TestStaleReading: a goroutine that is held up with an old reading does not see the clock go back, as it didn't.
func TestStaleReading(t *testing.T) {
	for _, ahead := range []randflake.UnixSeconds{1, 10, 11, 99} {
		var g *randflake.Generator
		calls := 0
		g, err := randflake.New(randflake.Config{
			Lease:  randflake.Lease{NodeID: node, Start: start, EndExclusive: start + 200},
			Secret: secret,
			Clock: func() (randflake.UnixSeconds, error) {
				switch calls++; calls {
				case 1:
					return start, nil
				case 2: // another goroutine comes in between
					wants(t, g, start+100+ahead, 0)
					return start + 100, nil
				default:
					return start + 100 + ahead, nil
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		wants(t, g, start, 0)
		wants(t, g, start+100+ahead, 1)
	}
}

func TestSystemClock(t *testing.T) {
	before := randflake.UnixSeconds(time.Now().Unix())
	g, err := randflake.New(randflake.Config{Lease: randflake.Lease{NodeID: node, Start: before, EndExclusive: before + 3600}, Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	id, err := g.Generate()
	if err != nil {
		t.Fatal(err)
	}
	after := randflake.UnixSeconds(time.Now().Unix())
	if second := g.Inspect(id).Timestamp; second < before || second > after {
		t.Errorf("the ID carries second %d, made between %d and %d", second, before, after)
	}
}

func TestZeroGenerator(t *testing.T) {
	var g randflake.Generator
	refuses(t, &g, randflake.ErrInvalidLease)
	if lease := g.Lease(); lease != (randflake.Lease{}) {
		t.Errorf("Lease() = %+v, want zeros", lease)
	}
	if err := g.ExtendLease(randflake.Lease{Start: start, EndExclusive: start + 1}); err != randflake.ErrInvalidLease {
		t.Errorf("ExtendLease: error %v, want ErrInvalidLease", err)
	}
}

func TestNoAllocation(t *testing.T) {
	g, _ := newGenerator(t, start, start+1)
	var id int64
	if n := testing.AllocsPerRun(1000, func() { id, _ = g.Generate() }); n != 0 {
		t.Errorf("Generate allocates %v times", n)
	}
	if n := testing.AllocsPerRun(1000, func() { g.Inspect(id) }); n != 0 {
		t.Errorf("Inspect allocates %v times", n)
	}
}
