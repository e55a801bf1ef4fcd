package randflake_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
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

func newGenerator(t testing.TB, first, end randflake.UnixSeconds, clock randflake.Clock) *randflake.Generator {
	t.Helper()
	key := slices.Clone(secret)
	g, err := randflake.New(randflake.Config{Lease: randflake.Lease{NodeID: node, Start: first, EndExclusive: end}, Secret: key, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	clear(key) // it was copied
	return g
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
	id, err := g.Generate()
	if text, textErr := g.GenerateString(); id != 0 || err != want || text != "" || textErr != want {
		t.Fatalf("Generate = %d, %v; GenerateString = %q, %v; want %v", id, err, text, textErr, want)
	}
}

func TestNew(t *testing.T) {
	type lease = randflake.Lease
	const badNode = randflake.MaxNodeID + 1
	good, short := secret, secret[:15]
	for _, tt := range []struct {
		lease  lease
		secret []byte
		want   error
	}{
		{lease{1, start, start + 1}, good, nil},
		{lease{randflake.MaxNodeID, randflake.Epoch, randflake.MaxTimestamp + 1}, good, nil},
		{lease{1, start, start + 10}, make([]byte, 16), nil},
		{lease{badNode, start, start}, short, randflake.ErrInvalidNode}, // of several conditions the first one counts
		{lease{math.MaxUint32, start, start + 10}, good, randflake.ErrInvalidNode},
		{lease{1, start, start}, short, randflake.ErrInvalidLease},
		{lease{1, start, start - 1}, good, randflake.ErrInvalidLease},
		{lease{}, good, randflake.ErrInvalidLease},
		{lease{1, randflake.Epoch - 1, start}, good, randflake.ErrInvalidLease},
		{lease{1, math.MinInt64, start}, good, randflake.ErrInvalidLease},
		{lease{1, start, randflake.MaxTimestamp + 2}, good, randflake.ErrInvalidLease},
		{lease{1, start, math.MaxInt64}, good, randflake.ErrInvalidLease},
		{lease{1, randflake.MaxTimestamp + 1, randflake.MaxTimestamp + 2}, good, randflake.ErrInvalidLease},
		{lease{1, start, start + 10}, nil, randflake.ErrInvalidSecret},
		{lease{1, start, start + 10}, short, randflake.ErrInvalidSecret},
		{lease{1, start, start + 10}, append(slices.Clone(good), 0), randflake.ErrInvalidSecret},
	} {
		clock := func() (randflake.UnixSeconds, error) { t.Error("New read the clock"); return 0, nil }
		g, err := randflake.New(randflake.Config{Lease: tt.lease, Secret: tt.secret, Clock: clock})
		if err != tt.want || (g == nil) != (err != nil) || g != nil && g.Lease() != tt.lease {
			t.Errorf("%+v: %p, %v, want %v", tt.lease, g, err, tt.want)
		}
	}
}

// TestClock: the clock goes anywhere, at both ends of the format and in between. It is read once for an ID; a refusal uses
// nothing up; an extension gives no second back.
func TestClock(t *testing.T) {
	broken := errors.New("no clock")
	for _, first := range []randflake.UnixSeconds{randflake.Epoch, randflake.Epoch + 1<<29 - 1, randflake.MaxTimestamp - 120} {
		now, failing, calls := first, error(nil), 0
		g := newGenerator(t, first, first+100, func() (randflake.UnixSeconds, error) { calls++; return now, failing })
		for _, step := range []struct {
			second randflake.UnixSeconds // of the lease
			next   int                   // the sequence of the ID
			err    error
		}{
			{100, 0, randflake.ErrInvalidLease},
			{-1, 0, randflake.ErrInvalidLease},
			{math.MaxInt64 - first, 0, randflake.ErrInvalidLease},
			{-first, 0, randflake.ErrInvalidLease},
			{0, 0, nil},
			{0, 1, nil},
			{50, 0, nil},
			{49, 0, randflake.ErrConsistencyViolation},
			{39, 0, randflake.ErrConsistencyViolation},
			{0, 0, randflake.ErrConsistencyViolation},
			{-1, 0, randflake.ErrInvalidLease},
			{0, 0, broken},
			{-1, 0, broken},
			{80, 0, broken},
			{50, 1, nil},
			{51, 0, nil},
			{50, 0, randflake.ErrConsistencyViolation},
			{99, 0, nil},
			{105, 0, randflake.ErrInvalidLease},
		} {
			now, failing, calls = first+step.second, nil, 0
			if step.err == broken {
				failing = broken
			}
			if step.err != nil {
				refuses(t, g, step.err)
				continue
			}
			if wants(t, g, now, step.next); calls != 1 {
				t.Errorf("the clock was read %d times for an ID", calls)
			}
		}
		for n, end := 1, randflake.UnixSeconds(101); end < 103; n, end = 0, end+1 {
			if err := g.ExtendLease(randflake.Lease{NodeID: node, Start: first, EndExclusive: first + end}); err != nil {
				t.Fatal(err)
			}
			for now = first + end - 2; n < capacity; n++ {
				wants(t, g, now, n)
			}
			refuses(t, g, randflake.ErrResourceExhausted)
			now--
			refuses(t, g, randflake.ErrConsistencyViolation)
		}
	}
}

func TestExtendLease(t *testing.T) {
	type lease = randflake.Lease
	now := start
	g := newGenerator(t, start, start+10, func() (randflake.UnixSeconds, error) { return now, nil })
	for _, tt := range []struct {
		next lease
		want error
		end  randflake.UnixSeconds // of the lease after that
	}{
		{lease{node, start, start + 10}, nil, start + 10},
		{lease{node, start, start + 1}, nil, start + 10},
		{lease{node, start, start}, randflake.ErrInvalidLease, start + 10},
		{lease{node, start, math.MinInt64}, randflake.ErrInvalidLease, start + 10},
		{lease{node + 1, start, start + 20}, randflake.ErrInvalidLease, start + 10},
		{lease{node + 1, start, start + 5}, randflake.ErrInvalidLease, start + 10},
		{lease{node, start + 1, start + 20}, randflake.ErrInvalidLease, start + 10},
		{lease{node, start - 1, start + 20}, randflake.ErrInvalidLease, start + 10},
		{lease{node, start, randflake.MaxTimestamp + 2}, randflake.ErrInvalidLease, start + 10},
		{lease{node, start, math.MaxInt64}, randflake.ErrInvalidLease, start + 10},
		{lease{node, start, start + 11}, nil, start + 11},
		{lease{node, start, randflake.MaxTimestamp + 1}, nil, randflake.MaxTimestamp + 1},
		{lease{node, start, start + 11}, nil, randflake.MaxTimestamp + 1},
	} {
		if err := g.ExtendLease(tt.next); err != tt.want || g.Lease() != (lease{node, start, tt.end}) {
			t.Errorf("%+v: %v, lease %+v", tt.next, err, g.Lease())
		}
		now = tt.end - 1
		if _, err := g.Generate(); err != nil {
			t.Errorf("in the last second: %v", err)
		}
		now = tt.end
		refuses(t, g, randflake.ErrInvalidLease)
	}
}

// TestConcurrently has many goroutines use up three seconds: together they get all that there is. Then each sees other seconds,
// back and forth, in the lease and out of it, while the lease grows.
func TestConcurrently(t *testing.T) {
	for wild := range randflake.UnixSeconds(20) {
		var second atomic.Int64
		clock := func() (randflake.UnixSeconds, error) { return start + randflake.UnixSeconds(second.Load()), nil }
		if wild > 0 {
			clock = func() (randflake.UnixSeconds, error) { return start - 2 + randflake.UnixSeconds(rand.IntN(40)), nil }
		}
		g := newGenerator(t, start, start+3, clock)
		var ids []int64
		refused := map[error]*atomic.Int64{randflake.ErrConsistencyViolation: {}, randflake.ErrInvalidLease: {}, randflake.ErrResourceExhausted: {}}
		for ; second.Load() < 3; second.Add(1) {
			made := make([][]int64, 8)
			var wg sync.WaitGroup
			for i := range made {
				wg.Go(func() {
					var newest randflake.UnixSeconds // no goroutine sees a second after a later one
					for n := 0; n < 1000 || wild == 0; n++ {
						if lease := g.Lease(); wild > 0 && n%100 == 0 {
							lease.EndExclusive++
							if err := g.ExtendLease(lease); err != nil || g.Lease().EndExclusive < lease.EndExclusive {
								t.Errorf("extended to %+v: %+v, %v", lease, g.Lease(), err)
							}
						}
						id, err := g.Generate()
						if err == nil {
							if second := g.Inspect(id).Timestamp; second < newest {
								t.Errorf("second %d after %d", second-start, newest-start)
							} else {
								newest = second
							}
							made[i] = append(made[i], id)
							continue
						}
						if refused[err] == nil || wild == 0 && err != randflake.ErrResourceExhausted {
							t.Error(err)
							return
						}
						if refused[err].Add(1); wild == 0 {
							return
						}
					}
				})
			}
			wg.Wait()
			ids = append(ids, slices.Concat(made...)...)
		}
		slices.Sort(ids)
		if n := len(slices.Compact(slices.Clone(ids))); n != len(ids) || wild == 0 && n != 3*capacity {
			t.Errorf("%d IDs, %d of them different", len(ids), n)
		}
		if back := refused[randflake.ErrConsistencyViolation].Load(); len(ids) == 0 || wild > 0 && back == 0 {
			t.Errorf("%d IDs, and %d steps back: this tested nothing", len(ids), back)
		}
	}
}

// TestStaleReading: a goroutine that is held up with an old reading does not see the clock go back, as it didn't.
func TestStaleReading(t *testing.T) {
	for _, ahead := range []randflake.UnixSeconds{1, 10, 11, 99} {
		var g *randflake.Generator
		calls := 0
		g = newGenerator(t, start, start+200, func() (randflake.UnixSeconds, error) {
			switch calls++; calls {
			case 1:
				return start, nil
			case 2: // another goroutine comes in between
				wants(t, g, start+100+ahead, 0)
				return start + 100, nil
			default:
				return start + 100 + ahead, nil
			}
		})
		wants(t, g, start, 0)
		wants(t, g, start+100+ahead, 1)
	}
}

func TestZeroGeneratorAndSystemClock(t *testing.T) {
	var zero randflake.Generator
	refuses(t, &zero, randflake.ErrInvalidLease)
	if err := zero.ExtendLease(randflake.Lease{Start: start, EndExclusive: start + 1}); err != randflake.ErrInvalidLease || zero.Lease() != (randflake.Lease{}) {
		t.Errorf("ExtendLease: %v, lease %+v", err, zero.Lease())
	}
	before := randflake.UnixSeconds(time.Now().Unix())
	g := newGenerator(t, before, before+3600, nil)
	id, err := g.Generate()
	if second := g.Inspect(id).Timestamp; err != nil || second < before || second > randflake.UnixSeconds(time.Now().Unix()) {
		t.Errorf("the ID carries second %d, %v, made after %d", second, err, before)
	}
	g = newGenerator(t, start, start+1, func() (randflake.UnixSeconds, error) { return start, nil })
	if n := testing.AllocsPerRun(1000, func() { id, _ := g.Generate(); g.Inspect(id) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestVectors opens and makes the IDs of the format's test vectors. To save time, of those far into their second only
// some are made.
func TestVectors(t *testing.T) {
	data, err := os.ReadFile("../../testdata/randflake.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			Secret         string
			Timestamp      randflake.UnixSeconds
			Node, Sequence uint32
			ID             int64 `json:",string"`
			Text           string
		}
	}
	if err := json.Unmarshal(data, &file); err != nil || len(file.Vectors) < 100 {
		t.Fatalf("%d vectors, %v", len(file.Vectors), err)
	}
	for i, v := range file.Vectors {
		key, _ := hex.DecodeString(v.Secret)
		g, err := randflake.New(randflake.Config{
			Lease:  randflake.Lease{NodeID: v.Node, Start: v.Timestamp, EndExclusive: v.Timestamp + 1},
			Secret: key,
			Clock:  func() (randflake.UnixSeconds, error) { return v.Timestamp, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		want := randflake.Parts{Timestamp: v.Timestamp, NodeID: v.Node, Sequence: v.Sequence}
		if parts, err := g.InspectString(v.Text); parts != want || g.Inspect(v.ID) != want || err != nil || randflake.EncodeString(v.ID) != v.Text {
			t.Errorf("%s opens to %+v, %v, and %d to %+v, want %+v", v.Text, parts, err, v.ID, g.Inspect(v.ID), want)
		}
		if v.Sequence > 1000 && i%16 != 0 {
			continue
		}
		for range v.Sequence {
			g.Generate()
		}
		if text, err := g.GenerateString(); text != v.Text || err != nil {
			t.Errorf("ID %d of second %d is %q, %v, want %q", v.Sequence, v.Timestamp, text, err, v.Text)
		}
	}
	g := newGenerator(t, start, start+1, nil)
	for _, text := range []string{
		"", "00", "01", "0v", "V", "3VGOE12CCB8GH", "3vgoe12ccb8gH", "=", "1=", "w", "-1", "+1", " 1", "1 ", "1\n", "1_0", "0x1",
		"é", "1\x00", "g000000000000", "vvvvvvvvvvvvv", "10000000000000", strings.Repeat("0", 13), strings.Repeat("1", 1000),
	} {
		id, err := randflake.DecodeString(text)
		if parts, opened := g.InspectString(text); id != 0 || err != randflake.ErrInvalidID || parts != (randflake.Parts{}) || opened != err {
			t.Errorf("%q: %d, %v; opens to %+v, %v; want ErrInvalidID", text, id, err, parts, opened)
		}
	}
}
