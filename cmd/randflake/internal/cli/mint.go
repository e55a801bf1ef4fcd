package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	chunkSize   = 16384       // IDs that a worker makes and writes at a time
	writerGrace = time.Second // for a write to finish once the work is stopped
)

// A minter makes IDs and writes them, in constant memory: each worker fills and encodes its own chunks, and one worker
// writes at a time. With a single worker, the IDs are written in the order in which they are made.
type minter[ID any] struct {
	fill    func(ctx context.Context, ids []ID) (n int, err error) // n are good in any case; err says why not all are
	format  format[ID]
	unit    string // what they are called
	total   int64
	workers int
	left    atomic.Int64 // IDs that no worker has taken on yet
	writing sync.Mutex
	written atomic.Int64
}

// newMinter returns a minter of n IDs, at least one, with at most that many workers.
func newMinter[ID any](n int64, workers int, f format[ID], fill func(context.Context, []ID) (int, error)) *minter[ID] {
	m := &minter[ID]{fill: fill, format: f, unit: "IDs", total: n, workers: int(min((n-1)/chunkSize+1, int64(workers)))}
	m.left.Store(n)
	return m
}

// mint writes all IDs to the tool's standard output. If it is stopped, the error says how many were written.
func (m *minter[ID]) mint(ctx context.Context, t *tool) error {
	err := m.run(ctx, t.stdout, t.progress(m.total, m.unit))
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("stopped after %d of %d %s: %w", m.written.Load(), m.total, m.unit, context.Cause(ctx))
	}
	return err
}

// run writes all IDs to out. If ctx ends or something fails, it returns the cause, and abandons a write that still hangs
// after writerGrace.
func (m *minter[ID]) run(ctx context.Context, out io.Writer, bar *progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer bar.clear()
	var group sync.WaitGroup
	for range m.workers {
		group.Go(func() {
			if err := m.work(ctx, out, bar); err != nil {
				cancel(err)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		group.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(writerGrace):
		}
	}
	return context.Cause(ctx)
}

// work makes chunks and writes them until all IDs are taken on or ctx ends.
func (m *minter[ID]) work(ctx context.Context, out io.Writer, bar *progress) error {
	ids, buf := make([]ID, min(m.total, chunkSize)), []byte(nil)
	for ctx.Err() == nil {
		// The IDs taken on are the total minus left, and never more than the total.
		left := m.left.Add(-chunkSize) + chunkSize
		if left <= 0 {
			break
		}
		ids = ids[:min(left, int64(len(ids)))]
		n, fillErr := m.fill(ctx, ids)
		buf = buf[:0]
		for _, id := range ids[:n] {
			buf = m.format.append(buf, id)
		}
		if err := cmp.Or(m.write(ctx, out, bar, buf, int64(n)), fillErr); err != nil {
			return err
		}
	}
	return nil
}

// write writes the text of n IDs, unless the work has ended.
func (m *minter[ID]) write(ctx context.Context, out io.Writer, bar *progress, text []byte, n int64) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	if ctx.Err() != nil || n == 0 {
		return nil
	}
	if _, err := out.Write(text); err != nil {
		return outputError(err)
	}
	m.written.Add(n)
	bar.add(n)
	return nil
}
