// Package client is the client of the service randflaked. [Leases] are leases of nodes, as a
// lease.Source for lease.Keep and other functions. [NewCounters] returns counters, as in package
// counter. [IDs] are IDs that the service makes.
//
//	replicas := []string{"https://ids-1.example:8443", "https://ids-2.example:8443"}
//	leases, err := client.OpenLeases(ctx, "orders", replicas, client.WithToken(token))
//	keeper, err := lease.Keep(ctx, leases, secret)
//
//	counters, err := client.NewCounters("orders", replicas, client.WithToken(token))
//	invoices, err := counters.Open(ctx, "invoices")
//	n, err := invoices.Wait(ctx)
//
//	ids, err := client.NewIDs[randflake.ID]("orders", replicas, client.WithToken(token))
//	id, err := ids.Mint(ctx)
package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/client/wire"
)

// replicas are one or more processes that serve the same spaces from the same stores, with a client of type C for each.
type replicas[C any] struct {
	addresses []string
	clients   []C
	current   atomic.Uint32 // the replica that answered last
	settings  settings
}

// dial makes a client for each address. It does not connect.
func (r *replicas[C]) dial(
	addresses []string,
	options []Option,
	newClient func(connect.HTTPClient, string, ...connect.ClientOption) C,
) error {
	if err := r.settings.apply(options); err != nil {
		return err
	}
	if len(addresses) == 0 {
		return errors.New("client: no address: want one URL at least, such as https://ids.example:8443")
	}
	r.addresses = addresses
	interceptors := connect.WithInterceptors(connect.UnaryInterceptorFunc(r.settings.authorize))
	for i, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || !isBase(u) {
			return fmt.Errorf("client: address %d: want a URL such as https://ids.example:8443, "+
				"with neither user, password, parameters nor fragment", i+1)
		}
		if r.settings.token != nil && !r.settings.plaintext && !isPrivate(u) {
			return fmt.Errorf("client: address %d: http sends the token in the clear: "+
				"want https, or WithPlaintext where a mesh or a proxy encrypts connections", i+1)
		}
		base := strings.TrimSuffix(address, "/")
		r.clients = append(r.clients, newClient(r.settings.http, base, interceptors))
	}
	return nil
}

// isBase reports whether paths of procedures can follow a URL.
func isBase(u *url.URL) bool {
	isHTTP := u.Scheme == "http" || u.Scheme == "https"
	hasMore := u.User != nil || u.RawQuery != "" || u.Fragment != ""
	return isHTTP && u.Host != "" && !hasMore
}

// isPrivate reports whether what is sent to a URL is encrypted, or stays on this machine.
func isPrivate(u *url.URL) bool {
	return u.Scheme == "https" || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
}

// Reason returns why the service refused a call, for programs, such as FULL: docs/service.md lists the
// reasons. It returns "" if err does not come from the service.
func Reason(err error) string { return wire.Reason(err) }

const replicaTimeout = 10 * time.Second // the most that a call waits for one replica

// call tries one replica after the other, until one answers. It may repeat each call: what a
// replica took is never given twice, and if its answer is lost, so is what it took. If all fail,
// the error is that of the last replica that could be reached, or of the first if none could be.
func call[C, Q, A any](
	ctx context.Context,
	r *replicas[C],
	what string,
	procedure func(C, context.Context, *Q) (*A, error), // a method of a client
	request *Q,
) (*A, error) {
	var failed error
	first := int(r.current.Load())
	for i := range r.clients {
		at := (first + i) % len(r.clients)
		attempt, cancel := context.WithTimeout(ctx, share(ctx, len(r.clients)-i))
		answer, err := procedure(r.clients[at], attempt, request)
		cancel()
		if err == nil {
			r.current.Store(uint32(at))
			return answer, nil
		}
		err = wire.Received(err)
		if cause := context.Cause(ctx); cause != nil {
			return nil, fmt.Errorf("client: %s: %w: %w", what, cause, err)
		}
		if failed == nil || !neverSent(err) { // one that was reached says more than one that was not
			failed = err
		}
		if !othersMaySucceed(err) {
			break
		}
	}
	return nil, fmt.Errorf("client: %s: %w", what, failed)
}

// share returns how long to wait for the next replica, if n are left to try.
func share(ctx context.Context, n int) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(time.Until(end)/time.Duration(n), replicaTimeout)
	}
	return replicaTimeout
}

// othersMaySucceed reports whether another replica may succeed after err.
func othersMaySucceed(err error) bool {
	if _, wait := errors.AsType[*lease.WaitError](err); wait {
		return false // the others have the same store, and must wait too
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeInternal, connect.CodeUnknown,
		connect.CodeCanceled: // not by the caller; for instance the connection was reset
		return true
	}
	return false
}

// neverSent reports whether a request can't have reached a replica, as no connection could be made.
func neverSent(err error) bool {
	network, ok := errors.AsType[*net.OpError](err)
	return ok && network.Op == "dial"
}
