// Package queue has callers wait for what comes with time, first come, first served.
package queue

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/internal/coarse"
)

// shortestPause keeps a queue from spinning when a clock does not move.
const shortestPause = 100 * time.Microsecond

// A Queue is a line of callers. All callers that can be served at a time are served in one go, by one goroutine, as it
// takes longer to wake up one after the other than to serve them.
type Queue struct {
	name   string
	bubble bool         // it was made in a testing/synctest bubble
	length atomic.Int64 // of line, read without mu

	mu     sync.Mutex
	line   list.List   // of *caller, in the order in which they came
	timer  *time.Timer // serves the line again
	reason error       // why the first in line waits
}

// A caller waits in line.
type caller struct {
	try      func() (time.Duration, error)
	err      error
	panicked any           // what try panicked with, or nil
	served   chan struct{} // closed when err is what try returned at last
}

// result returns what try did at last, which may have been a panic in another goroutine.
func (c *caller) result() error {
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.err
}

// New returns an empty queue. Its errors begin with name, that of a package.
func New(name string) *Queue { return &Queue{name: name, bubble: inBubble()} }

func inBubble() bool { return coarse.InBubble(time.Now()) }

// Empty reports whether no caller waits.
func (q *Queue) Empty() bool { return q.length.Load() == 0 }

// Wait calls try until it returns a pause of 0, and returns its error. Before that try returns why it failed and how
// long to wait before it may be of use to try again.
//
// Calls of try are one at a time, in any goroutine: the first one is at once when the line is empty, and otherwise when
// all callers that came before are through. When ctx ends first, Wait leaves the line and returns an error that wraps
// both the cause of that and the reason for the wait. A panic of try reaches the caller.
func (q *Queue) Wait(ctx context.Context, try func() (pause time.Duration, err error)) error {
	if q.elsewhere() {
		return q.waitAlone(ctx, try)
	}
	c := &caller{try: try, served: make(chan struct{})}
	element := q.join(c)
	select {
	case <-c.served:
		return c.result()
	case <-ctx.Done():
		return q.leave(ctx, element)
	}
}

// elsewhere reports whether this goroutine is in a bubble and the queue is not, or the other way round. Nothing
// outside may touch the timers and channels of a bubble, so callers in it don't stand in line.
func (q *Queue) elsewhere() bool { return q.bubble != inBubble() }

// waitAlone is Wait for a caller that is elsewhere.
func (q *Queue) waitAlone(ctx context.Context, try func() (pause time.Duration, err error)) error {
	for {
		pause, err := q.tryAlone(try)
		if pause == 0 {
			return err
		}
		select {
		case <-time.After(max(pause, shortestPause)):
		case <-ctx.Done():
			return q.stopped(ctx, err)
		}
	}
}

// tryAlone calls try while no other caller does.
func (q *Queue) tryAlone(try func() (pause time.Duration, err error)) (time.Duration, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return try()
}

// join puts a caller at the end of the line.
func (q *Queue) join(c *caller) (element *list.Element) {
	q.mu.Lock()
	defer q.mu.Unlock()
	element = q.line.PushBack(c)
	q.length.Add(1)
	if q.line.Len() == 1 {
		q.serve()
	}
	return element
}

// Serve has the callers in line try again at once, as something has changed.
func (q *Queue) Serve() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.serve()
}

// serve serves the callers in line, in order, until one has to wait on. It is called with mu held.
func (q *Queue) serve() {
	for first := q.line.Front(); first != nil; first = q.line.Front() {
		pause, err := q.try(first)
		if pause > 0 {
			q.schedule(pause, err)
			return
		}
	}
}

// try has a caller try, who leaves the line unless it has to wait on. A panic is the caller's, whoever's
// goroutine this is; an end of the goroutine counts as an error. It is called with mu held.
func (q *Queue) try(first *list.Element) (pause time.Duration, err error) {
	c := first.Value.(*caller)
	ended := fmt.Errorf("%s: a function that the caller gave did not return", q.name)
	err = ended
	defer func() {
		if pause > 0 {
			return
		}
		c.panicked = recover()
		c.err = err
		q.remove(first)
		close(c.served)
		if err == ended && c.panicked == nil && q.line.Len() > 0 { // this goroutine serves no one else
			q.schedule(shortestPause, err)
		}
	}()
	return c.try()
}

// schedule has the line served after a pause, replacing an earlier timer. It is called with mu held.
func (q *Queue) schedule(pause time.Duration, reason error) {
	q.reason = reason
	if q.elsewhere() {
		return // the earlier timer serves
	}
	if q.timer != nil {
		q.timer.Stop()
	}
	q.timer = time.AfterFunc(max(pause, shortestPause), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.serve()
	})
}

// leave takes a caller whose ctx has ended out of the line, unless it was served by then.
func (q *Queue) leave(ctx context.Context, element *list.Element) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := element.Value.(*caller)
	select {
	case <-c.served:
		return c.result()
	default:
	}
	q.remove(element)
	return q.stopped(ctx, q.reason)
}

// stopped is the error of a caller whose ctx ended while it waited for a reason.
func (q *Queue) stopped(ctx context.Context, reason error) error {
	return fmt.Errorf("%s: stopped waiting: %w: %w", q.name, context.Cause(ctx), reason)
}

func (q *Queue) remove(element *list.Element) {
	q.line.Remove(element)
	q.length.Add(-1)
	if q.line.Len() == 0 && q.timer != nil {
		q.timer.Stop()
		q.timer = nil // it may be of a testing/synctest bubble, and nothing outside may stop those
	}
}
