package space

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A Minter makes the IDs of a space. It is safe for concurrent use.
type Minter interface {
	// Texts returns n IDs as text, Numbers as integers. If ctx ends first, they return fewer and an error.
	Texts(ctx context.Context, n int) ([]string, error)
	Numbers(ctx context.Context, n int) ([]int64, error)
}

// An Own is the service's own lease in a space, by which it makes IDs.
type Own interface {
	Status() lease.Status
	Ready() error
	Close() error
}

type own[G lease.Generator] struct{ *lease.Keeper[G] }

func (o own[G]) Ready() error { return o.Generator().Ready() }

// ErrNoNumber says that an ID has more than 64 bits.
var ErrNoNumber = errors.New("space: a ULID is no 64-bit integer: ask for text")

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
		state.Minter = minter[ulid.ID]{generator, nil}
		return err
	case layout != nil:
		keeper, err := snowflake.Keep(ctx, leases, layout, snowflake.Leasing(s.terms(ctx, leases)...))
		if err != nil {
			return err
		}
		state.Minter = minter[snowflake.ID]{keeper.Generator(), func(id snowflake.ID) int64 { return int64(id) }}
		state.Own = own[*snowflake.Generator]{keeper}
	case s.Space.Secret == config.SecretMint || s.Space.Secret == config.SecretDistribute:
		options := append(s.terms(ctx, leases), lease.WithNodes(max(1, s.Nodes)))
		keeper, err := lease.Keep(ctx, leases, s.secret, options...)
		if err != nil {
			return err
		}
		state.Minter = minter[randflake.ID]{keeper.Generator(), func(id randflake.ID) int64 { return int64(id) }}
		state.Own = own[*randflake.Generator]{keeper}
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

// maxText is the maximum length of an ID as text.
const maxText = 26

type minter[ID interface {
	AppendText([]byte) ([]byte, error)
}] struct {
	generator interface {
		FillWait(context.Context, []ID) (int, error)
	}
	number func(ID) int64 // nil for IDs of more than 64 bits
}

func (m minter[ID]) Texts(ctx context.Context, n int) ([]string, error) {
	ids := make([]ID, n)
	n, err := m.generator.FillWait(ctx, ids)
	// All texts share one string: one allocation for each would be half of the cost.
	texts, all, scratch := make([]string, n), strings.Builder{}, make([]byte, 0, maxText)
	all.Grow(n * maxText)
	for i, id := range ids[:n] {
		text, _ := id.AppendText(scratch) // never fails
		all.Write(text)
		texts[i] = all.String()[all.Len()-len(text):]
	}
	return texts, err
}

func (m minter[ID]) Numbers(ctx context.Context, n int) ([]int64, error) {
	if m.number == nil {
		return nil, ErrNoNumber
	}
	ids := make([]ID, n)
	n, err := m.generator.FillWait(ctx, ids)
	numbers := make([]int64, n)
	for i, id := range ids[:n] {
		numbers[i] = m.number(id)
	}
	return numbers, err
}
