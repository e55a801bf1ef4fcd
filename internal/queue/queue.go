// Package queue has callers wait in line for something that comes with time, such as the IDs of the next second.
package queue

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// shortestPause keeps a queue from spinning when a clock does not move.
const shortestPause = 100 * time.Microsecond

// Forever is the pause of a caller whom only Serve helps; the timer that it sets does no harm.
const Forever = time.Hour

// A Queue is a line of callers, served in the order in which they came. One goroutine serves all
// callers that can be served at the moment: to wake them up one after the other would take longer.
type Queue struct {
	name   string
	bubble bool         // New was called in a bubble of testing/synctest
	length atomic.Int64 // of line, to read without mu

	mu     sync.Mutex
	line   list.List   // of *caller, in the order in which they came
	timer  *time.Timer // serves the line again, or nil
	reason error       // why the first in line waits
}

// A caller waits in line.
type caller struct {
	attempt  func() (time.Duration, error)
	served   chan struct{} // closed when err and panicked are those of the last attempt
	err      error
	panicked any // or nil
}

// result returns the error of the last attempt, or panics as it did, maybe in another goroutine.
func (c *caller) result() error {
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.err
}

// New returns an empty queue. Its errors begin with name, the name of a package.
func New(name string) *Queue { return &Queue{name: name, bubble: inBubble()} }

// Empty reports whether no caller waits.
func (q *Queue) Empty() bool { return q.length.Load() == 0 }

// Wait calls attempt until that returns a pause of 0 or less, and returns the error of that call, or nil.
// Until then attempt returns why it failed and how long to pause before the next call. A call of Serve
// cuts the pause short.
//
// Calls of attempt are one at a time, in any goroutine, with the queue locked: it must not call Wait
// or Serve. The first call is at once if the line is empty, otherwise after all callers that came
// before were served. If ctx ends first, Wait returns an error that wraps the cause of that and the
// reason for the wait. A panic of attempt reaches the caller of Wait.
func (q *Queue) Wait(ctx context.Context, attempt func() (pause time.Duration, err error)) error {
	if q.elsewhere() {
		return q.waitAlone(ctx, attempt)
	}
	c := &caller{attempt: attempt, served: make(chan struct{})}
	element := q.join(c)
	select {
	case <-c.served:
		return c.result()
	case <-ctx.Done():
		return q.leave(ctx, element)
	}
}

// join puts a caller at the end of the line. If the line was empty, the caller is served at once.
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

// Serve has the callers in line try again at once. Call it when what they wait for may have come.
func (q *Queue) Serve() {
	if q.bubble && q.elsewhere() {
		return // the line is not ours to touch: its timer serves it
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.serve()
}

// serve serves the callers in line, in order, until one has to wait longer. It is called with mu held.
func (q *Queue) serve() {
	for first := q.line.Front(); first != nil; first = q.line.Front() {
		pause, err := q.serveOne(first)
		if pause > 0 {
			q.schedule(pause, err)
			return
		}
	}
}

// serveOne calls the attempt of the first caller in line. If that returns a pause, the caller stays
// first; otherwise it leaves the line. serveOne is called with mu held.
func (q *Queue) serveOne(first *list.Element) (pause time.Duration, err error) {
	returned := false
	defer func() {
		if !returned {
			q.abort(first, recover())
		}
	}()
	pause, err = first.Value.(*caller).attempt()
	returned = true
	if pause <= 0 {
		q.finish(first, err, nil)
	}
	return pause, err
}

// abort serves a caller whose attempt did not return. A panic is kept for that caller, as this may be
// another one's goroutine. Without one, attempt has ended this goroutine by runtime.Goexit.
func (q *Queue) abort(first *list.Element, panicked any) {
	err := fmt.Errorf("%s: a function that the caller gave did not return", q.name)
	q.finish(first, err, panicked)
	if panicked == nil && q.line.Len() > 0 { // this goroutine can't serve the others
		q.schedule(shortestPause, err)
	}
}

// finish takes a served caller out of the line, and lets its goroutine go on.
func (q *Queue) finish(first *list.Element, err error, panicked any) {
	c := first.Value.(*caller)
	c.err = err
	c.panicked = panicked
	q.remove(first)
	close(c.served)
}

// schedule has the line served after a pause, replacing an earlier timer. It is called with mu held.
func (q *Queue) schedule(pause time.Duration, reason error) {
	q.reason = reason
	if q.elsewhere() {
		return // the timer is not ours to touch; it is set, as somebody waits
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

// leave takes a caller whose ctx has ended out of the line. If the caller was served just before,
// it returns the result.
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

// stopped returns the error of a caller whose ctx ended. reason is why the caller had to wait.
func (q *Queue) stopped(ctx context.Context, reason error) error {
	return fmt.Errorf("%s: stopped waiting: %w: %w", q.name, context.Cause(ctx), reason)
}

// remove takes a caller out of the line, and stops the timer if the line is empty then.
func (q *Queue) remove(element *list.Element) {
	q.line.Remove(element)
	q.length.Add(-1)
	if q.line.Len() == 0 && q.timer != nil {
		q.timer.Stop()
		q.timer = nil // a bubble's timer must not be stopped once more from outside
	}
}
