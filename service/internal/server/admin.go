package server

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/internal/audit"
)

// adminService implements the procedure of AdminService.
type adminService struct{ *Server }

func (s adminService) ReportLoss(ctx context.Context, _ *connect.Request[api.ReportLossRequest]) (*connect.Response[api.ReportLossResponse], error) {
	c := callOf(ctx)
	if err := c.state.Store.ReportLoss(ctx, "reported by "+c.who.Name); err != nil {
		return nil, err
	}
	s.audit.Write(audit.ReportLoss, c.by, c.in.Name)
	return connect.NewResponse(&api.ReportLossResponse{}), nil
}

// secretService implements the procedure of SecretService.
type secretService struct{ *Server }

func (s secretService) Fetch(ctx context.Context, _ *connect.Request[api.FetchRequest]) (*connect.Response[api.FetchResponse], error) {
	c := callOf(ctx)
	secret, ok := c.in.Secret()
	if !ok {
		return nil, connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("the secret of space %s is not there to be distributed", c.in.Name))
	}
	s.audit.Write(audit.Secret, c.by, c.in.Name)
	response := connect.NewResponse(&api.FetchResponse{Secret: secret.Hex()})
	response.Header().Set("Cache-Control", "no-store")
	return response, nil
}
