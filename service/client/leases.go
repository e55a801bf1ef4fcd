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
	"github.com/randflake/randflake/lease"
	api "github.com/randflake/randflake/service/client/api/randflake/v1"
	"github.com/randflake/randflake/service/client/api/randflake/v1/randflakev1connect"
)

// Leases are the leases of one space of a service, as a lease.Source. They are safe for concurrent use.
type Leases struct {
	space string
	replicas[leaseClient]

	label  string // whose leases these are, in the service's audit log
	limits lease.Limits
	check  string // value of the space's secret, in hexadecimal, or ""
}

type leaseClient = randflakev1connect.LeaseServiceClient

var _ lease.Source = (*Leases)(nil)

// OpenLeases returns the leases of a space, after one call for its limits. Addresses are URLs such as
// https://ids.example:8443. If one does not answer, calls go to the next one.
func OpenLeases(ctx context.Context, space string, addresses []string, options ...Option) (*Leases, error) {
	host, _ := os.Hostname()
	l := &Leases{space: space, label: host + "/" + filepath.Base(os.Args[0])}
	if err := l.dial(addresses, options, randflakev1connect.NewLeaseServiceClient); err != nil {
		return nil, err
	}
	found, err := call(ctx, &l.replicas, "limits", leaseClient.GetLimits, &api.GetLimitsRequest{Space: space})
	if err != nil {
		return nil, err
	}
	l.check = found.CheckValue
	l.limits = lease.Limits{
		FirstNode: found.FirstNode,
		Nodes:     found.NodeCount,
		Ahead:     int64(found.Ahead),
		Window:    time.Duration(found.WindowSeconds) * time.Second,
		MaxSkew:   time.Duration(found.MaxSkewSeconds) * time.Second,
		Reserve:   found.Reserve,
	}
	if found.WindowSeconds == 0 || found.NodeCount == 0 {
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

// CheckSecret returns lease.ErrWrongSecret if the space is for another secret than the one that has this check value.
func (l *Leases) CheckSecret(check [8]byte) error {
	own := hex.EncodeToString(check[:])
	if l.check == "" || l.check == own {
		return nil
	}
	return fmt.Errorf("%w: %s: its check value is %s, that of the secret is %s: "+
		"is it the secret of another environment?", lease.ErrWrongSecret, l, l.check, own)
}

// Take implements lease.Source. If an answer is lost, so are its nodes for these windows. So a call may be repeated.
func (l *Leases) Take(ctx context.Context, first, last int64, nodes uint32) ([]randflake.Lease, error) {
	if nodes == 0 || first < 0 || last < first {
		return nil, fmt.Errorf("%w: lease of %d nodes for windows %d to %d: "+
			"want 1 or more, and windows in order", lease.ErrInvalid, nodes, first, last)
	}
	leases, err := l.take(ctx, first, last, nodes)
	if err != nil {
		return nil, err
	}
	missing := first // the first window without a lease
	for _, granted := range leases {
		if l.limits.WindowOf(granted.Start) == missing {
			missing++
		}
	}
	if missing > last {
		return leases, nil
	}
	// An answer with some leases does not say why others are missing. One with none does.
	one, err := l.take(ctx, missing, missing, nodes)
	leases = append(leases, one...)
	slices.SortFunc(leases, func(a, b randflake.Lease) int { return a.Start.Compare(b.Start) })
	return leases, err
}

// take makes a call. It checks that the leases of the answer are for some of the windows, in order.
func (l *Leases) take(ctx context.Context, first, last int64, nodes uint32) ([]randflake.Lease, error) {
	windows := min(last-first+1, math.MaxUint32) // the service grants fewer anyway
	answer, err := call(ctx, &l.replicas, "take", leaseClient.Take, &api.TakeRequest{
		Space:       l.space,
		Window:      first,
		WindowCount: uint32(windows),
		NodeCount:   nodes,
		Label:       l.label,
	})
	if err != nil {
		return nil, err
	}
	if len(answer.Leases) == 0 {
		return nil, errors.New("client: take: an answer without a lease")
	}
	var leases []randflake.Lease
	next := first
	for _, one := range answer.Leases {
		granted := randflake.Lease{
			FirstNode: one.FirstNode,
			LastNode:  one.LastNode,
			Start:     time.Unix(one.Start, 0).UTC(),
			End:       time.Unix(one.End, 0).UTC(),
		}
		window := l.limits.WindowOf(granted.Start)
		inOrder := next <= window && window <= last
		whole := granted.End.Sub(granted.Start) == l.limits.Window
		n := granted.LastNode - granted.FirstNode + 1
		if n != nodes || !inOrder || !whole {
			return nil, fmt.Errorf("client: take: %+v: want %d nodes for a window from %d to %d", granted, nodes, next, last)
		}
		leases = append(leases, granted)
		next = window + 1
	}
	return leases, nil
}
