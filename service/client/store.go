package client

import (
	"context"
	"fmt"
	"math"
	"time"

	"connectrpc.com/connect"
	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/store"
)

var _ lease.Source = (*Leases)(nil)

// Acquire implements lease.Source.
func (l *Leases) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	ttl, until, err := terms(req.TTL, req.Until)
	if err != nil {
		return lease.Record{}, err
	}
	if req.Nodes < 1 || req.Nodes > randflake.MaxNode+1 {
		return lease.Record{}, fmt.Errorf("%w: %d nodes: want 1 to %d", lease.ErrInvalidRequest, req.Nodes, randflake.MaxNode+1)
	}
	if req.Owner == (lease.Token{}) {
		req.Owner = lease.NewToken(l.settings.now())
	}
	message := &api.AcquireRequest{Space: l.space, Nodes: uint32(req.Nodes), Below: req.Below, TtlSeconds: ttl, Until: until, Owner: req.Owner.String(), Retry: req.Retry, Label: req.Label, Check: req.Keys.String()}
	answer, err := call(ctx, &l.service, "acquire", true, func(c leaseClient, ctx context.Context, r *connect.Request[api.AcquireRequest]) (*connect.Response[api.AcquireResponse], error) {
		defer func() { message.Retry = true }() // at the next replica
		return c.Acquire(ctx, r)
	}, message)
	if err != nil {
		return lease.Record{}, err
	}
	return wire.Record(answer.Lease)
}

// Renew implements lease.Source. The service recognizes a repeated renewal by its token, so a call may be repeated.
func (l *Leases) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	ttl, until, err := terms(renewal.TTL, renewal.Until)
	if err != nil {
		return lease.Record{}, err
	}
	message := &api.RenewRequest{Space: l.space, Held: wire.Lease(held), TtlSeconds: ttl, Until: until, Token: renewal.Token.String(), Check: renewal.Keys.String()}
	answer, err := call(ctx, &l.service, "renew", renewal.Token != lease.Token{}, leaseClient.Renew, message)
	if err := lost(held, answer, err); err != nil {
		return lease.Record{}, err
	}
	return wire.Record(answer.GetLease())
}

// Lookup implements lease.Source.
func (l *Leases) Lookup(ctx context.Context, held lease.Record) (lease.Record, error) {
	answer, err := call(ctx, &l.service, "lookup", true, leaseClient.Lookup, &api.LookupRequest{Space: l.space, Held: wire.Lease(held)})
	if err := lost(held, answer, err); err != nil {
		return lease.Record{}, err
	}
	return wire.Record(answer.GetLease())
}

// Release implements lease.Source. Calls are not repeated, as the answer to the second call would be that the lease is
// lost.
func (l *Leases) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	answer, err := call(ctx, &l.service, "release", false, leaseClient.Release, &api.ReleaseRequest{Space: l.space, Held: wire.Lease(held), LastUsed: lastUsed.Unix()})
	return lost(held, answer, err)
}

// List implements lease.Source, by as many calls as there are pages.
func (l *Leases) List(ctx context.Context) ([]lease.Record, error) {
	var records []lease.Record
	message := &api.ListRequest{Space: l.space, PageSize: pageSize}
	for {
		answer, err := call(ctx, &l.service, "list", true, leaseClient.List, message)
		if err != nil {
			return nil, err
		}
		for _, sent := range answer.Leases {
			r, err := wire.Record(sent)
			if err != nil {
				return nil, fmt.Errorf("client: list: %w", err)
			}
			records = append(records, r)
		}
		if message.PageToken = answer.NextPageToken; message.PageToken == "" {
			return records, nil
		}
	}
}

// Limits implements lease.Source.
func (l *Leases) Limits(ctx context.Context) (lease.Limits, error) {
	answer, err := call(ctx, &l.service, "limits", true, leaseClient.GetLimits, &api.GetLimitsRequest{Space: l.space})
	if err != nil {
		return lease.Limits{}, err
	}
	return lease.Limits{
		Limits: store.Limits{MaxTTL: time.Duration(answer.MaxTtlSeconds) * time.Second, MaxSkew: time.Duration(answer.MaxSkewSeconds) * time.Second},
		Floor:  wire.Time(answer.Floor), BarredFrom: wire.Time(answer.BarredFrom), BarredTo: wire.Time(answer.BarredTo),
	}, nil
}

// ReportLoss implements lease.Source. It requires a separate right.
func (l *Leases) ReportLoss(ctx context.Context) error {
	_, err := call(ctx, &l.service, "report loss", true, leaseClient.ReportLoss, &api.ReportLossRequest{Space: l.space})
	return err
}

// lost returns the error of a call, or that the lease is lost, if the answer says so.
func lost(held lease.Record, answer interface{ GetLost() *api.Lost }, err error) error {
	if gone := answer.GetLost(); gone != nil {
		return &lease.LostError{FirstNode: held.FirstNode, LastNode: held.LastNode, Others: gone.Others, Why: gone.Why}
	}
	return err
}

// terms returns a TTL and the end of a format in the form in which they are sent.
func terms(ttl time.Duration, until time.Time) (seconds uint32, last int64, err error) {
	if ttl < time.Second || ttl%time.Second != 0 || ttl/time.Second > math.MaxUint32 {
		return 0, 0, fmt.Errorf("%w: TTL %v: want whole seconds, 1s at least", lease.ErrInvalidRequest, ttl)
	}
	if !until.IsZero() && until.Unix() < randflake.Epoch {
		return 0, 0, fmt.Errorf("%w: until %s: want a time that is not over", lease.ErrInvalidRequest, until.Format(time.RFC3339))
	}
	return uint32(ttl / time.Second), wire.Second(until), nil
}
