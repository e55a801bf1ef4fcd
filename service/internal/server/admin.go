package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/internal/audit"
)

// adminService implements the procedures of AdminService.
type adminService struct{ *Server }

func (s adminService) ReportLoss(ctx context.Context, _ *connect.Request[api.ReportLossRequest]) (*connect.Response[api.ReportLossResponse], error) {
	c := callOf(ctx)
	leases, err := s.leases(c)
	if err != nil {
		return nil, err
	}
	if err := leases.ReportLoss(ctx); err != nil {
		return nil, err
	}
	return connect.NewResponse(&api.ReportLossResponse{}), s.audit.Write(audit.ReportLoss, c.by, c.in.Name)
}

// revocations is the maximum number of retries of a revocation because the holder renewed meanwhile.
const revocations = 5

// Revoke releases a lease on behalf of its holder, as if it had been used to its end.
func (s adminService) Revoke(ctx context.Context, r *connect.Request[api.RevokeRequest]) (*connect.Response[api.RevokeResponse], error) {
	c := callOf(ctx)
	if _, err := s.leases(c); err != nil {
		return nil, err
	}
	for range revocations {
		held, err := heldBy(ctx, c.state.Leases, r.Msg.FirstNode)
		if err != nil {
			return nil, err
		}
		err = c.state.Leases.Release(ctx, held, time.Unix(held.HighWater, 0))
		if errors.Is(err, lease.ErrLost) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(&api.RevokeResponse{Lease: shown(held)}), s.audit.Write(audit.Revocation, c.by, c.in.Name, audit.Terms(held)...)
	}
	return nil, connect.NewError(connect.CodeAborted, errors.New("the lease changed each time that it was looked at: try again"))
}

// heldBy returns the lease of the range that begins with a node.
func heldBy(ctx context.Context, leases lease.Source, first uint32) (lease.Record, error) {
	records, err := leases.List(ctx)
	if err != nil {
		return lease.Record{}, err
	}
	for _, r := range records {
		if r.FirstNode == first && r.Owner != (lease.Token{}) {
			return r, nil
		}
	}
	return lease.Record{}, connect.NewError(connect.CodeNotFound, fmt.Errorf("nobody has a lease whose first node is %d: want the first node of one in List", first))
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
	response := connect.NewResponse(&api.FetchResponse{Secret: secret.Hex()})
	response.Header().Set("Cache-Control", "no-store")
	return response, nil
}
