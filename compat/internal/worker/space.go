package worker

import (
	"context"
	"fmt"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
)

// A space leases numbers, without those that this process has of its own.
type space struct {
	lease.Source
	layout     string
	own        map[uint32]bool // this process's numbers among those of the space
	longestRun uint32          // of consecutive numbers among own
}

// findOwn sets own and longestRun. The caller holds mu.
func (s *space) findOwn() {
	s.own = map[uint32]bool{}
	run := uint32(0)
	for i := range s.Limits().Nodes {
		number := s.Limits().FirstNode + i
		if generators[key{s.layout, number}] == nil {
			run = 0
			continue
		}
		s.own[number] = true
		run++
		s.longestRun = max(s.longestRun, run)
	}
}

func (s *space) keep(
	ctx context.Context, layout *snowflake.Layout, options []lease.Option,
) (*lease.Keeper[*snowflake.Generator], error) {
	if len(s.own) == int(s.Limits().Nodes) {
		return nil, fmt.Errorf("%w: this process has all %d numbers of %s already: take IDs from Keep alone",
			lease.ErrInvalid, len(s.own), s.Source)
	}
	return snowflake.Keep(ctx, s, layout, snowflake.Leasing(options...))
}

// Take takes one number more than the longest run of the process's own, so that at least one is not
// its own, and lets the others lapse. nodes is 1: see snowflake.Keep.
func (s *space) Take(ctx context.Context, first, last int64, nodes uint32) ([]randflake.Lease, error) {
	leases, err := s.Source.Take(ctx, first, last, nodes+s.longestRun)
	for i := range leases {
		s.narrow(&leases[i])
	}
	return leases, err
}

// narrow leaves the first number in a lease that is not the process's own.
func (s *space) narrow(l *randflake.Lease) {
	for number := l.FirstNode; number <= l.LastNode; number++ {
		if !s.own[number] {
			l.FirstNode = number
			l.LastNode = number
			return
		}
	}
}
