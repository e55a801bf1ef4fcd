package client

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
	"github.com/randflake/randflake/service/client/wire"
)

// Leases gives access to the leases of one space of a service. It is a lease.Source and safe for concurrent use.
type Leases struct {
	space string
	replicas[leaseClient]

	label  string // which says in the service's log whose leases they are
	limits lease.Limits
	check  string // value of the space's secret, in hexadecimal, or ""
}

type leaseClient = randflakev1connect.LeaseServiceClient

var _ lease.Source = (*Leases)(nil)

// New returns the leases of a space, after one call for its limits. Addresses are URLs such as https://ids.example:8443. If one
// does not answer, calls go to the next one.
func New(ctx context.Context, space string, addresses []string, options ...Option) (*Leases, error) {
	host, _ := os.Hostname()
	l := &Leases{space: space, label: host + "/" + filepath.Base(os.Args[0])}
	if err := l.dial(addresses, options, randflakev1connect.NewLeaseServiceClient); err != nil {
		return nil, err
	}
	found, err := call(ctx, &l.replicas, "limits", leaseClient.GetLimits, &api.GetLimitsRequest{Space: space})
	if err != nil {
		return nil, err
	}
	l.check = found.Check
	l.limits = lease.Limits{
		Nodes:   found.Nodes,
		Ahead:   int64(found.Ahead),
		Window:  time.Duration(found.WindowSeconds) * time.Second,
		MaxSkew: time.Duration(found.MaxSkewSeconds) * time.Second,
		Reserve: found.Reserve,
	}
	if found.WindowSeconds == 0 || found.Nodes == 0 {
		return nil, fmt.Errorf("client: limits: %+v: want a window of seconds, and nodes", l.limits)
	}
	return l, nil
}

// Limits implements lease.Source.
func (l *Leases) Limits() lease.Limits { return l.limits }

// String implements lease.Source.
func (l *Leases) String() string {
	return fmt.Sprintf("space %q of %s", l.space, strings.Join(l.addresses, ", "))
}

// CheckSecret returns lease.ErrSecret if the space is for IDs of another secret than that of the check value.
func (l *Leases) CheckSecret(check [8]byte) error {
	if own := hex.EncodeToString(check[:]); l.check != "" && l.check != own {
		return fmt.Errorf("%w: %s: its check value is %s, that of the secret is %s: is it the secret of another environment?", lease.ErrSecret, l, l.check, own)
	}
	return nil
}

// Take implements lease.Source. When an answer is lost its nodes are lost for these windows, so a call may be repeated.
func (l *Leases) Take(ctx context.Context, from, to int64, nodes uint32) ([]randflake.Lease, error) {
	if nodes == 0 || from < 0 || to < from {
		return nil, fmt.Errorf("%w: lease of %d nodes for windows %d to %d: want 1 or more, and windows in order", lease.ErrInvalid, nodes, from, to)
	}
	windows := min(to-from+1, math.MaxUint32) // the service knows the limit
	leases, err := l.take(ctx, from, uint32(windows), nodes)
	if err != nil {
		return nil, err
	}
	missing := from // the first window without a lease
	for _, granted := range leases {
		if l.limits.WindowOf(granted.Start) == missing {
			missing++
		}
	}
	if missing > to {
		return leases, nil
	}
	one, err := l.take(ctx, missing, 1, nodes) // which says why, if it still is
	if err != nil {
		return leases, err
	}
	leases = append(leases, one...)
	slices.SortFunc(leases, func(a, b randflake.Lease) int { return a.Start.Compare(b.Start) })
	return leases, nil
}

// take makes a call, and compares its answer with what was asked for.
func (l *Leases) take(ctx context.Context, window int64, windows, nodes uint32) ([]randflake.Lease, error) {
	request := &api.TakeRequest{Space: l.space, Window: window, Windows: windows, Nodes: nodes, Label: l.label}
	got, err := call(ctx, &l.replicas, "take", leaseClient.Take, request)
	if err != nil {
		return nil, err
	}
	leases := []randflake.Lease{grantedLease(got)}
	for _, more := range got.More {
		leases = append(leases, grantedLease(more))
	}
	next, last := window, window+int64(windows)-1
	for _, granted := range leases {
		n := granted.LastNode - granted.FirstNode + 1
		at := l.limits.WindowOf(granted.Start)
		if n != nodes || at < next || at > last || granted.End.Sub(granted.Start) != l.limits.Window {
			return nil, fmt.Errorf("client: take: %+v: want %d nodes for a window from %d to %d", granted, nodes, next, last)
		}
		next = at + 1
	}
	return leases, nil
}

