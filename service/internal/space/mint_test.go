package space

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// TestMinters: each ID is made once, as text or as an integer that opens alike, and under leases of as many nodes as
// the space has. The service makes no IDs of a space whose secret it does not have.
func TestMinters(t *testing.T) {
	secret := randflake.NewSecret()
	file := secretFile(t, secret)
	check := fmt.Sprintf("%x", secret.CheckValue())
	for _, tt := range []struct {
		space config.Space
		nodes uint32 // 0 makes no IDs
		check string
		parse func(text string) (number int64, err error)
	}{
		{config.Space{Kind: "randflake", Store: "memory", SecretFile: file}, 1, check, parsed(randflake.Parse)},
		{config.Space{Kind: "randflake", Store: "memory", SecretFile: file, Nodes: 4}, 4, check, parsed(randflake.Parse)},
		{config.Space{Kind: "snowflake", Layout: "twitter", Store: "memory"}, 1, "", parsed(snowflake.Parse)},
		{config.Space{Kind: "randflake", Store: "memory"}, 0, "", nil},
	} {
		bubble(t, func(t *testing.T) {
			f := newFake(t, tt.space)
			state := f.open(t)
			require.That(t, state.Check == tt.check && f.Ready() == nil && f.Phase() == Open,
				"%+v: check value %q, ready %v, phase %v", tt.space, state.Check, f.Ready(), f.Phase())
			if tt.nodes == 0 {
				require.That(t, state.Minter == nil && state.Own == nil, "%+v: it makes IDs", tt.space)
				return
			}
			texts, err := state.Minter.Texts(t.Context(), 100)
			require.NoError(t, err)
			numbers, err := state.Minter.Numbers(t.Context(), 100)
			require.NoError(t, err)
			for _, text := range texts {
				number, err := tt.parse(text)
				require.NoError(t, err)
				numbers = append(numbers, number)
			}
			slices.Sort(numbers)
			require.Equal(t, len(slices.Compact(numbers)), 200, "%+v: different IDs", tt.space)
			for _, l := range f.leases() {
				require.Equal(t, l.LastNode-l.FirstNode+1, tt.nodes, "%+v: nodes of lease %+v", tt.space, l)
			}
			require.That(t, len(f.taken) != 0, "%+v: no lease was taken", tt.space)
		})
	}
}

// TestULIDs: they are made without leases, as text alone, with a store for counters or without one.
func TestULIDs(t *testing.T) {
	for _, place := range []string{"", "memory"} {
		bubble(t, func(t *testing.T) {
			f := newFake(t, config.Space{Name: "demo", Kind: "ulid", Store: place}, config.Counter{Name: "orders"})
			state := f.open(t)
			texts, err := state.Minter.Texts(t.Context(), 100)
			require.NoError(t, err)
			for _, text := range texts {
				id, err := ulid.Parse(text)
				if made := ulid.Inspect(id).Time; err != nil || time.Since(made).Abs() > time.Second {
					t.Errorf("store %q: %s was made at %v, error %v", place, text, made, err)
				}
			}
			slices.Sort(texts)
			require.Equal(t, len(slices.Compact(texts)), 100, "store %q: different IDs", place)
			require.Refuses(t, ErrNoNumber, "store %q: an ID as an integer", place)(state.Minter.Numbers(t.Context(), 1))
			asked := f.attempts.Load() > 0
			require.That(t, asked == (place != "") && f.Ready() == nil,
				"store %q: asked %v, ready %v", place, asked, f.Ready())
			require.That(t, len(f.leases()) == 0 && state.Own == nil,
				"store %q: leases %v for ULIDs", place, f.leases())
			require.Equal(t, CheckOpens(t.Context(), f.Config, f.openStore), nil, "store %q: it can't be opened", place)
			if place == "" {
				return
			}
			run, _, err := state.Counters.Take(t.Context(), "orders", 2)
			require.That(t, err == nil && run.First == 1 && run.N == 2, "the first numbers: %+v, error %v", run, err)
		})
	}
}

func parsed[ID ~int64 | ~uint64](parse func(string) (ID, error)) func(string) (int64, error) {
	return func(text string) (int64, error) {
		id, err := parse(text)
		return int64(id), err
	}
}

