package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/randflake/randflake"
)

// A Source grants leases: a [Space], or a service in front of one. It is safe for concurrent use.
// It may also have the method [Space.CheckSecret], which Keep then calls first.
type Source interface {
	// Take leases nodes for each window from first to last, as [Space.Take] does:
	//
	//   - Each lease is of one of these windows, from its first second to its last.
	//   - Each has exactly as many nodes as are asked for.
	//   - No window has two leases.
	//   - If a window has none, the error says why.
	//
	// A keeper uses no lease of an answer that breaks one of the first three rules.
	Take(ctx context.Context, first, last int64, nodes uint32) ([]randflake.Lease, error)

	// Limits returns the limits of the space, which never change.
	Limits() Limits

	// String says what the source is, without passwords.
	String() string
}

// checkLeases returns which rule of Source.Take the leases of an answer break, or nil.
func checkLeases(s Source, leases []randflake.Lease, first, last int64, nodes uint32) error {
	limits := s.Limits()
	leased := map[int64]bool{} // by window
	for _, lease := range leases {
		window := limits.WindowOf(lease.Start)
		start, end := limits.start(window), limits.start(window+1)
		has := int64(lease.LastNode) - int64(lease.FirstNode) + 1 // 0 or less if they are in the wrong order
		var want string
		switch {
		case window < first || window > last:
			want = fmt.Sprintf("a lease of one of the windows %d to %d", first, last)
		case !lease.Start.Equal(start) || !lease.End.Equal(end):
			want = "a lease of exactly one window of " + limits.Window.String()
		case has != int64(nodes):
			want = fmt.Sprintf("exactly %d nodes", nodes)
		case leased[window]: // if it is the same lease, its IDs would be too
			want = "one lease for each window"
		}
		if want != "" {
			return fmt.Errorf("lease: %s granted nodes %d to %d from %s to %s, which breaks a rule of Source.Take: want %s",
				s, lease.FirstNode, lease.LastNode,
				lease.Start.UTC().Format(time.RFC3339Nano), lease.End.UTC().Format(time.RFC3339Nano), want)
		}
		leased[window] = true
	}
	return nil
}
