package service

import (
	"context"
	"net/http"
	"time"

	"github.com/randflake/randflake/bench/internal/measure"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/client"
)

// holderCounts are how many holders renew at once.
var holderCounts = []int{1, 32}

// ttl is that of the leases, which outlast the measurement.
const ttl = 10 * time.Minute

// renewing returns sources of renewals: by the engine, and through the service.
func renewing(ctx context.Context, engine string, leases lease.Source, address, space string) ([]source, error) {
	direct, err := holders(ctx, own, engine, leases)
	if err != nil {
		return nil, err
	}
	// A holder has one connection as a rule, and keeps it.
	http := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: holderCounts[len(holderCounts)-1]}}
	through, err := client.New(space, []string{"http://" + address}, client.WithToken(token), client.WithHTTPClient(http))
	if err != nil {
		return nil, err
	}
	far, err := holders(ctx, remote, engine, through)
	return append(direct, far...), err
}

// holders returns a source for each of holderCounts. All their callers have leases of their own.
func holders(ctx context.Context, kind, engine string, leases lease.Source) (sources []source, err error) {
	for _, n := range holderCounts {
		s := source{kind: kind, on: engine, name: "Renew", each: 1}
		for range n {
			held, err := leases.Acquire(ctx, lease.Request{Nodes: 1, TTL: ttl})
			if err != nil {
				return nil, err
			}
			s.callers = append(s.callers, renew(leases, held))
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// renew returns a caller that has a lease and renews it.
func renew(leases lease.Source, held lease.Record) measure.Caller {
	return func(ctx context.Context) (err error) {
		held, err = leases.Renew(ctx, held, lease.Renewal{TTL: ttl, Token: lease.NewToken(time.Now())})
		return err
	}
}