// grantedLease reads a lease of an answer.
func grantedLease(l interface {
	GetFirstNode() uint32
	GetLastNode() uint32
	GetStart() int64
	GetEnd() int64
}) randflake.Lease {
	return randflake.Lease{
		FirstNode: l.GetFirstNode(),
		LastNode:  l.GetLastNode(),
		Start:     time.Unix(l.GetStart(), 0).UTC(),
		End:       time.Unix(l.GetEnd(), 0).UTC(),
	}
}

// NewCounters returns the counters of a space. Calls go to addresses in the same way as
// those of [New]. The service creates a counter at its first use, as its configuration says. Where that names a period, the service's
// clock picks it: numbers.Open has the same period and zone, and its check value is in the configuration.
//
// A handle takes runs from the service and hands out numbers from memory. A strict handle takes its numbers from the store with
// each call; it does not use the service's own procedure Next, as each replica hands out numbers of its own runs in memory. No call
// repeats a number. If the answer to a call is lost, its numbers are lost.
func NewCounters(space string, addresses []string, options ...Option) (*counter.Counters, error) {
	c := &counters{space: space}
	if err := c.dial(addresses, options, randflakev1connect.NewCounterServiceClient); err != nil {
		return nil, err
	}
	return counter.From(c), nil
}

type counterClient = randflakev1connect.CounterServiceClient

// counters implement counter.Source.
type counters struct {
	space string
	replicas[counterClient]
}

// CreateCounter always returns an error: the service itself creates the counters that its configuration names.
func (c *counters) CreateCounter(context.Context, lease.Counter) error {
	return fmt.Errorf("client: create counter: the configuration of the service says which counters there are, and it creates them at their first use: %w", errors.ErrUnsupported)
}

// TakeNumbers returns lease.ErrClock if the service is in another period. The numbers of that are lost.
func (c *counters) TakeNumbers(ctx context.Context, name string, period lease.Period, n int64) (lease.Run, error) {
	got, err := call(ctx, &c.replicas, "take numbers", counterClient.Take, &api.CounterServiceTakeRequest{Space: c.space, Counter: name, Count: n})
	if err != nil {
		return lease.Run{}, err
	}
	if got.Period != period.Key {
		return lease.Run{}, fmt.Errorf("%w: counter %s: the service is in %q, and this machine's clock in %q", lease.ErrClock, name, got.Period, period.Key)
	}
	if got.First < 0 || got.Count < 1 || got.Count > n || got.Step < 1 {
		return lease.Run{}, fmt.Errorf("client: take numbers: %d from %d by %d: want 1 to %d numbers", got.Count, got.First, got.Step, n)
	}
	return lease.Run{First: got.First, N: got.Count, Step: got.Step}, nil
}

func (c *counters) SetCounter(ctx context.Context, name string, next int64) error {
	_, err := call(ctx, &c.replicas, "set counter", counterClient.Set, &api.SetRequest{Space: c.space, Counter: name, Next: next})
	return err
}

func (c *counters) Counter(ctx context.Context, name string) (lease.Counter, error) {
	got, err := call(ctx, &c.replicas, "get counter", counterClient.Get, &api.GetRequest{Space: c.space, Counter: name})
	return wire.ReadCounter(got.GetCounter()), err
}

func (c *counters) Counters(ctx context.Context, after string, limit int) (all []lease.Counter, err error) {
	got, err := call(ctx, &c.replicas, "list counters", counterClient.List, &api.ListRequest{Space: c.space, After: after, Limit: uint32(min(max(limit, 1), 1000))})
	for _, one := range got.GetCounters() {
		all = append(all, wire.ReadCounter(one))
	}
	return all, err
}
