package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	chunkSize   = 16384       // IDs that a worker makes and hands over at a time
	writerGrace = time.Second // for the writer to finish once the work is stopped
)

// A minter makes IDs and writes them, in constant memory: workers fill and encode chunks, one writer
// writes them and gives their buffers back. With one worker the IDs come in the order in which they
// are made.
type minter[ID any] struct {
	fill    func(ctx context.Context, ids []ID) error // fills all of ids, and waits where waiting helps
	format  Format[ID]
	total   int64
	chunk   int64
	workers int
	left    atomic.Int64 // IDs that no worker has taken on yet
	written atomic.Int64

	full chan encoded
	free chan []byte
}

// encoded is one chunk on its way to the writer.
type encoded struct {
	bytes []byte
	ids   int64
}

// newMinter returns a minter of n IDs, at least one, with so many workers at most.
func newMinter[ID any](n int64, workers int, f Format[ID], fill func(context.Context, []ID) error) *minter[ID] {
	m := &minter[ID]{fill: fill, format: f, total: n, chunk: min(n, chunkSize)}
	m.workers = int(min((n-1)/m.chunk+1, int64(workers)))
	m.left.Store(n)
	m.full = make(chan encoded, m.workers)
	m.free = make(chan []byte, 2*m.workers) // each worker fills one buffer while another is written
	for range cap(m.free) {
		m.free <- nil
	}
	return m
}

// mint writes all IDs to the tool's standard output, and says how far it came when it was stopped.
func (m *minter[ID]) mint(ctx context.Context, t *tool) error {
	err := m.run(ctx, t.stdout, newProgress(t.stdout, t.stderr, m.total))
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("stopped after %d of %d IDs: %w", m.written.Load(), m.total, context.Cause(ctx))
	}
	return err
}

// run writes all IDs to out. When ctx ends, or something fails, it returns why. It gives up a write
// that then still hangs.
func (m *minter[ID]) run(ctx context.Context, out io.Writer, p *progress) error {
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
func (m *minter[ID]) startWorkers(ctx context.Context, cancel context.CancelCauseFunc) {
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
func (m *minter[ID]) work(ctx context.Context) error {
	ids := make([]ID, m.chunk)
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
			buf = make([]byte, 0, len(ids)*m.format.Longest)
		}
		select {
		case m.full <- encoded{m.format.appendAll(buf[:0], ids), int64(len(ids))}:
		case <-ctx.Done():
			return nil
		}
	}
}

// write writes what the workers hand over. After a failure it only takes it off them.
func (m *minter[ID]) write(out io.Writer, cancel context.CancelCauseFunc) {
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
