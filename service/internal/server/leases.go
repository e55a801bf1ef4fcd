package server

import (
	"cmp"
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/internal/space"
)

// service implements the procedures, but for those of counters.
type service struct{ *Server }

func (s service) Take(ctx context.Context, r *connect.Request[api.TakeRequest]) (*connect.Response[api.TakeResponse], error) {
	c, m := callOf(ctx), r.Msg
	nodes := max(m.Nodes, 1)
	if most := c.limits.Nodes; most > 0 && nodes > uint32(most) {
		return nil, s.over(c, "nodes", nodes, most)
	}
	l, err := c.state.Store.Take(ctx, m.Window, nodes)
	if err != nil {
		return nil, err
	}
	s.auditTake(c.by, c.in, m.Window, l, cmp.Or(m.Label, c.who))
	return connect.NewResponse(&api.TakeResponse{FirstNode: l.FirstNode, LastNode: l.LastNode, Start: l.Start.Unix(), End: l.End.Unix()}), nil
}

// auditTake writes the line that says who makes the IDs of these nodes and seconds.
func (s *Server) auditTake(by caller, in *space.Space, window int64, l randflake.Lease, label string) {
	s.audit.note("take", by, in.Name, "window", window, "first_node", l.FirstNode, "last_node", l.LastNode, "start", l.Start.Unix(), "end", l.End.Unix(), "label", label)
}

func (s service) GetLimits(ctx context.Context, _ *connect.Request[api.GetLimitsRequest]) (*connect.Response[api.GetLimitsResponse], error) {
	state := callOf(ctx).state
	l := state.Store.Limits()
	return connect.NewResponse(&api.GetLimitsResponse{WindowSeconds: uint32(l.Window / time.Second), Nodes: l.Nodes, Ahead: uint32(l.Ahead),
		MaxSkewSeconds: uint32(l.MaxSkew / time.Second), Check: state.Check}), nil
}
