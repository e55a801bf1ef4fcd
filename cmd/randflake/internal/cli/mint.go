package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	chunkSize   = 16384       // how many IDs a worker makes and writes at a time
	writerGrace = time.Second // how long a write may go on once the work is stopped
)

// A minter makes IDs and writes them, in constant memory: each worker fills and encodes its own
// chunks, and one worker writes at a time. A single worker writes IDs in the order of their making.
type minter[ID any] struct {
	fill    filler[ID]
	format  format[ID]
	unit    string // what the IDs are called
	total   int64
	workers int
	left    atomic.Int64 // IDs that no worker has taken on yet
	written atomic.Int64

	writing sync.Mutex // guards what follows
	out     io.Writer
	line    progress
}

// A filler makes IDs. The first n are good in any case. err says why the others are not.
type filler[ID any] func(ctx context.Context, ids []ID) (n int, err error)

// newMinter returns a minter of n IDs, at least one, with some workers.
func newMinter[ID any](n int64, workers int, f format[ID], fill filler[ID]) *minter[ID] {
	m := &minter[ID]{
		fill:    fill,
		format:  f,
		unit:    "IDs",
		total:   n,
		workers: workers,
	}
	m.left.Store(n)
	return m
}

// mint writes all IDs to the tool's standard output, and the progress to its standard error, if only that is a
// terminal. If ctx ends, mint returns how many were written, and abandons a write that still hangs after writerGrace.
func (m *minter[ID]) mint(ctx context.Context, t *tool) error {
	m.out = t.stdout
	m.line = t.newProgress(t.stdout)
	err := m.runWorkers(ctx)
	m.line.clear()
	if ctx.Err() != nil && m.written.Load() < m.total {
		return fmt.Errorf("stopped after %d of %d %s: %w", m.written.Load(), m.total, m.unit, context.Cause(ctx))
	}
	return err
}

// runWorkers runs all workers, and returns the first error of one, which stops the others. If ctx
// ends, it waits for a write that goes on, but no longer than writerGrace.
func (m *minter[ID]) runWorkers(ctx context.Context) error {
	group, working := errgroup.WithContext(ctx)
	for range m.workers {
		group.Go(func() error { return m.work(working) })
	}
	done := make(chan error, 1)
	go func() { done <- group.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(writerGrace):
		return nil // mint says how many were written
	}
}

// work makes chunks and writes them until all IDs are taken on or ctx ends.
func (m *minter[ID]) work(ctx context.Context) error {
	ids := make([]ID, min(m.total, chunkSize))
	var text []byte
	for ctx.Err() == nil {
		// The IDs taken on are the total minus left, and never more than the total.
		left := m.left.Add(-chunkSize) + chunkSize
		if left <= 0 {
			break
		}
		ids = ids[:min(left, int64(len(ids)))]
		n, fillErr := m.fill(ctx, ids)
		text = text[:0]
		for _, id := range ids[:n] {
			text = m.format(text, id)
		}
		if err := cmp.Or(m.write(ctx, text, int64(n)), fillErr); err != nil {
			return err
		}
	}
	return nil
}

// write writes the text of n IDs, unless the work has ended.
func (m *minter[ID]) write(ctx context.Context, text []byte, n int64) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	if ctx.Err() != nil || n == 0 {
		return nil
	}
	if _, err := m.out.Write(text); err != nil {
		return outputError(err)
	}
	written := m.written.Add(n)
	m.line.update(func(took time.Duration) string { return m.progressText(written, took) })
	return nil
}

// progressText says how much is done, when the IDs written took that time, and how long the rest takes.
func (m *minter[ID]) progressText(written int64, took time.Duration) string {
	rate := float64(written) / took.Seconds()
	left := time.Duration(float64(m.total-written) / rate * float64(time.Second))
	percent := 100 * float64(written) / float64(m.total)
	return fmt.Sprintf("%3.0f%%  %d of %d %s, %.0f a second, %v left",
		percent, written, m.total, m.unit, rate, left.Round(time.Second))
}
