package counter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// begin takes the first run.
func (c *Counter) begin(ctx context.Context) error {
	c.fetched.at = time.Now()
	got, _, err := c.supply.take(ctx, c.least)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(got, 0, err)
	c.books.seen = c.supply.newest()
	if errors.Is(err, ErrRate) {
		return nil
	}
	return err
}

// abandon stops the retries of a handle that Open does not return.
func (c *Counter) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.handles.Add(-1)
	if c.retry != nil {
		c.retry.Stop()
	}
}

// fetch has the next run fetched, unless it is there or under way.
func (c *Counter) fetch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fetchLocked()
}

// fetchLocked is fetch with mu held.
func (c *Counter) fetchLocked() {
	if c.closed || c.next != nil || c.busy != nil || c.retry != nil {
		return
	}
	now := mark{time.Now(), c.issued()}
	pace := c.fetched.pace(now)
	c.fetched = now
	c.busy = make(chan struct{})
	go c.fetchRun(c.runLength(pace, c.current.Load().count), pace)
}

// fetchRun fetches a run of size numbers, which are taken at a pace.
func (c *Counter) fetchRun(size uint64, pace float64) {
	got, _, err := c.supply.take(context.Background(), size)
	c.mu.Lock()
	c.settle(got, pace, err)
	c.release()
	c.mu.Unlock()
	c.line.Serve()
}

// release lets others have the supply. It is called with mu held.
func (c *Counter) release() {
	c.books.seen, c.books.Unsure = c.supply.newest(), c.supply.doubtful()
	close(c.busy)
	c.busy = nil
}

// settle books the outcome of a fetch. It is called with mu held.
func (c *Counter) settle(got positions, pace float64, err error) {
	if err != nil {
		c.fail(err)
		return
	}
	if c.failed > 0 && !errors.Is(c.why, ErrRate) {
		c.logger.LogAttrs(context.Background(), slog.LevelInfo, "randflake: counter gets numbers again", slog.String("counter", c.name))
	}
	seen := c.supply.newest()
	c.books.seen = seen
	c.books.Taken += got.len()
	b := &run{first: seen.number(got.first), stride: seen.Stride, count: got.len(), positions: &got}
	if !c.refused { // or else the next one is to be fetched as soon as this one comes into use
		b.low = lowMark(b.count, pace, c.calls.slowest())
	}
	c.next, c.why, c.failed = b, nil, 0
}

// fail remembers why a fetch failed and schedules a retry. It is called with mu held.
func (c *Counter) fail(err error) {
	if c.failed == 0 && !errors.Is(err, ErrRate) {
		c.logger.LogAttrs(context.Background(), slog.LevelWarn, "randflake: counter can't get more numbers", slog.String("counter", c.name), slog.String("error", err.Error()))
	}
	if c.why = err; !passing(err) {
		c.failed++
	}
	if c.closed {
		return
	}
	pause := rest(c.failed)
	if passing(err) { // the bound on the rate lets more numbers pass each second
		pause = time.Second
	}
	c.retry = time.AfterFunc(pause, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.retry = nil
		if !final(err) { // which callers find out about when they ask
			c.fetchLocked()
		}
	})
}

// Return gives back the unused numbers of the handle and returns how many those were. If they are no longer the
// newest numbers of the counter, they are lost. The next call for a number takes another run.
func (c *Counter) Return(ctx context.Context) (returned int64, err error) {
	defer c.line.Serve() // who came meanwhile found neither a number nor the supply
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.acquire(ctx); err != nil {
		return 0, fmt.Errorf("counter: return: %s: %w", c.name, err)
	}
	return c.giveBack(ctx, c.unused())
}

// closeTimeout has room for a call that takes a run and one that gives numbers back.
const closeTimeout = 2*callTimeout + time.Second

// Close gives back the unused numbers, as Return does. Later calls, and calls that wait, return ErrClosed. If the
// space does not answer, Close returns after 21 seconds, also if the engine ignores that its context has ended. An error
// means only that unused numbers may be lost.
func (c *Counter) Close() error {
	type outcome struct {
		err      error
		panicked any // the caller's to recover
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover()
			done <- o
		}()
		o.err = c.close()
	}()
	select {
	case o := <-done:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.err
	case <-time.After(closeTimeout):
		return fmt.Errorf("counter: close: %s: the store did not answer within %v: unused numbers may be lost", c.name, closeTimeout)
	}
}

func (c *Counter) close() error {
	defer c.line.Serve()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	c.handles.Add(-1)
	if c.retry != nil {
		c.retry.Stop()
	}
	left := c.unused()
	c.acquire(context.Background()) // which is as patient as a call of the space
	_, err := c.giveBack(context.Background(), append(left, c.unused()...))
	return err
}

// acquire waits until the supply is free, and takes it. It is called with mu held, and lets go of it to wait.
func (c *Counter) acquire(ctx context.Context) error {
	for c.busy != nil {
		over, done := c.busy, ctx.Done() // with a nil context this panics before mu is let go of
		c.mu.Unlock()
		select {
		case <-over:
			c.mu.Lock()
		case <-done:
			c.mu.Lock()
			return context.Cause(ctx)
		}
	}
	c.busy = make(chan struct{})
	return nil
}

// unused takes away the numbers that the handle has left, and returns them, the newest last. It is called with mu held.
func (c *Counter) unused() (left []positions) {
	b := c.current.Load()
	c.current.Store(new(run))
	rest := b.close()
	lost := c.closeParts(b, &rest)
	c.books.Lost += lost
	c.books.issued += b.count - rest.len() - lost
	if rest.len() > 0 {
		left = append(left, rest)
	}
	if n := c.next; n != nil {
		c.next = nil
		left = append(left, *n.positions)
	}
	return left
}

// giveBack gives back positions, and lets others have the supply. It is called with mu held, and lets go of it meanwhile.
func (c *Counter) giveBack(ctx context.Context, left []positions) (returned int64, err error) {
	var done, lost, late uint64
	defer c.release()
	func() {
		c.mu.Unlock()
		defer c.mu.Lock() // also when the source panics: otherwise the caller's Unlock is a fatal error
		done, lost, late, err = c.supply.giveBack(ctx, left)
	}()
	c.books.Taken += late
	c.books.Returned += done
	c.books.Lost += lost
	if err != nil {
		err = fmt.Errorf("counter: return: %s: %d numbers lost: %w", c.name, lost, err)
	}
	return int64(done), err
}
