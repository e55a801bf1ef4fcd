package server

import (
	"cmp"
	"context"
	"time"

	"github.com/randflake/randflake"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
)

// leaseService implements the procedures of LeaseService.
type leaseService struct{ *Server }

// Take answers with the leases that the store granted, even if some windows have none: a client
// that asks for the missing windows again then learns why.
func (s leaseService) Take(ctx context.Context, r *api.TakeRequest) (*api.TakeResponse, error) {
	c := callOf(ctx)
	nodes := max(r.NodeCount, 1)
	if most := uint64(c.quota.Nodes); most > 0 && uint64(nodes) > most {
		return nil, s.overLimit(c, "node count", uint64(nodes), most)
	}
	last := r.Window + int64(max(r.WindowCount, 1)) - 1
	leases, err := c.state.Leases.Take(ctx, r.Window, last, nodes)
	if len(leases) == 0 {
		return nil, err
	}
	var granted []*api.Lease
	for _, l := range leases {
		s.auditTake(c.caller, l, cmp.Or(r.Label, c.principal))
		granted = append(granted, &api.Lease{
			FirstNode: l.FirstNode,
			LastNode:  l.LastNode,
			Start:     l.Start.Unix(),
			End:       l.End.Unix(),
		})
	}
	return &api.TakeResponse{Leases: granted}, nil
}

// auditTake adds the line that says who makes the IDs of a lease, which is of one window.
func (s *Server) auditTake(by caller, l randflake.Lease, label string) {
	s.audit.add("take", by,
		"window", l.Start.Unix()/int64(l.End.Sub(l.Start).Seconds()), // numbered from the Unix epoch on
		"first_node", l.FirstNode,
		"last_node", l.LastNode,
		"start", l.Start.UTC(),
		"end", l.End.UTC(),
		"label", label)
}

func (s leaseService) GetLimits(ctx context.Context, _ *api.GetLimitsRequest) (*api.GetLimitsResponse, error) {
	state := callOf(ctx).state
	limits := state.Leases.Limits()
	return &api.GetLimitsResponse{
		WindowSeconds:  uint32(limits.Window / time.Second),
		FirstNode:      limits.FirstNode,
		NodeCount:      limits.Nodes,
		Ahead:          uint32(limits.Ahead),
		MaxSkewSeconds: uint32(limits.MaxSkew / time.Second),
		Reserve:        limits.Reserve,
		CheckValue:     state.Check,
	}, nil
}
