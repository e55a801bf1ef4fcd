package space

import (
	"context"
	"encoding"
	"fmt"
	"unsafe"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A Minter makes IDs. If it can't make n, it returns those that it made, and an error. It is safe for concurrent use.
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

// setMinter sets what makes the IDs of the space, and takes the first lease for it. Without a secret, clients make the
// Randflake IDs: then there is no Minter.
func (s *Space) setMinter(ctx context.Context, state *State) error {
	layout, err := s.Config.OpenLayout()
	if err != nil {
		return err
	}
	logger := lease.WithLogger(s.logger())
	source := taking{state.Leases, s}
	switch {
	case s.Config.Kind == "ulid":
		generator, err := ulid.New()
		if err != nil {
			return err
		}
		fill := func(_ context.Context, ids []ulid.ID) (int, error) { return generator.Fill(ids) }
		state.Minter = minter[ulid.ID]{fill, ulidText, nil}
	case layout != nil:
		keeper, err := snowflake.Keep(ctx, source, layout, snowflake.Leasing(logger))
		if err != nil {
			return err
		}
		state.Own = keeper
		fill := leased(keeper, keeper.Generator().FillWait)
		state.Minter = minter[snowflake.ID]{fill, snowflakeText, toInt64[snowflake.ID]}
	case s.Cipher != nil:
		nodes := lease.WithNodes(max(1, s.Config.Nodes))
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
