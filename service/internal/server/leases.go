package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/audit"
	"github.com/randflake/randflake/store"
)

// leaseService implements the procedures of LeaseService.
type leaseService struct{ *Server }

// leases returns the leases of the call's space in the name of the caller.
func (s *Server) leases(c *call) lease.Source {
	return watched{retried{c.state.Leases}, s, c.by, c.in.Name}
}

// watched counts what becomes of leases, and writes to the audit log which ones a caller gets, can't renew, and gives
// back.
type watched struct {
	lease.Source
	*Server
	by    audit.Caller
	space string
}

func (w watched) Acquire(ctx context.Context, req lease.Request) (lease.Record, error) {
	r, err := w.Source.Acquire(ctx, req)
	if w.Metrics.Lease(w.space, "granted", err); err == nil {
		err = w.audit.Write(audit.Grant, w.by, w.space, audit.Terms(r)...)
	}
	return r, err
}

func (w watched) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	start := time.Now()
	r, err := w.Source.Renew(ctx, held, renewal)
	w.Metrics.Renewal(w.space, time.Since(start))
	if w.Metrics.Lease(w.space, "renewed", err); err != nil {
		why := "the store failed, or refused"
		if lost := (*lease.LostError)(nil); errors.As(err, &lost) {
			why = lost.Why
		}
		w.audit.Write(audit.Renewal, w.by, w.space, append(audit.Terms(held), "why", why)...)
	}
	return r, err
}

func (w watched) Release(ctx context.Context, held lease.Record, lastUsed time.Time) error {
	err := w.Source.Release(ctx, held, lastUsed)
	if w.Metrics.Lease(w.space, "released", err); err == nil {
		w.audit.Write(audit.Release, w.by, w.space, append(audit.Terms(held), "last_used", lastUsed.Unix())...)
	}
	return err
}

// retried lets a renewal that is retried after a lost answer return the result of the first attempt.
type retried struct{ lease.Source }

func (s retried) Renew(ctx context.Context, held lease.Record, renewal lease.Renewal) (lease.Record, error) {
	r, err := s.Source.Renew(ctx, held, renewal)
	if renewal.Token == (lease.Token{}) || !errors.Is(err, lease.ErrLost) {
		return r, err
	}
	found, failed := s.Source.Lookup(ctx, held)
	switch {
	case failed == nil && found.Change == renewal.Token:
		return found, nil
	case failed != nil && !errors.Is(failed, lease.ErrLost):
		return lease.Record{}, fmt.Errorf("the renewal may have been made before: %v", failed) // whatever is wrong now, so the outcome is unknown
	}
	return r, err
}

