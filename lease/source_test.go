package lease

import (
	"cmp"
	"context"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
)

// A source is a space as a keeper under test sees it.
type source struct {
	*Space

	mu      sync.Mutex
	away    bool                       // every take fails, or hangs
	hangs   bool                       // while the source is away
	arrives func(randflake.Lease)      // is called before a lease gets to the keeper; or nil
	refuse  func(window int64) error   // says why a window is not granted; or nil
	taken   map[randflake.Lease]string // the leases that were granted, and to whom
	user    string                     // to whom the next ones are
}

func newSource(t *testing.T, limits Limits) *source {
	return &source{Space: create(t, conn{memory: newMemory()}, limits, nil), taken: map[randflake.Lease]string{}}
}

func (s *source) Take(ctx context.Context, from, to int64, n uint32) (leases []randflake.Lease, missing error) {
	s.mu.Lock()
	away := s.away
	s.mu.Unlock()
	switch {
	case away && s.hangs:
		<-ctx.Done()
		return nil, ctx.Err()
	case away:
		return nil, errAway
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for window := from; window <= to; window++ {
		l, err := s.takeWindow(ctx, window, n)
		if err != nil {
			missing = cmp.Or(missing, err)
			continue
		}
		s.taken[l] = s.user
		leases = append(leases, l)
		if s.arrives != nil {
			s.arrives(l)
		}
	}
	return leases, missing
}

// takeWindow takes nodes of one window. It is called with mu held.
func (s *source) takeWindow(ctx context.Context, window int64, n uint32) (l randflake.Lease, err error) {
	if s.refuse != nil {
		err = s.refuse(window)
	}
	if err != nil {
		return l, err
	}
	return takeWindow(ctx, s.Space, window, n)
}

// set lets the store be away, or back.
func (s *source) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// owner returns who took what an ID was made with.
func (s *source) owner(f randflake.Fields) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l, user := range s.taken {
		if f.Within(l) == nil {
			return user
		}
	}
	return "nobody"
}

// An astray source answers what it should not.
type astray struct {
	*source
	mu     sync.Mutex
	answer func([]randflake.Lease) []randflake.Lease
	takes  int
}

// goAstray changes answers from now on by answer, unless it is nil. It returns how many takes there were.
func (s *astray) goAstray(answer func([]randflake.Lease) []randflake.Lease) (takes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
	return s.takes
}

func (s *astray) Take(ctx context.Context, first, last int64, n uint32) ([]randflake.Lease, error) {
	leases, err := s.source.Take(ctx, first, last, n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes++
	if s.takes > 1000 {
		return nil, errAway // or it asks for ever, and no time passes
	}
	if s.answer != nil && err == nil {
		leases = s.answer(leases)
	}
	return leases, err
}

// TestSourceAstray: a source breaks a rule of Source. That is a failure which says what is wrong, and is tried
// again after a pause. The generator gets no lease but those that the space granted, each once: with the same one
// twice it would make the same IDs again when the clock was set back.
func TestSourceAstray(t *testing.T) {
	const (
		silent  = "did not say why"
		another = "want a lease of one of the windows "
		partial = "want a lease of exactly one window of 1m0s"
		count   = "want exactly 2 nodes"
		doubled = "want one lease for each window"
	)
	each := func(change func(*randflake.Lease)) func([]randflake.Lease) []randflake.Lease {
		return func(leases []randflake.Lease) []randflake.Lease {
			for i := range leases {
				change(&leases[i])
			}
			return leases
		}
	}
	move := func(start, end time.Duration) func([]randflake.Lease) []randflake.Lease {
		return each(func(l *randflake.Lease) { l.Start, l.End = l.Start.Add(start), l.End.Add(end) })
	}
	number := func(first, last uint32) func([]randflake.Lease) []randflake.Lease {
		return each(func(l *randflake.Lease) { l.FirstNode, l.LastNode = first, last })
	}
	for name, c := range map[string]struct {
		answer func([]randflake.Lease) []randflake.Lease
		want   string
	}{
		"nothing":                   {func([]randflake.Lease) []randflake.Lease { return nil }, silent},
		"all but the first":         {func(leases []randflake.Lease) []randflake.Lease { return leases[1:] }, silent},
		"windows that ended":        {move(-time.Hour, -time.Hour), another},
		"later windows":             {move(time.Hour, time.Hour), another},
		"not the first second":      {move(time.Second, 0), partial},
		"not all of it":             {move(time.Nanosecond, 0), partial},
		"not the last second":       {move(0, -time.Second), partial},
		"one second of the next":    {move(0, time.Second), partial},
		"windows that are shifted":  {move(time.Second, time.Second), partial},
		"two windows in one":        {move(0, time.Minute), partial},
		"no time":                   {move(0, -time.Minute), partial},
		"a node less":               {number(0, 0), count},
		"a node more":               {number(0, 2), count},
		"no node":                   {number(1, 0), count},
		"the nodes of a whole turn": {number(math.MaxUint32, 0), count},
		"each window twice": {func(leases []randflake.Lease) []randflake.Lease {
			return append(leases, leases...)
		}, doubled},
		"two leases of a window": {func(leases []randflake.Lease) []randflake.Lease {
			other := leases[0]
			other.FirstNode += 2
			other.LastNode += 2
			return append(leases, other)
		}, doubled},
	} {
		bubble(t, func(t *testing.T) {
			s := &astray{source: newSource(t, Limits{})}
			s.goAstray(c.answer)
			if name != "all but the first" { // or Keep has a lease
				require.Says(t, c.want, "%s: Keep", name)(new(queue).keep(t, s, WithNodes(2)))
			}
			s.goAstray(nil)
			var q queue
			k, err := q.keep(t, s, WithNodes(2))
			require.NoError(t, err)
			defer k.Close()
			s.goAstray(c.answer)
			time.Sleep(4 * time.Minute)
			status := k.Status()
			takes := s.goAstray(nil)
			require.That(t, status.Err != nil && strings.Contains(status.Err.Error(), c.want) && takes <= 300,
				"%s: %d takes: %+v, want %q", name, takes, status, c.want)
			end := time.Now().Add(10 * time.Minute)
			require.That(t, !status.End.After(end), "%s: leases until %v", name, status.End)
			time.Sleep(time.Minute)
			status = k.Status()
			isWell := status.Healthy && status.Err == nil && q.has(time.Now())
			require.That(t, isWell, "%s, and then as it should be: %+v", name, status)
			got := map[randflake.Lease]bool{}
			for _, lease := range q.leases {
				_, granted := s.taken[lease]
				require.That(t, granted && !got[lease], "%s: a lease %+v, granted: %v, twice: %v", name, lease, granted, got[lease])
				got[lease] = true
			}
		})
	}
}
