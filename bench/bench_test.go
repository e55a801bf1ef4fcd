package main

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/testing/require"
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
	p := &published{start: time.Now().Unix()}
	want := uint64(0)
	for range 1000 {
		value, err := p.raw()
		if value != want && value%publishedPerSecond != 0 || value < want || err != nil {
			t.Fatalf("raw value %#x, %v, want %#x", value, err, want)
		}
		want = value + 1
	}
}

// TestRun measures little of everything: each table has its rows.
func TestRun(t *testing.T) {
	r := measure(1, time.Millisecond, time.Millisecond)
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

// TestUniformity counts IDs by their highest 8 bits. Random IDs exceed a chi-squared of 379, at 255
// degrees of freedom, in one of a million runs. Snowflakes are the negative control.
func TestUniformity(t *testing.T) {
	for name, uniform := range map[string]bool{"randflake Generate": true, "crypto/rand 8 bytes": true, "Snowflake randflake": false} {
		const ids = 1 << 18
		f := peerNamed(name).open()()
		var counts [256]float64
		for range ids {
			_, low, err := f()
			if err != nil {
				t.Fatal(err)
			}
			counts[low>>56]++
		}
		expected := float64(ids) / float64(len(counts))
		statistic := 0.0
		for _, n := range counts {
			statistic += (n - expected) * (n - expected) / expected
		}
		require.Equal(t, statistic < 379, uniform, "%s: chi-squared %.0f", name, statistic)
	}
}
