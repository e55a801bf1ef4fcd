package main

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
)

// TestPeersAreDistinct: no peer repeats an ID in four goroutines.
func TestPeersAreDistinct(t *testing.T) {
	type id struct{ high, low uint64 }
	for _, p := range peers {
		if p.bits == 0 {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			source := p.open()
			calls := 20_000
			if p.waits {
				calls = 1_000
			}
			drawn := make([][]id, 4)
			var drawers sync.WaitGroup
			for i := range drawn {
				f := source()
				drawers.Go(func() {
					for range calls {
						high, low, err := f()
						if err != nil {
							t.Error(err)
						}
						drawn[i] = append(drawn[i], id{high, low})
					}
				})
			}
			drawers.Wait()
			seen := make(map[id]bool)
			for _, ids := range drawn {
				for _, id := range ids {
					if seen[id] {
						t.Fatalf("%x is there twice", id)
					}
					seen[id] = true
				}
			}
		})
	}
}

// TestPublished: the cipher that is written down here is the library's, and raw values count up
// within a second, from 0.
func TestPublished(t *testing.T) {
	key := []byte("sixteen byte key")
	c := randflake.NewCipher(must(randflake.SecretFromBytes(key)))
	transcribed := newSparx([16]byte(key))
	for range 1000 {
		raw := rand.Uint64()
		if got, want := transcribed.encrypt(raw), uint64(c.Encrypt(randflake.Raw(raw))); got != want {
			t.Fatalf("%#x becomes %#x, want %#x", raw, got, want)
		}
	}
	for name, raw := range map[string]func() (uint64, error){"1.8": openPublished1(), "2.1": openPublished2()} {
		want := uint64(0)
		for range 1000 {
			value, err := raw()
			if value != want && value%publishedPerSecond != 0 || value < want || err != nil {
				t.Fatalf("%s: raw value %#x, %v, want %#x", name, value, err, want)
			}
			want = value + 1
		}
	}
}

// TestRun measures little of everything: each table has its rows.
func TestRun(t *testing.T) {
	r := measure(1, time.Millisecond, time.Millisecond, 1<<16)
	tables := r.tables()
	for _, p := range peers {
		if strings.Count(tables, "\n| "+p.name+" |") < 2 {
			t.Errorf("%s is in fewer than two tables", p.name)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "| 0.00 (", "| |"} {
		if strings.Contains(tables, bad) {
			t.Errorf("the tables have %q:\n%s", bad, tables)
		}
	}
}

// TestUniformity: IDs pass, and the negative control does not.
func TestUniformity(t *testing.T) {
	for i, p := range peersNamed(counted...) {
		statistic, chance := spreadOf(p, 1<<18).chiSquared()
		if control := i == len(counted)-1; control != (chance < 1e-6) {
			t.Errorf("%s: chi-squared %.0f, p = %g", p.name, statistic, chance)
		}
	}
}
