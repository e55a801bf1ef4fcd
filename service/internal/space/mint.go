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

// A Minter makes IDs. If it can't make n, it returns those that it made, and an error. It is safe for
// concurrent use.
type Minter interface {
	Texts(ctx context.Context, n int) ([]string, error)
	Numbers(ctx context.Context, n int) ([]int64, error) // or ErrNoNumber
}

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
	layout, err := s.OpenLayout()
	if err != nil {
		return err
	}
	logger := lease.WithLogger(s.logger())
	source := taking{state.Store, s}
	switch {
	case s.Kind == "ulid":
		generator, err := ulid.New()
		if err != nil {
			return err
		}
		fill := func(_ context.Context, ids []ulid.ID) (int, error) { return generator.Fill(ids) }
		state.Minter = minter[ulid.ID]{fill: fill, width: ulidText}
	case layout != nil:
		keeper, err := snowflake.Keep(ctx, source, layout, snowflake.Leasing(logger))
		if err != nil {
			return err
		}
		state.Own = keeper
		fill := leased(keeper, keeper.Generator().FillWait)
		state.Minter = minter[snowflake.ID]{fill, snowflakeText, toInt64[snowflake.ID]}
	case s.Cipher != nil:
		nodes := lease.WithNodes(max(1, s.Nodes))
		keeper, err := lease.Keep(ctx, source, s.secret, logger, nodes)
		if err != nil {
			return err
		}
		state.Own = keeper
		fill := leased(keeper, keeper.Generator().FillWait)
		state.Minter = minter[randflake.ID]{fill, randflakeText, toInt64[randflake.ID]}
	}
	return nil
}

// A filler makes IDs until ids is full.
type filler[ID any] func(ctx context.Context, ids []ID) (n int, err error)

// leased returns what fills as wait does, which is the FillWait of a keeper's generator. But it goes by
// what the keeper knows, and an error says that, too.
func leased[ID any](keeper Keeper, wait filler[ID]) filler[ID] {
	fill := unlessClockIsWrong(keeper, untilKeeperKnows(keeper, wait))
	return func(ctx context.Context, ids []ID) (n int, err error) {
		n, err = fill(ctx, ids)
		return n, explain(err, keeper)
	}
}

// lookTime is after how long a call that waits for IDs looks at the keeper, again and again.
const lookTime = 100 * time.Millisecond

// unlessClockIsWrong returns a filler that stops waiting if there is no lease because a clock is wrong:
// other replicas may have right ones.
func unlessClockIsWrong[ID any](keeper Keeper, wait filler[ID]) filler[ID] {
	return func(ctx context.Context, ids []ID) (n int, err error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		looking := time.AfterFunc(lookTime, func() { cancel(awaitWrongClock(ctx, keeper)) }) // few calls last so long
		defer looking.Stop()
		return wait(ctx, ids)
	}
}

// awaitWrongClock returns the error of a keeper that has no lease because a clock is wrong, as soon as
// it has one, or nil when ctx ends.
func awaitWrongClock(ctx context.Context, keeper Keeper) error {
	for {
		status := keeper.Status()
		if !status.Stopped.IsZero() && errors.Is(status.Err, lease.ErrClock) {
			return status.Err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookTime):
		}
	}
}

// untilKeeperKnows returns a filler that goes on waiting if the lease has ended before the keeper knows why, as
// where the clock has just jumped.
func untilKeeperKnows[ID any](keeper Keeper, wait filler[ID]) filler[ID] {
	return func(ctx context.Context, ids []ID) (n int, err error) {
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
		return n, err
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
	space *Space
}

func (t taking) Take(ctx context.Context, first, last int64, nodes uint32) ([]randflake.Lease, error) {
	leases, err := t.Space.Take(ctx, first, last, nodes)
	for _, l := range leases {
		t.space.options.Taken(t.space.Name, l)
	}
	return leases, err
}

// A minter is a Minter of one type of IDs.
type minter[ID encoding.TextAppender] struct {
	fill   filler[ID]
	width  int            // bytes of the longest text
	number func(ID) int64 // nil if IDs have more than 64 bits
}

func (m minter[ID]) Texts(ctx context.Context, n int) ([]string, error) {
	ids := make([]ID, n)
	made, err := m.fill(ctx, ids)
	return textsOf(ids[:made], m.width), err
}

func (m minter[ID]) Numbers(ctx context.Context, n int) ([]int64, error) {
	if m.number == nil {
		return nil, ErrNoNumber
	}
	ids := make([]ID, n)
	made, err := m.fill(ctx, ids)
	numbers := make([]int64, made)
	for i, id := range ids[:made] {
		numbers[i] = m.number(id)
	}
	return numbers, err
}

func toInt64[ID ~int64 | ~uint64](id ID) int64 { return int64(id) }

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
