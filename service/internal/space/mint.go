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
		state.Minter, err = ulids()
		return err
	case layout != nil:
		keeper, err := snowflake.Keep(ctx, leases, layout, snowflake.Leasing(logger))
		if err != nil {
			return err
		}
		state.Own = keeper
		state.Minter = minter(keeper, keeper.Generator().FillWait, 20)
	case s.Cipher != nil:
		keeper, err := lease.Keep(ctx, leases, s.secret, logger, lease.WithNodes(max(1, s.Nodes)))
		if err != nil {
			return err
		}
		state.Own = keeper
		state.Minter = minter(keeper, keeper.Generator().FillWait, 13)
	}
	return nil
}

// explain adds to the error of a generator why it has no lease, and what a caller can do.
func explain(err error, status lease.Status) error {
	if !errors.Is(err, randflake.ErrLeaseEnded) && !errors.Is(err, randflake.ErrLeaseNotStarted) {
		return err
	}
	if wait := (*lease.WaitError)(nil); errors.As(status.Err, &wait) {
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
		t.of.options.Taken(t.of.Name, t.Limits().WindowOf(l.Start), l)
	}
	return leases, err
}

// minter returns the Minter of a keeper, in whose generator fill makes IDs. The text of an ID has at most width bytes.
func minter[ID interface {
	~int64 | ~uint64
	encoding.TextAppender
}](keeper Keeper, fill func(context.Context, []ID) (int, error), width int) Minter {
	return func(ctx context.Context, n int, asText bool) (texts []string, numbers []int64, err error) {
		ids := make([]ID, n)
		n, err = fill(ctx, ids)
		if err != nil {
			err = explain(err, keeper.Status())
		}
		if !asText {
			numbers = make([]int64, n)
			for i, id := range ids[:n] {
				numbers[i] = int64(id)
			}
			return nil, numbers, err
		}
		return textsOf(ids[:n], width), nil, err
	}
}

// ulids returns the Minter of a generator of ULIDs, which needs no lease.
func ulids() (Minter, error) {
	generator, err := ulid.New()
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, n int, asText bool) (texts []string, numbers []int64, err error) {
		if !asText {
			return nil, nil, ErrNoNumber
		}
		ids := make([]ulid.ID, n)
		n, err = generator.Fill(ids)
		return textsOf(ids[:n], 26), nil, err
	}, nil
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
