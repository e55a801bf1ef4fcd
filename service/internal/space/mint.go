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

	Ready() error
	Close() error
}

// ErrNoNumber says that an ID has more than 64 bits.
var ErrNoNumber = errors.New("space: a ULID is no 64-bit integer: ask for text")

// minter returns the Minter of the space, or nil if the service makes no IDs for it.
func (s *Space) minter(ctx context.Context, leases lease.Source) (Minter, error) {
	layout, err := s.Layout()
	if err != nil {
		return nil, err
	}
	if leases != nil && s.options.Own != nil {
		leases = s.options.Own(s, leases)
	}
	switch {
	case s.Kind == "ulid":
		generator, err := ulid.New()
		return ulids{generator}, err
	case layout != nil:
		keeper, err := snowflake.Keep(ctx, leases, layout, snowflake.Leasing(s.terms(ctx, leases)...))
		if err != nil {
			return nil, err
		}
		return &numbers[snowflake.ID]{keeper.Generator(), keeper}, nil
	case s.Space.Secret == config.SecretMint || s.Space.Secret == config.SecretDistribute:
		options := append(s.terms(ctx, leases), lease.WithNodes(max(1, s.Nodes)))
		keeper, err := lease.Keep(ctx, leases, s.secret, options...)
		if err != nil {
			return nil, err
		}
		return &numbers[randflake.ID]{keeper.Generator(), keeper}, nil
	}
	return nil, nil
}

// terms are the options of the service's own leases: five minutes, or as long as the store grants.
func (s *Space) terms(ctx context.Context, leases lease.Source) []lease.Option {
	options := []lease.Option{lease.WithLogger(s.options.Logger.With("space", s.Name))}
	if limits, err := leases.Limits(ctx); err == nil {
		options = append(options, lease.WithTTL(min(5*time.Minute, limits.MaxTTL)))
	}
	return options
}

// maxText is the maximum length of a 64-bit ID in decimal digits.
const maxText = 20

// numbers makes IDs of 64 bits.
type numbers[ID interface {
	~int64 | ~uint64
	AppendText([]byte) ([]byte, error)
}] struct {
	generator interface {
		FillWait(context.Context, []ID) (int, error)
		Ready() error
	}
	keeper interface {
		Status() lease.Status
		Close() error
	}
}

func (m *numbers[ID]) Texts(ctx context.Context, n int) ([]string, error) {
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

func (m *numbers[ID]) Numbers(ctx context.Context, n int) ([]int64, error) {
	ids := make([]ID, n)
	n, err := m.generator.FillWait(ctx, ids)
	numbers := make([]int64, n)
	for i, id := range ids[:n] {
		numbers[i] = int64(id)
	}
	return numbers, err
}

func (m *numbers[ID]) Ready() error         { return m.generator.Ready() }
func (m *numbers[ID]) Status() lease.Status { return m.keeper.Status() }
func (m *numbers[ID]) Close() error         { return m.keeper.Close() }

// ulids makes ULIDs, which need neither a lease nor a secret.
type ulids struct{ *ulid.Generator }

func (m ulids) Texts(ctx context.Context, n int) ([]string, error) {
	texts := make([]string, 0, n)
	for range n {
		id, err := m.Wait(ctx)
		if err != nil {
			return texts, err
		}
		texts = append(texts, id.String())
	}
	return texts, nil
}

func (ulids) Numbers(context.Context, int) ([]int64, error) { return nil, ErrNoNumber }
func (ulids) Ready() error                                  { return nil }
func (ulids) Close() error                                  { return nil }
