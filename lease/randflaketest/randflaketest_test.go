package randflaketest

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
)

// take makes n IDs, each in a goroutine of its own, one after the other, so that all Ps get to make some.
func take(t *testing.T, g *randflake.Generator, n int) []randflake.ID {
	var ids []randflake.ID
	for range n {
		var goroutine sync.WaitGroup
		goroutine.Go(func() {
			id, err := g.Generate()
			if err != nil {
				t.Error(err)
			}
			ids = append(ids, id)
			runtime.Gosched()
		})
		goroutine.Wait()
	}
	return ids
}

// Each run makes the same IDs, whichever P asks: here they are as of the first run.
func TestSameIDsInEachRun(t *testing.T) {
	want := []string{"iqv2ragpgiclo", "q6oj7u9j1eg02", "t7blgpoonavv3"}
	for range 2 {
		clock := NewClock()
		g := New(t, clock)
		ids := take(t, g, 2)
		clock.Advance(time.Minute)
		ids = append(ids, take(t, g, 1)...)
		var texts []string
		for _, id := range ids {
			texts = append(texts, id.String())
		}
		require.That(t, slices.Equal(texts, want), "made %q, want %q", texts, want)
	}
	one, other := take(t, New(t, NewClock()), 1000), take(t, New(t, NewClock()), 1000)
	require.That(t, slices.Equal(one, other), "two generators made different IDs")
	if one, other = take(t, Keep(t, NewClock()).Generator(), 1000), take(t, Keep(t, NewClock()).Generator(), 1000); !slices.Equal(one, other) {
		t.Error("two keepers made different IDs")
	}
}

// What is open at the end of a test is closed then.
func TestClosedAtTheEnd(t *testing.T) {
	var generators []*randflake.Generator
	t.Run("inner", func(t *testing.T) {
		generators = append(generators, New(t, NewClock()), Keep(t, NewClock()).Generator())
	})
	for _, g := range generators {
		require.Refuses(t, randflake.ErrClosed, "after the test")(g.Generate())
	}
}
