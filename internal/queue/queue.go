// Package queue has callers wait for what comes with time, first come, first served.
package queue

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// shortestPause keeps a caller from spinning whose clock does not move.
const shortestPause = 100 * time.Microsecond

// A Queue is a line of callers. The first one sleeps and tries again, and nobody else does.
type Queue struct {
	name string

	// turn is full while somebody is first in line. The others are blocked in sending to it, and the
	// runtime lets senders through in the order in which they came.
	turn   chan struct{}
	reason atomic.Pointer[error] // why somebody waited last, set before turn is ever full
}

// New returns an empty queue. Its errors begin with name, that of a package.
func New(name string) *Queue { return &Queue{name: name, turn: make(chan struct{}, 1)} }

// Wait calls try, in the caller's goroutine, until it returns a pause of 0, and returns its error.
// Before that try returns why it failed and how long to wait before it may be of use to try again.
//
// The first call is at once when nobody waits, and otherwise when all who came before are through. When
// ctx ends first, Wait leaves the line and returns an error that wraps both the cause of that and the
// reason for the wait.
func (q *Queue) Wait(ctx context.Context, try func() (pause time.Duration, err error)) error {
	if len(q.turn) == 0 {
		pause, err := try()
		if pause == 0 {
			return err
		}
		q.note(err)
	}
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		return q.stopped(ctx)
	}
	for {
		pause, err := try()
		if pause == 0 {
			return err
		}
		q.note(err)
		if !sleep(ctx, max(pause, shortestPause)) {
			return q.stopped(ctx)
		}
	}
}

// note keeps the reason for a wait.
func (q *Queue) note(err error) { q.reason.Store(&err) }

// sleep reports whether the time passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (q *Queue) stopped(ctx context.Context) error {
	return fmt.Errorf("%s: stopped waiting: %w: %w", q.name, context.Cause(ctx), *q.reason.Load())
}