func (s leaseService) Acquire(ctx context.Context, r *connect.Request[api.AcquireRequest]) (*connect.Response[api.AcquireResponse], error) {
	c, m := callOf(ctx), r.Msg
	req := lease.Request{Nodes: int(m.Nodes), Below: m.Below, TTL: seconds(m.TtlSeconds), Until: wire.Time(m.Until), Retry: m.Retry, Label: cmp.Or(m.Label, c.who.Name)}
	var err error
	if req.Owner, err = wire.Token(m.Owner); err == nil && req.Owner == (lease.Token{}) {
		err = fmt.Errorf("%w: no owner: want a fresh token of 32 hexadecimal digits, so that a lost answer can be asked for again", lease.ErrInvalidRequest)
	}
	if err != nil {
		return nil, err
	}
	if req.Keys, err = checkValues(m.Check); err != nil {
		return nil, err
	}
	if len(req.Keys) > 0 && len(c.in.Check) > 0 && req.Keys[0] != c.in.Check[0] {
		return nil, fmt.Errorf("%w: space %s has check value %s, that of this secret is %s: is it the secret of another environment?", store.ErrWrongSecret, c.in.Name, c.in.Check[0].Check, req.Keys[0].Check)
	}
	if most := c.limits.Nodes; most > 0 && req.Nodes > most {
		return nil, s.over(c, "nodes", req.Nodes, most)
	}
	if most := c.limits.TTL; most > 0 && req.TTL > most {
		return nil, s.over(c, "TTL", req.TTL, most)
	}
	holder := s.usage.Holder(c.in.Name, req.Owner)
	if holder != "" && holder != c.who.Name {
		return nil, s.refuse(c, fmt.Errorf("%w: the owner token is another principal's: want a fresh one", access.ErrDenied))
	}
	req.Retry = req.Retry || holder != "" // so that a token is good for one lease
	done, ok := s.usage.Reserve(c.who.Name, c.in.Name, req.Owner, c.limits.Leases)
	if !ok {
		return nil, s.over(c, "leases", c.limits.Leases+1, c.limits.Leases)
	}
	defer done()
	granted, err := s.leases(c).Acquire(ctx, req)
	if err != nil {
		if _, whole := wire.Error(err, ""); c.limits.Leases > 0 && (!whole || ctx.Err() != nil) {
			s.usage.Holds(c.who.Name, c.in.Name, req.Owner, time.Now().Add(req.TTL).Unix())
		}
		return nil, err
	}
	s.usage.Holds(c.who.Name, c.in.Name, granted.Owner, granted.HighWater)
	return connect.NewResponse(&api.AcquireResponse{Lease: c.sendLease(granted)}), nil
}

func (s leaseService) Renew(ctx context.Context, r *connect.Request[api.RenewRequest]) (*connect.Response[api.RenewResponse], error) {
	c, m := callOf(ctx), r.Msg
	renewal := lease.Renewal{TTL: seconds(m.TtlSeconds), Until: wire.Time(m.Until)}
	var err error
	if renewal.Token, err = wire.Token(m.Token); err != nil {
		return nil, err
	}
	if renewal.Keys, err = checkValues(m.Check); err != nil {
		return nil, err
	}
	if most := c.limits.TTL; most > 0 && renewal.TTL > most {
		return nil, s.over(c, "TTL", renewal.TTL, most)
	}
	held, err := s.held(ctx, c, m.Held)
	var renewed lease.Record
	if err == nil {
		if renewed, err = s.leases(c).Renew(ctx, held, renewal); errors.Is(err, lease.ErrLost) {
			s.forget(ctx, c, held)
		}
	}
	switch lost, err := lostOf(err); {
	case err != nil:
		return nil, err
	case lost != nil:
		return connect.NewResponse(&api.RenewResponse{Outcome: &api.RenewResponse_Lost{Lost: lost}}), nil
	}
	s.usage.Holds(c.who.Name, c.in.Name, renewed.Owner, renewed.HighWater)
	return connect.NewResponse(&api.RenewResponse{Outcome: &api.RenewResponse_Lease{Lease: c.sendLease(renewed)}}), nil
}

func (s leaseService) Lookup(ctx context.Context, r *connect.Request[api.LookupRequest]) (*connect.Response[api.LookupResponse], error) {
	c := callOf(ctx)
	found, err := s.held(ctx, c, r.Msg.Held)
	if err == nil {
		found, err = s.leases(c).Lookup(ctx, found)
	}
	switch lost, err := lostOf(err); {
	case err != nil:
		return nil, err
	case lost != nil:
		return connect.NewResponse(&api.LookupResponse{Outcome: &api.LookupResponse_Lost{Lost: lost}}), nil
	}
	return connect.NewResponse(&api.LookupResponse{Outcome: &api.LookupResponse_Lease{Lease: c.sendLease(found)}}), nil
}

func (s leaseService) Release(ctx context.Context, r *connect.Request[api.ReleaseRequest]) (*connect.Response[api.ReleaseResponse], error) {
	c := callOf(ctx)
	held, err := s.held(ctx, c, r.Msg.Held)
	if err == nil {
		err = s.leases(c).Release(ctx, held, time.Unix(r.Msg.LastUsed, 0))
		s.forget(ctx, c, held)
	}
	lost, err := lostOf(err)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&api.ReleaseResponse{Lost: lost}), nil
}

