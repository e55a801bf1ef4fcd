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
	chunkSize     = 16384                  // IDs that a worker makes and writes at a time
	writerGrace   = time.Second            // for a write to finish once the work is stopped
	progressPause = 250 * time.Millisecond // the minimum time between two updates of the line
)

// A minter makes IDs and writes them, in constant memory: each worker fills and encodes its own
// chunks, and one worker writes at a time. With a single worker, the IDs are written in the order
// in which they are made.
type minter[ID any] struct {
	fill    func(ctx context.Context, ids []ID) (n int, err error) // n are good in any case; err says why not all are
	format  format[ID]
	unit    string // what they are called
	total   int64
	workers int
	left    atomic.Int64 // IDs that no worker has taken on yet
	written atomic.Int64

	writing        sync.Mutex // guards what follows
	out, screen    io.Writer  // screen has a line about the progress of a long run; it is nil to be silent
	started, shown time.Time
	width          int // of the line that is there
}

// newMinter returns a minter of n IDs, at least one, with at most that many workers.
func newMinter[ID any](n int64, workers int, f format[ID], fill func(context.Context, []ID) (int, error)) *minter[ID] {
	m := &minter[ID]{fill: fill, format: f, unit: "IDs", total: n, workers: int(min((n-1)/chunkSize+1, int64(workers)))}
	m.left.Store(n)
	return m
}

// mint writes all IDs to the tool's standard output, and the progress to its standard error, if
// only that is a terminal. If ctx ends, mint returns how many were written, and abandons a write
// that still hangs after writerGrace.
func (m *minter[ID]) mint(ctx context.Context, t *tool) error {
	m.out, m.started, m.shown = t.stdout, time.Now(), time.Now()
	if isTerminal(t.stderr) && !isTerminal(t.stdout) {
		m.screen = t.stderr
	}
	group, working := errgroup.WithContext(ctx)
	for range m.workers {
		group.Go(func() error { return m.work(working) })
	}
	done := make(chan error, 1)
	go func() { done <- group.Wait() }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(writerGrace):
		}
	}
	if m.width > 0 {
		m.show("")
		io.WriteString(m.screen, "\r")
	}
	if ctx.Err() != nil && m.written.Load() < m.total {
		return fmt.Errorf("stopped after %d of %d %s: %w", m.written.Load(), m.total, m.unit, context.Cause(ctx))
	}
	return err
}

// work makes chunks and writes them until all IDs are taken on or ctx ends.
func (m *minter[ID]) work(ctx context.Context) error {
	ids, text := make([]ID, min(m.total, chunkSize)), []byte(nil)
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
			text = m.format.append(text, id)
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
	if m.screen != nil && time.Since(m.shown) >= progressPause {
		m.shown = time.Now()
		m.show(m.progress(written, time.Since(m.started)))
	}
	return nil
}

// progress says how much is done after that time, and how long the rest takes.
func (m *minter[ID]) progress(written int64, took time.Duration) string {
	rate := float64(written) / took.Seconds()
	left := time.Duration(float64(m.total-written) / rate * float64(time.Second))
	return fmt.Sprintf("%3.0f%%  %d of %d %s, %.0f a second, %v left", 100*float64(written)/float64(m.total), written, m.total, m.unit, rate, left.Round(time.Second))
}

// show replaces the line on the terminal.
func (m *minter[ID]) show(line string) {
	fmt.Fprintf(m.screen, "\r%-*s", m.width, line)
	m.width = len(line)
}
