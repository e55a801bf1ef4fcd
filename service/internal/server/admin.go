package server

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	api "github.com/randflake/randflake/service/api/randflake/v1"
)

// adminService implements the procedure of AdminService.
type adminService struct{ *Server }

func (s adminService) ReportLoss(ctx context.Context, _ *connect.Request[api.ReportLossRequest]) (*connect.Response[api.ReportLossResponse], error) {
	c := callOf(ctx)
	if err := c.state.Store.ReportLoss(ctx, "reported by "+c.who.Name); err != nil {
		return nil, err
	}
	s.audit.note("report-loss", c.by, c.in.Name)
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
	s.audit.note("secret given", c.by, c.in.Name)
	response := connect.NewResponse(&api.FetchResponse{Secret: secret.Hex()})
	response.Header().Set("Cache-Control", "no-store")
	return response, nil
}