// TestFewer: if a caller doesn't wait for all its IDs, it gets those that there are, and an error.
func TestFewer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		state := newFake(t, snowflakes).open(t)
		wantFewer(t, "", state.Minter.Texts)
		wantFewer(t, 0, state.Minter.Numbers)
	})
}

// wantFewer makes more IDs than there is time for. None may be empty.
func wantFewer[ID cmp.Ordered](t *testing.T, empty ID, mint func(context.Context, int) ([]ID, error)) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	ids, err := mint(ctx, 100_000) // which take 25 ms
	n := len(ids)
	require.That(t, errors.Is(err, context.DeadlineExceeded) && n >= 4096 && n <= 60_000, "%d IDs, error %v", n, err)
	slices.Sort(ids)
	require.That(t, len(slices.Compact(ids)) == n && !slices.Contains(ids, empty), "%d IDs, some twice, or an empty one", n)
}

// A stopped keeper has no lease from a time on, for some reason.
type stopped struct {
	Keeper
	from time.Time
	why  error
}

func (s stopped) Status() lease.Status {
	if time.Now().Before(s.from) {
		return lease.Status{}
	}
	return lease.Status{Stopped: s.from, Err: s.why}
}

// wrongFrom returns a keeper that finds a clock wrong from a time on.
func wrongFrom(from time.Time) Keeper {
	return stopped{from: from, why: fmt.Errorf("lease: %w: by an hour", lease.ErrClock)}
}

// TestClockBack: a call that waits for a clock that went back ends once the keeper has found it wrong.
func TestClockBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		began := time.Now()
		wait := func(ctx context.Context, ids []int) (int, error) {
			<-ctx.Done()
			return 1, fmt.Errorf("%w: %w", context.Cause(ctx), randflake.ErrClockBackward)
		}
		fill := leased(wrongFrom(began.Add(time.Second)), wait)
		n, err := fill(t.Context(), make([]int, 2))
		if took := time.Since(began); n != 1 || !errors.Is(err, lease.ErrClock) || took > 1100*time.Millisecond {
			t.Errorf("%d IDs, %v after %v, want one, and ErrClock", n, err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		fill = leased(wrongFrom(began.Add(time.Hour)), wait)
		_, err = fill(ctx, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded, "while the clock is right")
	})
}

// TestClockJumps: a call whose lease has ended, as the clock has jumped ahead, learns that the clock is wrong.
func TestClockJumps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ended := func(context.Context, []int) (int, error) { return 0, randflake.ErrLeaseEnded }
		fill := leased(wrongFrom(time.Now().Add(time.Second)), ended)
		require.Refuses(t, lease.ErrClock, "once it is wrong")(fill(t.Context(), make([]int, 2)))
	})
}

// TestClockAhead: without a lease, as the server's clock is not that of this machine, the error says so.
func TestClockAhead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake(t, snowflakes)
		state := f.open(t)
		f.fail(lease.ErrClock)
		time.Sleep(time.Hour)
		_, err := state.Minter.Texts(t.Context(), 3)
		require.ErrorIs(t, err, lease.ErrClock, "without a lease")

		f = makeFake(t, snowflakes) // a service that starts with a wrong clock
		f.fail(fmt.Errorf("%w: that of memory", lease.ErrClock))
		f.begin(t)
		time.Sleep(time.Minute)
		_, err = f.State()
		require.ErrorIs(t, err, lease.ErrClock, "that starts so")
		require.Omits(t, err.Error(), "memory", "it shows where the data is")
	})
}

// TestExplain: without a lease, the error says until when to wait, if that is known.
func TestExplain(t *testing.T) {
	until := time.Now().Add(time.Hour)
	keeper := stopped{why: &lease.WaitError{Err: lease.ErrLoss, Until: until}}
	var wait *lease.WaitError
	for _, without := range []error{randflake.ErrLeaseEnded, randflake.ErrLeaseNotStarted} {
		if err := explain(without, keeper); !errors.As(err, &wait) || wait.Until != until || !errors.Is(err, without) {
			t.Error(err)
		}
	}
	require.Equal(t, explain(randflake.ErrExhausted, keeper), randflake.ErrExhausted, "other errors")
}
