package space

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A Minter makes n IDs, as text or as integers. If it can't make all, it returns those that it
// made, and an error. It is safe for concurrent use.
type Minter func(ctx context.Context, n int, asText bool) (texts []string, numbers []int64, err error)

// ErrNoNumber says that an ID has more than 64 bits.
var ErrNoNumber = fmt.Errorf("%w: a ULID is no 64-bit integer: ask for text", randflake.ErrInvalidID)

// The longest texts of IDs, in bytes.
const (
	randflakeText = 13
	snowflakeText = 20
	ulidText      = 26
)

// setMinter sets what makes the IDs of the space, if the service makes any, and takes the first
// lease for it.
func (s *Space) setMinter(ctx context.Context, state *State) error {
	layout, err := s.Layout()
	if err != nil {
		return err
	}
	logger := lease.WithLogger(s.logger())
	switch {
	case s.Kind == "ulid":
		generator, err := ulid.New()
		if err != nil {
			return err
		}
		fill := func(_ context.Context, ids []ulid.ID) (int, error) { return generator.Fill(ids) }
		state.Minter = minter(ulidText, fill, nil)
	case layout != nil:
		keeper, err := snowflake.Keep(ctx, taking{state.Store, s}, layout, snowflake.Leasing(logger))
		if err != nil {
			return err
		}
		state.Own = keeper
		state.Minter = minter(snowflakeText, leased(keeper, keeper.Generator().FillWait), number[snowflake.ID])
	case s.Cipher != nil:
		nodes := lease.WithNodes(max(1, s.Nodes))
		keeper, err := lease.Keep(ctx, taking{state.Store, s}, s.secret, logger, nodes)
		if err != nil {
			return err
		}
		state.Own = keeper
		state.Minter = minter(randflakeText, leased(keeper, keeper.Generator().FillWait), number[randflake.ID])
	}
	return nil
}

// number returns an ID as an integer.
func number[ID ~int64 | ~uint64](id ID) int64 { return int64(id) }

// A fill makes IDs until ids is full.
type fill[ID any] func(ctx context.Context, ids []ID) (n int, err error)

// lookTime is after how long a call that waits for IDs looks at the keeper, again and again.
const lookTime = 100 * time.Millisecond

// leased returns what fills as wait does, which is the FillWait of a keeper's generator. But it does not
// go on waiting if there is no lease as a clock is wrong: other replicas may have right ones. If a lease
// has ended before the keeper knows why, as where the clock has just jumped, it waits for the keeper.
func leased[ID any](keeper Keeper, wait fill[ID]) fill[ID] {
	return func(ctx context.Context, ids []ID) (n int, err error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var look func()
		look = func() {
			status := keeper.Status()
			switch {
			case ctx.Err() != nil:
			case !status.Stopped.IsZero() && errors.Is(status.Err, lease.ErrClock):
				cancel(status.Err)
			default:
				time.AfterFunc(lookTime, look)
			}
		}
		first := time.AfterFunc(lookTime, look)
		defer first.Stop()
		n, err = wait(ctx, ids)
		for errors.Is(err, randflake.ErrLeaseEnded) && keeper.Status().Err == nil && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(lookTime):
			}
			var more int
			more, err = wait(ctx, ids[n:])
			n += more
		}
		return n, explain(err, keeper)
	}
}

// explain adds to the error of a keeper's generator why it has no lease, and what a caller can do.
func explain(err error, keeper Keeper) error {
	noLease := errors.Is(err, randflake.ErrLeaseEnded) || errors.Is(err, randflake.ErrLeaseNotStarted)
	if !noLease {
		return err
	}
	why := keeper.Status().Err
	var wait *lease.WaitError
	if errors.As(why, &wait) {
		return fmt.Errorf("%w: the service has no lease: %w", err, wait)
	}
	if errors.Is(why, lease.ErrClock) {
		return fmt.Errorf("%w: the service has no lease: %w", err, why)
	}
	return fmt.Errorf("%w: the service gets no lease from its store, as its log says: "+
		"there are IDs again some seconds after the store is back", err)
}

// taking is the store from which the service takes leases for itself. It tells Options.Taken of
// each.
type taking struct {
	*lease.Space
	of *Space
}

func (t taking) Take(ctx context.Context, first, last int64, nodes uint32) ([]randflake.Lease, error) {
	leases, err := t.Space.Take(ctx, first, last, nodes)
	for _, l := range leases {
		t.of.options.Taken(t.of.Name, l)
	}
	return leases, err
}

// minter returns the Minter of the IDs that fill makes. The text of an ID has at most width bytes.
// number returns an ID as an integer; it is nil if IDs have more than 64 bits.
func minter[ID encoding.TextAppender](width int, fill fill[ID], number func(ID) int64) Minter {
	return func(ctx context.Context, n int, asText bool) (texts []string, numbers []int64, err error) {
		if !asText && number == nil {
			return nil, nil, ErrNoNumber
		}
		ids := make([]ID, n)
		made, err := fill(ctx, ids)
		ids = ids[:made]
		if asText {
			return textsOf(ids, width), nil, err
		}
		numbers = make([]int64, made)
		for i, id := range ids {
			numbers[i] = number(id)
		}
		return nil, numbers, err
	}
}

// textsOf returns the texts of IDs, each of at most width bytes. The texts share memory, which never
// changes again: an allocation for each text would be half of the cost.
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
