package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

const (
	chunkSize   = 16384                  // IDs that a worker makes and hands over at a time
	writerGrace = time.Second            // for the writer to finish once the work is stopped
	retryPause  = 100 * time.Millisecond // between attempts while there is no lease
)

// A minter makes IDs on all processors and writes them, in constant memory: workers fill and encode
// chunks, one writer writes them and gives their buffers back.
type minter struct {
	keeper  *lease.Keeper
	format  format
	chunk   int64
	workers int
	outage  time.Duration // how long there may be no lease
	left    atomic.Int64  // IDs that no worker has taken on yet
	written atomic.Int64

	full chan encoded
	free chan []byte
}

// encoded is one chunk on its way to the writer.
type encoded struct {
	bytes []byte
	ids   int64
}

func newMinter(keeper *lease.Keeper, n int64, f format) *minter {
	m := &minter{keeper: keeper, format: f, chunk: min(n, chunkSize), outage: patience}
	m.workers = int(min((n-1)/m.chunk+1, int64(runtime.GOMAXPROCS(0))))
	m.left.Store(n)
	m.full = make(chan encoded, m.workers)
	m.free = make(chan []byte, 2*m.workers) // each worker fills one buffer while another is written
	for range cap(m.free) {
		m.free <- nil
	}
	return m
}

// run writes all IDs to out. When ctx ends, or something fails, it returns why. It gives up a write
// that then still hangs.
func (m *minter) run(ctx context.Context, out io.Writer, p *progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer p.clear()
	m.startWorkers(ctx, cancel)
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.write(out, cancel)
	}()
	for {
		select {
		case <-done:
			return context.Cause(ctx)
		case <-p.tick():
			p.show(m.written.Load())
		case <-ctx.Done():
			select {
			case <-done:
			case <-time.After(writerGrace):
			}
			return context.Cause(ctx)
		}
	}
}

// startWorkers starts the workers, and closes full when all have ended.
func (m *minter) startWorkers(ctx context.Context, cancel context.CancelCauseFunc) {
	var group sync.WaitGroup
	for range m.workers {
		group.Go(func() {
			if err := m.work(ctx); err != nil {
				cancel(err)
			}
		})
	}
	go func() {
		group.Wait()
		close(m.full)
	}()
}

// work makes chunks until all IDs are taken on or ctx ends.
func (m *minter) work(ctx context.Context) error {
	ids := make([]randflake.ID, m.chunk)
	for {
		// What is taken on is n minus left, and never more than n.
		left := m.left.Add(-m.chunk) + m.chunk
		if left <= 0 {
			return nil
		}
		var buf []byte
		select {
		case buf = <-m.free:
		case <-ctx.Done():
			return nil
		}
		ids := ids[:min(left, m.chunk)]
		if err := m.fill(ctx, ids); err != nil {
			return err
		}
		if buf == nil {
			buf = make([]byte, 0, len(ids)*m.format.longest)
		}
		select {
		case m.full <- encoded{m.format.appendAll(buf[:0], ids), int64(len(ids))}:
		case <-ctx.Done():
			return nil
		}
	}
}

// write writes what the workers hand over. After a failure it only takes it off them.
func (m *minter) write(out io.Writer, cancel context.CancelCauseFunc) {
	var failed bool
	for chunk := range m.full {
		if failed {
			continue
		}
		if _, err := out.Write(chunk.bytes); err != nil {
			failed = true
			cancel(outputError(err))
			continue
		}
		m.written.Add(chunk.ids)
		m.free <- chunk.bytes
	}
}

// fill fills ids, and waits where waiting helps.
func (m *minter) fill(ctx context.Context, ids []randflake.ID) error {
	generator := m.keeper.Generator()
	for {
		n, err := generator.Fill(ids)
		if err == nil {
			return nil
		}
		ids = ids[n:]
		if ids[0], err = generator.Wait(ctx); errors.Is(err, randflake.ErrLeaseEnded) {
			ids[0], err = m.awaitLease(ctx)
		}
		if err != nil {
			return err
		}
		ids = ids[1:]
	}
}

// awaitLease waits for the keeper to come by a lease and returns an ID made under it. The lease ends
// when the store fails for long, or when the process was asleep.
func (m *minter) awaitLease(ctx context.Context) (randflake.ID, error) {
	for end := time.Now().Add(m.outage); ; {
		id, err := m.keeper.Generator().Wait(ctx)
		switch {
		case !errors.Is(err, randflake.ErrLeaseEnded):
			return id, err
		case time.Now().After(end):
			if cause := m.keeper.Status().Err; cause != nil {
				err = fmt.Errorf("%w: %w", err, cause)
			}
			return 0, err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}
