package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

const newUsage = `Usage: randflake new [-n N] [-format F] [-store STORE] [-secret-file F]

Mints IDs: unique 64-bit values that look random. It works at once, without any flag: the first call
makes a secret and a lease store in your state directory. Each call takes a lease from the store and
gives it back at its end; any number may run at the same time.

  -n N          how many (default 1); they come in no order that means anything
  -format F     text     base32hex, one a line (the default)
                int      signed decimal, one a line
                hex      0x and 16 digits, one a line
                json     a JSON string, one a line
                binary   8 bytes each, little-endian

When the reader of a pipe has had enough, that is no failure. Stopped by a signal, the command gives
its lease back and fails.
` + homeUsage + `
A store in a directory serves this machine. Where many machines share a secret they share the store
of a server; a copy of the state directory on another machine repeats IDs.
`

const (
	leaseTTL     = time.Minute
	largestLease = 4096             // nodes: 537 million IDs a second
	longestWait  = 10 * time.Second // for a lease to start
)

func (t *tool) runNew(ctx context.Context, args []string) error {
	flags := newFlags("new", newUsage)
	var h home
	var formatName string
	n := int64(1)
	flags.homeFlags(&h)
	flags.choice(&formatName, "format", formatNames...)
	flags.Func("n", "", func(text string) (err error) {
		n, err = parseCount(text)
		return err
	})
	if err := flags.parseAll(t, args); err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	if err := h.resolve(t); err != nil {
		return err
	}
	ctx, stop := untilStopped(ctx)
	defer stop()
	return t.mint(ctx, h, n, formatOf(formatName))
}

// parseCount reads the value of -n.
func parseCount(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, errors.New("want a whole number from 0 to 9223372036854775807")
	}
	return n, nil
}

// untilStopped returns a context that ends with the first signal to stop. The second one ends the
// process at once.
func untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	var wanted []os.Signal
	for _, s := range stopSignals {
		if !signal.Ignored(s) { // as under nohup
			wanted = append(wanted, s)
		}
	}
	if len(wanted) == 0 { // which would mean all signals
		return context.WithCancel(ctx)
	}
	ctx, stop := signal.NotifyContext(ctx, wanted...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// mint takes a lease, writes n IDs and gives the lease back.
func (t *tool) mint(ctx context.Context, h home, n int64, f format) error {
	secret, store, err := h.open(ctx, t)
	if err != nil {
		return err
	}
	defer store.Close()
	keeper, err := keep(ctx, store, secret, nodesFor(n))
	if err != nil {
		return err
	}
	err = t.mintWith(ctx, keeper, n, f)
	if closeErr := keeper.Close(); closeErr != nil && err == nil {
		// The IDs are good and written.
		t.note(fmt.Errorf("the lease runs out by itself, at %s: %w", keeper.Generator().Lease().End.Format(time.RFC3339), closeErr))
	}
	return err
}

func (t *tool) mintWith(ctx context.Context, keeper *lease.Keeper, n int64, f format) error {
	start := keeper.Generator().Lease().Start
	if time.Until(start) > longestWait {
		return fmt.Errorf("the store grants no lease that starts before %s: it is new, or the clock is wrong: try again then", start.Format(time.RFC3339))
	}
	m := newMinter(keeper, n, f)
	err := m.run(ctx, t.stdout, newProgress(t.stdout, t.stderr, n))
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("stopped after %d of %d IDs: %w", m.written.Load(), n, context.Cause(ctx))
	}
	return err
}

// keep takes a lease on nodes, or on fewer where the store has no such range left.
func keep(ctx context.Context, store Store, secret randflake.Secret, nodes int) (*lease.Keeper, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	rules, _, err := store.Limits(ctx)
	if err != nil {
		return nil, err
	}
	ttl := min(leaseTTL, rules.MaxTTL)
	for ; ; nodes /= 2 {
		keeper, err := lease.Keep(ctx, store, secret, lease.Nodes(nodes), lease.TTL(ttl), lease.Logger(slog.New(slog.DiscardHandler)))
		if nodes == 1 || !errors.Is(err, lease.ErrNoRange) {
			return keeper, err
		}
	}
}

// nodesFor returns how many nodes to lease for n IDs: what makes them within a second, as a power of
// two so that ranges are of few sizes and can be used again.
func nodesFor(n int64) int {
	const perNode = randflake.MaxSequence + 1
	needed := uint64(n-1)/perNode + 1
	return int(min(uint64(1)<<bits.Len64(needed-1), largestLease))
}
