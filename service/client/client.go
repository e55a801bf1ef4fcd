// Package client is the client of the service randflaked. It has leases of nodes, as a lease.Source for lease.Keep and
// other functions, counters, as in package counter, and IDs that the service makes.
//
//	replicas := []string{"https://ids-1.example:8443", "https://ids-2.example:8443"}
//	leases, err := client.New(ctx, "orders", replicas, client.WithToken(token))
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
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/client/wire"
)

// replicas are one or more processes with the same spaces on the same stores, and a client of type C for each of them.
type replicas[C any] struct {
	addresses []string
	clients   []C
	current   atomic.Uint32 // the replica that answered last
	settings  settings
}

// An Option changes how New makes a client.
type Option struct{ set func(*settings) error }

type settings struct {
	http      *http.Client
	token     func() (string, error)
	plaintext bool             // a token may be sent by http
	now       func() time.Time // tests set it
	batch     int              // IDs that a call asks for
}

// WithHTTPClient makes calls use c instead of http.DefaultClient, for instance for a client certificate.
func WithHTTPClient(c *http.Client) Option {
	return option("WithHTTPClient: nil: leave it out", c != nil, func(s *settings) { s.http = c })
}

// WithToken sends a bearer token with each call.
func WithToken(token string) Option {
	return WithTokenFrom(func() (string, error) { return token, nil })
}

// WithTokenFrom calls from for each call and sends the bearer token that it returns, for instance from a file that is
// replaced now and then. from must be safe for concurrent use.
func WithTokenFrom(from func() (string, error)) Option {
	return option("WithTokenFrom: nil: leave it out", from != nil, func(s *settings) { s.token = from })
}

// WithPlaintext allows a token to be sent by http to another machine, where a mesh or a proxy encrypts connections.
func WithPlaintext() Option {
	return option("", true, func(s *settings) { s.plaintext = true })
}

// WithBatch sets how many IDs a call of [IDs] asks for, 1 to 65536, instead of 512. It must be within the limit that the
// service sets for the caller.
func WithBatch(n int) Option {
	return option(fmt.Sprintf("WithBatch: %d: want 1 to %d", n, maxBatch), 1 <= n && n <= maxBatch, func(s *settings) { s.batch = n })
}

// option returns an option, which fails with a text unless its argument is valid.
func option(problem string, valid bool, set func(*settings)) Option {
	return Option{func(s *settings) error {
		if !valid {
			return fmt.Errorf("%w: client: %s", randflake.ErrInvalidOption, problem)
		}
		set(s)
		return nil
	}}
}

// dial makes a client for each address. It does not connect.
func (r *replicas[C]) dial(addresses []string, options []Option, newClient func(connect.HTTPClient, string, ...connect.ClientOption) C) error {
	r.addresses = addresses
	r.settings = settings{http: http.DefaultClient, now: time.Now, batch: defaultBatch}
	for i, option := range options {
		if option.set == nil {
			return fmt.Errorf("%w: client: option %d is the zero Option: leave it out", randflake.ErrInvalidOption, i+1)
		}
		if err := option.set(&r.settings); err != nil {
			return err
		}
	}
	if len(addresses) == 0 {
		return errors.New("client: no address: want one URL at least, such as https://ids.example:8443")
	}
	interceptors := connect.WithInterceptors(connect.UnaryInterceptorFunc(r.settings.authorize))
	for i, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || !isBase(u) {
			return fmt.Errorf("client: address %d: want a URL such as https://ids.example:8443, with neither user, password, parameters nor fragment", i+1)
		}
		if r.settings.token != nil && !r.settings.plaintext && !isPrivate(u) {
			return fmt.Errorf("client: address %d: http sends the token in the clear: want https, or WithPlaintext where a mesh or a proxy encrypts connections", i+1)
		}
		r.clients = append(r.clients, newClient(r.settings.http, strings.TrimSuffix(address, "/"), interceptors))
	}
	return nil
}

// isBase reports whether paths of procedures can follow a URL.
func isBase(u *url.URL) bool {
	web := u.Scheme == "http" || u.Scheme == "https"
	return web && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// isPrivate reports whether nobody on the way can read what is sent to a URL.
func isPrivate(u *url.URL) bool {
	return u.Scheme == "https" || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
}

// authorize adds the bearer token, and says what is wrong if a service with TLS is called without.
func (s *settings) authorize(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if s.token != nil {
			token, err := s.token()
			if err != nil {
				return nil, connect.NewError(connect.CodeUnauthenticated, fmt.Errorf("client: token: %w", err))
			}
			request.Header().Set("Authorization", "Bearer "+token)
		}
		answer, err := next(ctx, request)
		if connect.CodeOf(err) == connect.CodeInternal && strings.HasSuffix(err.Error(), "400 Bad Request") {
			err = connect.NewError(connect.CodeInternal, errors.New("400 Bad Request: if the service has TLS, its address begins with https"))
		}
		return answer, err
	}
}

const replicaTimeout = 10 * time.Second // the maximum time for which a call waits for one replica

// A procedure is a method of a client, with a request and an answer.
type procedure[C, Q, A any] func(C, context.Context, *connect.Request[Q]) (*connect.Response[A], error)

// call tries one replica after the other, until one answers. What a replica took whose answer is lost, is lost, and never given
// twice, so each call may be repeated. The error says what failed.
func call[C, Q, A any](ctx context.Context, r *replicas[C], what string, do procedure[C, Q, A], message *Q) (*A, error) {
	var failed error
	first := int(r.current.Load())
	for i := range r.clients {
		at := (first + i) % len(r.clients)
		attempt, cancel := context.WithTimeout(ctx, share(ctx, len(r.clients)-i))
		answer, err := do(r.clients[at], attempt, connect.NewRequest(message))
		cancel()
		if err == nil {
			r.current.Store(uint32(at))
			return answer.Msg, nil
		}
		err = wire.Received(err)
		if cause := context.Cause(ctx); cause != nil {
			return nil, fmt.Errorf("client: %s: %w: %w", what, cause, err)
		}
		if failed == nil || !neverSent(err) {
			failed = err
		}
		if !othersMaySucceed(err) {
			break
		}
	}
	return nil, fmt.Errorf("client: %s: %w", what, failed)
}

// share returns how long to wait for the next of n replicas.
func share(ctx context.Context, n int) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(time.Until(end)/time.Duration(n), replicaTimeout)
	}
	return replicaTimeout
}

// othersMaySucceed reports whether another replica may succeed after err.
func othersMaySucceed(err error) bool {
	if wait := (*lease.WaitError)(nil); errors.As(err, &wait) {
		return false // for the same reason
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeInternal, connect.CodeUnknown,
		connect.CodeCanceled: // not by the caller; for instance the connection was reset
		return true
	}
	return false
}

// neverSent reports whether a request can't have reached a replica.
func neverSent(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}
