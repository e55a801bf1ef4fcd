package space

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A Minter makes n IDs, as text or as integers. If ctx ends first, there are fewer, and an error. It is safe for
// concurrent use.
type Minter func(ctx context.Context, n int, asText bool) (texts []string, numbers []int64, err error)

// ErrNoNumber says that an ID has more than 64 bits.
var ErrNoNumber = fmt.Errorf("%w: a ULID is no 64-bit integer: ask for text", ulid.ErrInvalidID)

// mint sets what makes the IDs of the space, if the service makes any.
func (s *Space) mint(ctx context.Context, state *State) error {
	layout, err := s.Layout()
	if err != nil {
		return err
	}
	leases := state.Leases
	if leases != nil && s.options.Own != nil {
		leases = s.options.Own(s, leases)
	}
	switch {
	case s.Kind == "ulid":
		generator, err := ulid.New()
		state.Minter = minter[ulid.ID](generator, 26, nil)
		return err
	case layout != nil:
		keeper, err := snowflake.Keep(ctx, leases, layout, snowflake.Leasing(s.terms(ctx, leases)...))
		if err != nil {
			return err
		}
		state.Minter = minter(keeper.Generator(), 20, func(id snowflake.ID) int64 { return int64(id) })
		state.Own, state.ready, state.close = keeper.Status, keeper.Generator().Ready, keeper.Close
	case s.Space.Secret == config.SecretMint || s.Space.Secret == config.SecretDistribute:
		options := append(s.terms(ctx, leases), lease.WithNodes(max(1, s.Nodes)))
		keeper, err := lease.Keep(ctx, leases, s.secret, options...)
		if err != nil {
			return err
		}
		state.Minter = minter(keeper.Generator(), 13, func(id randflake.ID) int64 { return int64(id) })
		state.Own, state.ready, state.close = keeper.Status, keeper.Generator().Ready, keeper.Close
	}
	return nil
}

// terms are the options of the service's own leases: five minutes, or as long as the store grants.
func (s *Space) terms(ctx context.Context, leases lease.Source) []lease.Option {
	options := []lease.Option{lease.WithLogger(s.options.Logger.With("space", s.Name))}
	if limits, err := leases.Limits(ctx); err == nil {
		options = append(options, lease.WithTTL(min(5*time.Minute, limits.MaxTTL)))
	}
	return options
}

type filler[ID any] interface {
	FillWait(context.Context, []ID) (int, error)
}

// minter returns the Minter of a generator, whose IDs have texts of a width, or of less. number is nil for IDs of more than
// 64 bits.
func minter[ID interface {
	AppendText([]byte) ([]byte, error)
}](generator filler[ID], width int, number func(ID) int64) Minter {
	return func(ctx context.Context, n int, asText bool) (texts []string, numbers []int64, err error) {
		if !asText && number == nil {
			return nil, nil, ErrNoNumber
		}
		ids := make([]ID, n)
		n, err = generator.FillWait(ctx, ids)
		if !asText {
			numbers = make([]int64, n)
			for i, id := range ids[:n] {
				numbers[i] = number(id)
			}
			return nil, numbers, err
		}
		// All texts share memory, which nobody writes to again: one allocation for each would be half of the cost.
		texts, all := make([]string, n), make([]byte, 0, n*width)
		for i, id := range ids[:n] {
			begin := len(all)
			all, _ = id.AppendText(all) // never fails
			texts[i] = unsafe.String(&all[begin], len(all)-begin)
		}
		return texts, nil, err
	}
}