// lostOf returns that a lease is lost, which is an answer, or another error.
func lostOf(err error) (*api.Lost, error) {
	if lost := (*lease.LostError)(nil); errors.As(err, &lost) {
		return &api.Lost{Others: lost.Others, Why: lost.Why}, nil
	}
	return nil, err
}

// checkValues reads the keys that a client shows.
func checkValues(text string) (keys store.Keys, err error) {
	if keys.UnmarshalText([]byte(text)) != nil {
		err = fmt.Errorf("%w: check: want 16 hexadecimal digits, or none, and for each further key a comma, 16 digits, @ and its first second", lease.ErrInvalidRequest)
	}
	return keys, err
}

// forget stops counting a lease as the caller's, unless the caller still has it by a newer record than it showed. The
// record must be signed, or a caller could name a lease that it has with nodes that it does not have.
func (s *Server) forget(ctx context.Context, c *call, held lease.Record) {
	held.Version = 0 // so that it does not show that data was lost
	if _, err := c.state.Leases.Lookup(ctx, held); errors.Is(err, lease.ErrLost) {
		s.usage.Holds(c.who.Name, c.in.Name, held.Owner, 0)
	}
}

// shown returns a record without the tokens and the signature by which its holder renews it. Its owner is a hash, whose
// first digits name the lease in the audit log.
func shown(r lease.Record) *api.Lease {
	if r.Owner != (lease.Token{}) {
		hash := sha256.Sum256(r.Owner[:])
		copy(r.Owner[:], hash[:])
	}
	r.Change, r.Signature = lease.Token{}, lease.Token{}
	return wire.Lease(r)
}

func (s leaseService) List(ctx context.Context, r *connect.Request[api.ListRequest]) (*connect.Response[api.ListResponse], error) {
	c := callOf(ctx)
	if err := s.room(ctx, c, pageRoom); err != nil {
		return nil, err
	}
	records, err := s.leases(c).List(ctx)
	if err != nil {
		return nil, err
	}
	answer := &api.ListResponse{}
	records, answer.NextPageToken = paged(records, r.Msg, byNode)
	for _, r := range records {
		answer.Leases = append(answer.Leases, shown(r))
	}
	return connect.NewResponse(answer), nil
}

// pageRoom is the room that a page takes, however short, as all that there is, is read for it.
const pageRoom = maxBatch

// A pageRequest is a request of List.
type pageRequest interface {
	GetPageSize() uint32
	GetPageToken() string
}

func byNode(r lease.Record) string { return fmt.Sprintf("%05x", r.FirstNode) }

// paged sorts a list by its keys, and returns the page that a request asks for and the token of the next one. A token is
// the last key of its page, so that what comes and goes meanwhile moves nothing else to another page.
func paged[T any](all []T, asked pageRequest, key func(T) string) (items []T, next string) {
	slices.SortFunc(all, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	all = all[sort.Search(len(all), func(i int) bool { return key(all[i]) > asked.GetPageToken() }):]
	if size := int(min(cmp.Or(asked.GetPageSize(), 1000), 10_000)); len(all) > size {
		all, next = all[:size], key(all[size-1])
	}
	return all, next
}

func (s leaseService) GetLimits(ctx context.Context, _ *connect.Request[api.GetLimitsRequest]) (*connect.Response[api.GetLimitsResponse], error) {
	limits, err := s.leases(callOf(ctx)).Limits(ctx)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&api.GetLimitsResponse{
		MaxTtlSeconds: uint32(limits.TTL()), MaxSkewSeconds: uint32(limits.Skew()),
		Floor: wire.Second(limits.Floor), BarredFrom: wire.Second(limits.BarredFrom), BarredTo: wire.Second(limits.BarredTo),
	}), nil
}

func seconds(n uint32) time.Duration { return time.Duration(n) * time.Second }
