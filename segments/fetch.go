package segments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// begin takes the first block.
func (c *Counter) begin(ctx context.Context) error {
	got, err := c.taker.take(ctx, c.least)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(got, 0, err)
	if errors.Is(err, ErrRate) {
		return nil
	}
	return err
}

// fetch has the next block fetched, unless it is there or under way.
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
	b := c.current.Load()
	pace := pace(b.issued(), time.Since(start)-b.since)
	c.busy = make(chan struct{})
	go c.fetchBlock(c.blockSize(pace, b.count), pace)
}

// fetchBlock fetches a block of size numbers, which are taken at a pace.
func (c *Counter) fetchBlock(size uint64, pace float64) {
	got, err := c.taker.take(context.Background(), size)
	c.mu.Lock()
	c.settle(got, pace, err)
	c.release()
	c.mu.Unlock()
	c.line.Serve()
}

// release lets others have the taker. It is called with mu held.
func (c *Counter) release() {
	c.books.seen, c.books.Unsure = c.taker.seen, c.taker.unsure
	close(c.busy)
	c.busy = nil
}

// settle books a block that was fetched, or that it could not be. It is called with mu held.
func (c *Counter) settle(got span, pace float64, err error) {
	if err != nil {
		c.fail(err)
		return
	}
	if c.failed > 0 && !errors.Is(c.why, ErrRate) {
		c.logger.LogAttrs(context.Background(), slog.LevelInfo, "randflake: counter gets numbers again", slog.String("counter", c.name))
	}
	r := c.taker.seen
	c.books.seen = r
	c.books.Taken += got.len()
	b := &block{first: r.number(got.first), stride: r.Stride, count: got.len(), end: got.end}
	if !c.refused { // or else the next one is to be fetched as soon as this one comes into use
		b.low = lowMark(b.count, pace, c.taker.counters.calls.slowest())
	}
	c.next, c.why, c.failed = b, nil, 0
}

// fail remembers why a fetch failed, and has it tried again later. It is called with mu held.
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
	c.retry = time.AfterFunc(rest(c.failed), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.retry = nil
		if !final(err) { // which callers find out about when they ask
			c.fetchLocked()
		}
	})
}

// blockSize returns how many numbers to take at a pace, after a block of last numbers.
func (c *Counter) blockSize(pace float64, last uint64) uint64 {
	want := min(pace*lasting.Seconds(), float64(max(last, 1))*growth, float64(c.most))
	return max(uint64(want), c.least)
}

// Return gives back the numbers that the handle has left, where they are still the newest, and loses them otherwise. It
// returns how many it gave back. The handle takes another block when it is asked for a number.
func (c *Counter) Return(ctx context.Context) (returned int64, err error) {
	if err := c.acquire(ctx); err != nil {
		return 0, err
	}
	left := c.spans()
	c.mu.Unlock()
	done, lost, late, err := c.taker.giveBackAll(ctx, left)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.books.Taken += late
	c.books.Returned += done
	c.books.Lost += lost
	c.release()
	if err != nil {
		err = fmt.Errorf("segments: %s: return: %d numbers lost: %w", c.name, lost, err)
	}
	return int64(done), err
}

// acquire waits until the taker is free, and takes it. It returns with mu held unless it fails.
func (c *Counter) acquire(ctx context.Context) error {
	c.mu.Lock()
	for c.busy != nil {
		over := c.busy
		c.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
			return fmt.Errorf("segments: %s: return: %w", c.name, context.Cause(ctx))
		}
		c.mu.Lock()
	}
	c.busy = make(chan struct{})
	return nil
}

// spans takes the numbers that the handle has left from it, the newest last. It is called with mu held.
func (c *Counter) spans() (left []span) {
	b := c.current.Load()
	c.current.Store(new(block))
	rest := b.close()
	c.books.issued += b.count - rest.len()
	left = append(left, rest)
	if n := c.next; n != nil {
		c.next = nil
		left = append(left, span{n.end - n.count, n.end})
	}
	return left
}

// Close gives back what the handle has left, as Return does, for ten seconds at most. Calls fail with ErrClosed from then on, those
// that wait as well. Its error says that numbers may be lost, and nothing worse.
func (c *Counter) Close() error {
	c.mu.Lock()
	already := c.closed
	c.closed = true
	if c.retry != nil {
		c.retry.Stop()
	}
	c.mu.Unlock()
	if already {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := c.Return(ctx)
	c.line.Serve()
	return err
}
