package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/randflake/randflake/service/client/wire"
)

// maxTurns is how many calls of one principal use the store of a space at a time. Its other calls wait
// for their turn. A store serves few calls at a time, in the order in which they come: one principal with
// a thousand would keep out all others.
const maxTurns = 32

// A storeTurn says whose turn it is, and at the store of which space.
type storeTurn struct{ principal, space string }

// Turns are those of all principals at the stores of all spaces. They are safe for concurrent use, and few, as
// principals and spaces come from the configuration.
type turns struct {
	mu  sync.Mutex
	all map[storeTurn]*semaphore.Weighted
}

// of returns the turns of a principal at the store of a space.
func (t *turns) of(turn storeTurn) *semaphore.Weighted {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[storeTurn]*semaphore.Weighted{}
	}
	if t.all[turn] == nil {
		t.all[turn] = semaphore.NewWeighted(maxTurns)
	}
	return t.all[turn]
}

// inTurn waits for a turn at a store, and then calls do with a context that ends after timeout. A caller who hangs up
// does not cancel do: many stores would end the connection, and others would wait for a new one.
func (t *turns) inTurn(ctx context.Context, turn storeTurn, timeout time.Duration, do func(context.Context) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	free := t.of(turn)
	err := free.Acquire(ctx, 1)
	if errors.Is(err, context.DeadlineExceeded) { // with another replica the store may be faster
		return fmt.Errorf("%w: too many calls use the store: make fewer at a time, or try again", wire.ErrBusy)
	}
	if err != nil {
		return err
	}
	defer free.Release(1)
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	return do(whole)
}
