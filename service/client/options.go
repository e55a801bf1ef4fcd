package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake"
)

// An Option changes how [OpenLeases], [NewCounters] or [NewIDs] makes a client.
type Option struct{ set func(*settings) error }

// settings are what options set.
type settings struct {
	http      *http.Client
	token     func(context.Context) (string, error)
	plaintext bool             // a token may be sent by http
	now       func() time.Time // tests set it
	batch     int              // IDs that a call asks for
}

// WithHTTPClient makes calls use c instead of http.DefaultClient, for instance for a client certificate.
func WithHTTPClient(c *http.Client) Option {
	return checked(c != nil, "WithHTTPClient: nil: leave it out", func(s *settings) { s.http = c })
}

// WithToken sends a bearer token with each call.
func WithToken(token string) Option {
	return WithTokenFrom(func(context.Context) (string, error) { return token, nil })
}

// WithTokenFrom calls from for each call, with its ctx, and sends the bearer token that it returns, for
// instance from a file that is replaced now and then. from must be safe for concurrent use.
func WithTokenFrom(from func(ctx context.Context) (string, error)) Option {
	return checked(from != nil, "WithTokenFrom: nil: leave it out", func(s *settings) { s.token = from })
}

// WithPlaintext allows a token to be sent by http to another machine, where a mesh or a proxy encrypts connections.
func WithPlaintext() Option {
	return checked(true, "", func(s *settings) { s.plaintext = true }) // it has no argument
}

// WithBatch sets how many IDs a call of [IDs] asks for, 1 to 65536, instead of 512. If the service
// allows fewer in a call, it asks for those.
func WithBatch(n int) Option {
	valid := 1 <= n && n <= maxBatch
	problem := fmt.Sprintf("WithBatch: %d: want 1 to %d", n, maxBatch)
	return checked(valid, problem, func(s *settings) { s.batch = n })
}

// checked returns an option that calls set, or fails with the problem if its argument is not valid.
func checked(valid bool, problem string, set func(*settings)) Option {
	return Option{func(s *settings) error {
		if !valid {
			return fmt.Errorf("%w: client: %s", randflake.ErrInvalidOption, problem)
		}
		set(s)
		return nil
	}}
}

// apply sets the defaults, and then what the options say.
func (s *settings) apply(options []Option) error {
	s.http = http.DefaultClient
	s.now = time.Now
	s.batch = defaultBatch
	for i, option := range options {
		if option.set == nil {
			return fmt.Errorf("%w: client: option %d is the zero Option: leave it out", randflake.ErrInvalidOption, i+1)
		}
		if err := option.set(s); err != nil {
			return err
		}
	}
	return nil
}

// authorize adds the bearer token to each call. It also explains how a service with TLS answers a call without.
func (s *settings) authorize(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if s.token != nil {
			token, err := s.token(ctx)
			if err != nil {
				return nil, connect.NewError(connect.CodeUnauthenticated, fmt.Errorf("client: token: %w", err))
			}
			request.Header().Set("Authorization", "Bearer "+token)
		}
		answer, err := next(ctx, request)
		// This is the text of net/http's server, which connect passes on.
		if connect.CodeOf(err) == connect.CodeInternal && strings.HasSuffix(err.Error(), "400 Bad Request") {
			err = connect.NewError(connect.CodeInternal,
				errors.New("400 Bad Request: if the service has TLS, its address begins with https"))
		}
		return answer, err
	}
}
