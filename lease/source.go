package lease

import (
	"context"
	"fmt"

	"github.com/randflake/randflake"
)

// A Source grants leases: a [Space], or a service in front of one. It is safe for concurrent use.
// It may also have the method [Space.CheckSecret], which Keep then calls first.
type Source interface {
	// Take leases nodes for each window from first to last, as [Space.Take] does:
	//
	//  1. Each lease is of one of these windows, from its first second to its last.
	//  2. Each has exactly as many nodes as are asked for.
	//  3. No window has two leases.
	//  4. If a window has none, the error says why.
	//
	// A keeper uses no lease of an answer that breaks one of rules 1 to 3.
	Take(ctx context.Context, first, last int64, nodes uint32) ([]randflake.Lease, error)

	// Limits returns the limits of the space, which never change.
	Limits() Limits

	// String says what the source is, without passwords.
	String() string
}

// takeFromSource takes leases in one call, and bounds how long that lasts. It checks that the answer is as
// Source says, as services in front of a space are written by others too.
func (l *loop) takeFromSource(ctx context.Context, first, last int64) ([]randflake.Lease, error) {
	limit := longestTake
	if l.isUrgent() {
		limit = urgentTake
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	nodes := l.settings.nodes
	leases, err := l.source.Take(ctx, first, last, nodes)
	if broken := checkLeases(l.source, leases, first, last, nodes); broken != nil {
		leases, err = nil, broken
	}
	windows := last - first + 1
	if err == nil && int64(len(leases)) < windows {
		err = fmt.Errorf("lease: %s granted %d of %d windows, and did not say why", l.source, len(leases), windows)
	}
	if err != nil {
		l.change(func(s *Status) { s.Failures++ })
	}
	return leases, err
}

// checkLeases returns which of rules 1 to 3 of Source.Take the leases of an answer break, or nil.
func checkLeases(s Source, leases []randflake.Lease, first, last int64, nodes uint32) error {
	limits := s.Limits()
	leased := map[int64]bool{} // by window
	for _, lease := range leases {
		window := limits.WindowOf(lease.Start)
		whole := lease.Start.Equal(limits.start(window)) && lease.End.Equal(limits.start(window+1))
		has := int64(lease.LastNode) - int64(lease.FirstNode) + 1 // 0 or less if they are in the wrong order
		var want string
		switch {
		case window < first || window > last:
			want = fmt.Sprintf("a lease of one of the windows %d to %d", first, last)
		case !whole:
			want = "a lease of exactly one window of " + limits.Window.String()
		case has != int64(nodes):
			want = fmt.Sprintf("exactly %d nodes", nodes)
		case leased[window]: // both may be the same lease: its IDs would come twice
			want = "one lease for each window"
		}
		if want != "" {
			return fmt.Errorf("lease: %s granted %+v, which breaks a rule of Source.Take: want %s", s, lease, want)
		}
		leased[window] = true
	}
	return nil
}
