package plan

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// at returns the first second of a window of a minute.
func at(window int64) time.Time { return time.Unix(window*60, 0) }

// wanted returns what a plan wants in a window, as text, and notes that it got it.
func wanted(p *Plan, window int64) string {
	p.Expire(at(window))
	first, last, found := p.Wanted(at(window))
	if !found {
		return ""
	}
	for leased := first; leased <= last; leased++ {
		p.NoteLeased(leased)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// TestWanted: the windows that a keeper takes in each window are those of the table at Plan.
func TestWanted(t *testing.T) {
	for parity, want := range map[int64][]string{
		1: {"100-101", "102-105", "106-107", "", "108-109", "", "110-111"},
		0: {"100-101", "102-106", "", "107-108", "", "109-110", ""},
	} {
		p := New(time.Minute, 5, 3*time.Minute, at(100))
		p.parity = parity
		for i, want := range want {
			window := 100 + int64(i)
			require.Equal(t, wanted(p, window), want, "parity %d, window %d", parity, window)
		}
	}
}

// TestPutOff: a window that was put off is asked for again soon after the time until when it was, and later by
// a keeper that has leases for a while. One that was given up is not.
func TestPutOff(t *testing.T) {
	full := errors.New("full")
	for leased, spread := range map[int64]time.Duration{0: time.Second, 3: 30 * time.Second} {
		p := New(time.Minute, 5, 3*time.Minute, at(90))
		for window := range leased {
			p.NoteLeased(100 + window)
		}
		first := 100 + leased
		now := at(100)
		until := now.Add(10 * time.Second)
		p.NotePutOff(first, first, now, until, full)
		p.NoteGivenUp(first+1, full)
		require.Equal(t, p.Missing(now), full, "%d leased: why", leased)
		next := p.outcomes[first].retry
		require.That(t, !next.Before(until) && next.Before(until.Add(spread)),
			"%d leased: asked for again %v after the wait, want less than %v", leased, next.Sub(until), spread)
		p.Expire(next)
		require.That(t, !p.HasOutcome(first) && p.HasOutcome(first+1), "%d leased: %+v", leased, p.outcomes)
	}
}
