package space

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"unsafe"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A Minter makes n IDs, as text or as integers. If ctx ends first, there are fewer, and an error. It is safe for
// concurrent use.
type Minter func(ctx context.Context, n int, asText bool) (texts []string, numbers []int64, err error)

// ErrNoNumber says that an ID has more than 64 bits.
var ErrNoNumber = fmt.Errorf("%w: a ULID is no 64-bit integer: ask for text", ulid.ErrInvalidID)

// setMinter sets what makes the IDs of the space, if the service makes any.
func (s *Space) setMinter(ctx context.Context, state *State) error {
	layout, err := s.Layout()
	if err != nil {
		return err
	}
	leases := taking{state.Store, s}
	logger := lease.WithLogger(s.options.Logger.With("space", s.Name))
	switch {
	case s.Kind == "ulid":
		generator, err := ulid.New()
		if err != nil {
			return err
		}
		fill := func(_ context.Context, ids []ulid.ID) (int, error) { return generator.Fill(ids) }
		state.Minter = minter(nil, 26, fill, nil)
	case layout != nil:
		keeper, err := snowflake.Keep(ctx, leases, layout, snowflake.Leasing(logger))
		if err != nil {
			return err
		}
		state.Own = keeper
		state.Minter = minter(keeper, 20, keeper.Generator().FillWait, func(id snowflake.ID) int64 { return int64(id) })
	case s.Cipher != nil:
		keeper, err := lease.Keep(ctx, leases, s.secret, logger, lease.WithNodes(max(1, s.Nodes)))
		if err != nil {
			return err
		}
		state.Own = keeper
		state.Minter = minter(keeper, 13, keeper.Generator().FillWait, func(id randflake.ID) int64 { return int64(id) })
	}
	return nil
}

// explain adds to the error of a keeper's generator why it has no lease, and what a caller can do.
func explain(err error, keeper Keeper) error {
	if !errors.Is(err, randflake.ErrLeaseEnded) && !errors.Is(err, randflake.ErrLeaseNotStarted) {
		return err
	}
	if wait := (*lease.WaitError)(nil); errors.As(keeper.Status().Err, &wait) {
		return fmt.Errorf("%w: the service has no lease: %w", err, wait)
	}
	return fmt.Errorf("%w: the service gets no lease from its store, as its log says: there are IDs again some seconds after the store is back", err)
}

// taking is the store of a space, of which the service takes leases for itself.
type taking struct {
	*lease.Space
	of *Space
}

func (t taking) Take(ctx context.Context, from, to int64, nodes uint32) ([]randflake.Lease, error) {
	leases, err := t.Space.Take(ctx, from, to, nodes)
	for _, l := range leases {
		t.of.options.Taken(t.of.Name, l)
	}
	return leases, err
}

// minter returns the Minter of what fill makes, in a keeper's leases unless that is nil. The text of an ID has at most width bytes; it is
// a 64-bit integer unless number is nil.
func minter[ID encoding.TextAppender](keeper Keeper, width int, fill func(context.Context, []ID) (int, error), number func(ID) int64) Minter {
	return func(ctx context.Context, n int, asText bool) (texts []string, numbers []int64, err error) {
		if !asText && number == nil {
			return nil, nil, ErrNoNumber
		}
		ids := make([]ID, n)
		n, err = fill(ctx, ids)
		err = explain(err, keeper)
		if asText {
			return textsOf(ids[:n], width), nil, err
		}
		numbers = make([]int64, n)
		for i, id := range ids[:n] {
			numbers[i] = number(id)
		}
		return nil, numbers, err
	}
}

// textsOf returns the texts of IDs, each of at most width bytes. They share memory, which nobody writes to again: one allocation for each
// would be half of the cost.
func textsOf[ID encoding.TextAppender](ids []ID, width int) []string {
	texts := make([]string, len(ids))
	all := make([]byte, 0, len(ids)*width)
	for i, id := range ids {
		begin := len(all)
		all, _ = id.AppendText(all) // never fails
		texts[i] = unsafe.String(&all[begin], len(all)-begin)
	}
	return texts
}
