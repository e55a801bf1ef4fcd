package peers

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
)

type value struct{ high, low uint64 }

// draw returns the values that a source gives in so many calls.
func draw(t *testing.T, s Source, calls int) []value {
	var drawn []value
	for range calls {
		high, low, err := s.Next()
		if err != nil {
			t.Error(err)
			return drawn
		}
		if s.Bulk == nil {
			drawn = append(drawn, value{high, low})
		}
		for _, id := range s.Bulk {
			drawn = append(drawn, value{low: id})
		}
	}
	return drawn
}

// repeats counts the values that have been there before.
func repeats(drawn ...[]value) (n int) {
	seen := make(map[value]bool)
	for _, values := range drawn {
		for _, v := range values {
			if seen[v] {
				n++
			}
			seen[v] = true
		}
	}
	return n
}

func TestPeersAreDistinct(t *testing.T) {
	for _, p := range Available() {
		if p.Unique == "" {
			continue // it makes no IDs
		}
		t.Run(p.Name, func(t *testing.T) {
			maker, err := p.Open()
			if err != nil {
				t.Fatal(err)
			}
			if maker.Close != nil {
				defer maker.Close()
			}
			calls := 20_000
			if p.AtLimit {
				calls = 2_000
			}
			drawn := make([][]value, 4)
			var drawers sync.WaitGroup
			for i := range drawn {
				source := maker.Source()
				drawers.Go(func() { drawn[i] = draw(t, source, calls/source.IDs()+1) })
			}
			drawers.Wait()
			for i, values := range drawn {
				if len(values) < calls {
					t.Errorf("source %d made %d values, not %d", i, len(values), calls)
				}
			}
			if n := repeats(drawn...); n > 0 {
				t.Errorf("%d repeats", n)
			}
		})
	}
}

// TestRepeatsAreFound plants one.
func TestRepeatsAreFound(t *testing.T) {
	if n := repeats([]value{{1, 2}, {1, 3}}, []value{{2, 2}, {1, 3}}); n != 1 {
		t.Errorf("found %d repeats, not 1", n)
	}
}

// TestPublished compares the transcription with the library's cipher.
func TestPublished(t *testing.T) {
	key := []byte("sixteen byte key")
	secret, err := randflake.SecretFromBytes(key)
	if err != nil {
		t.Fatal(err)
	}
	cipher, transcribed := randflake.NewCipher(secret), newSparx([16]byte(key))
	for range 1000 {
		raw := rand.Uint64()
		if got, want := transcribed.encrypt(raw), uint64(cipher.Encrypt(randflake.Raw(raw))); got != want {
			t.Fatalf("%#x becomes %#x, not %#x", raw, got, want)
		}
	}
}

// TestPublishedRaw: the raw values of both count up within a second, from 0 at each new one.
func TestPublishedRaw(t *testing.T) {
	for name, raw := range map[string]func() (uint64, error){"1.8": openPublished1(), "2.1": openPublished2()} {
		next, seconds := uint64(0), 0
		for i := 0; seconds < 2 || i < 1000; i++ {
			value, err := raw()
			if value != next && value%publishedPerSecond != 0 || value < next || err != nil {
				t.Fatalf("%s: raw value %d is %#x, %v, after %#x", name, i, value, err, next-1)
			}
			if value%publishedPerSecond == 0 {
				seconds++
			}
			next = value + 1
		}
		if second := next / publishedPerSecond; second > uint64(time.Now().Unix()-randflake.Epoch) {
			t.Errorf("%s: second %d is ahead of the clock", name, second)
		}
	}
}

func TestRegistry(t *testing.T) {
	names := make(map[string]bool)
	for _, p := range All() {
		if names[p.Name] || strings.Contains(p.Name, "|") {
			t.Errorf("%q can't be a name", p.Name)
		}
		names[p.Name] = true
		filled := p.Bits > 0 && p.Limit != "" && p.Unpredictable != "" && p.Sortable != ""
		if p.Unique != "" && !filled || p.Kind != Scale && p.Unique == "" {
			t.Errorf("%s does not tell all its properties", p.Name)
		}
	}
	if !names[Yardstick] {
		t.Error("the yardstick is missing")
	}
}
