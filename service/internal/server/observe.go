package server

import (
	"context"
	"errors"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/space"
)

// observed counts calls, and adds details to their errors.
func (s *Server) observed(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		start := time.Now()
		response, err := next(ctx, request)
		in, procedure := callOf(ctx).setup.spaceOf(request.Any()), request.Spec().Procedure
		if callOf(ctx).setup.spaces[in] == nil {
			in = ""
		}
		s.Metrics.Called(strings.TrimPrefix(procedure, "/randflake.v1."), in, time.Since(start), err)
		if failed := (*connect.Error)(nil); errors.As(err, &failed) {
			again := failed.Code() == connect.CodeUnavailable || failed.Code() == connect.CodeResourceExhausted && !errors.Is(failed, space.ErrMost)
			wire.Describe(failed, procedure, again)
		}
		return response, err
	}
}
