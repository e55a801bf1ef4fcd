package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/config"
)

const (
	maxBatch = 1 << 16       // IDs or numbers that a call makes
	maxRun   = 1_000_000_000 // numbers that a call takes, and does not make
)

// batch returns how many IDs or numbers a call asks for, once there is room for them in answers that were not written yet.
func (s *Server) batch(ctx context.Context, c *call, asked uint32) (uint64, error) {
	count := uint64(max(asked, 1))
	if count > maxBatch {
		return 0, invalid("count %d: want 1 to %d", count, maxBatch)
	}
	if limit := cmp.Or(c.limits.Batch, config.DefaultBatch); count > limit {
		return 0, s.over(c, "count", count, limit)
	}
	written, err := s.usage.Answer(ctx, c.principal, int64(count))
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, connect.NewError(connect.CodeResourceExhausted, errors.New("too many answers were not read yet: read them, ask for fewer IDs or numbers at a time, or try again"))
	}
	if err == nil {
		c.written = written
	}
	return count, err
}

// over is the error of a call that asks for more than a rule allows.
func (s *Server) over(c *call, what string, asked, most uint64) error {
	err := fmt.Errorf("%w: %w", access.ErrDenied, &wire.LimitError{What: what, Asked: asked, Limit: most})
	s.deny(c.caller, c.in.Name, "why", err.Error())
	return connect.NewError(connect.CodePermissionDenied, err)
}
