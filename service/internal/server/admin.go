package server

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/internal/audit"
)

// adminService implements the procedures of AdminService.
type adminService struct{ *Server }

func (s adminService) ReportLoss(ctx context.Context, _ *connect.Request[api.ReportLossRequest]) (*connect.Response[api.ReportLossResponse], error) {
	c := callOf(ctx)
	if err := s.leases(c).ReportLoss(ctx); err != nil {
		return nil, err
	}
	return connect.NewResponse(&api.ReportLossResponse{}), s.audit.Write(audit.ReportLoss, c.by, c.in.Name)
}

// Revoke takes a lease away from its holder.
func (s adminService) Revoke(ctx context.Context, r *connect.Request[api.RevokeRequest]) (*connect.Response[api.RevokeResponse], error) {
	c := callOf(ctx)
	held, err := lease.Revoke(ctx, c.state.Leases, r.Msg.FirstNode)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&api.RevokeResponse{Lease: shown(held)}), s.audit.Write(audit.Revocation, c.by, c.in.Name, audit.Terms(held)...)
}

// secretService implements the procedure of SecretService.
type secretService struct{ *Server }

func (s secretService) Fetch(ctx context.Context, _ *connect.Request[api.FetchRequest]) (*connect.Response[api.FetchResponse], error) {
	c := callOf(ctx)
	secret, ok := c.in.Secret()
	if !ok {
		return nil, connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("the secret of space %s is not there to be distributed", c.in.Name))
	}
	if err := s.audit.Write(audit.Secret, c.by, c.in.Name); err != nil {
		return nil, err
	}
	response := connect.NewResponse(&api.FetchResponse{Secret: secret.Keys()[0].Secret.Hex(), Keys: secret.Hex()})
	response.Header().Set("Cache-Control", "no-store")
	return response, nil
}
