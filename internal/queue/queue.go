// Package queue has callers wait in line for something that comes with time, such as the IDs of the
// next second.
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

// longestPause is the longest pause of a caller that waits alone, whom Serve does not reach.
const longestPause = time.Second

// Forever is the pause of a caller whom only Serve helps.
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
	try      func() (time.Duration, error)
	served   chan struct{} // closed when err and panicked are those of the last try
	err      error
	panicked any // or nil
}

// result returns the error of the last try, or panics as it did, maybe in another goroutine.
func (c *caller) result() error {
	if c.panicked != nil {
		panic(c.panicked)
	}
	return c.err
}

// New returns an empty queue. Its errors begin with name, the name of a package.
func New(name string) *Queue { return &Queue{name: name, bubble: inBubble()} }

func inBubble() bool { return coarse.InBubble(time.Now()) }

// Empty reports whether no caller waits.
func (q *Queue) Empty() bool { return q.length.Load() == 0 }

// Wait calls try until try returns a pause of 0, and returns the error of that call, or nil. Until
// then try returns why it failed and how long to pause before the next call. A call of Serve cuts
// the pause short.
//
// Calls of try are one at a time, in any goroutine. The first call is at once if the line is empty,
// otherwise after all callers that came before were served. If ctx ends first, Wait returns an
// error that wraps the cause of that and the reason for the wait. A panic of try reaches the caller
// of Wait.
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

// elsewhere reports whether this goroutine is in a bubble and the queue is not, or the other way
// round. A goroutine outside a bubble must not touch the timers and channels of the bubble. So
// callers who are elsewhere don't stand in line.
func (q *Queue) elsewhere() bool { return q.bubble != inBubble() }

// waitAlone is Wait for a caller who is elsewhere. Serve does not reach this caller, who therefore
// tries again at least each second.
func (q *Queue) waitAlone(ctx context.Context, try func() (pause time.Duration, err error)) error {
	for {
		pause, err := q.tryAlone(try)
		if pause == 0 {
			return err
		}
		select {
		case <-time.After(min(max(pause, shortestPause), longestPause)):
		case <-ctx.Done():
			return q.stopped(ctx, err)
		}
	}
}

// tryAlone calls try while no other try is called.
func (q *Queue) tryAlone(try func() (pause time.Duration, err error)) (time.Duration, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return try()
}

// join puts a caller at the end of the line. If the line was empty, the caller tries at once.
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
	q.mu.Lock()
	defer q.mu.Unlock()
	q.serve()
}

// serve serves the callers in line, in order, until one has to wait longer. It is called with mu
// held.
func (q *Queue) serve() {
	for first := q.line.Front(); first != nil; first = q.line.Front() {
		pause, err := q.try(first)
		if pause > 0 {
			q.schedule(pause, err)
			return
		}
	}
}

// try calls the try of the first caller in line, who leaves the line unless that returns a pause. A
// panic is kept for that caller, as this may be another one's goroutine. If try ends the goroutine,
// that counts as an error. It is called with mu held.
func (q *Queue) try(first *list.Element) (pause time.Duration, err error) {
	c := first.Value.(*caller)
	ended := fmt.Errorf("%s: a function that the caller gave did not return", q.name)
	err = ended // stays if try panics or calls runtime.Goexit
	defer func() {
		if pause > 0 {
			return
		}
		c.panicked = recover()
		c.err = err
		q.remove(first)
		close(c.served)
		goexit := err == ended && c.panicked == nil
		if goexit && q.line.Len() > 0 { // this goroutine can't serve the others
			q.schedule(shortestPause, err)
		}
	}()
	return c.try()
}

// schedule has the line served after a pause, replacing an earlier timer. It is called with mu
// held.
func (q *Queue) schedule(pause time.Duration, reason error) {
	q.reason = reason
	if q.elsewhere() {
		return // a line that is not empty has a timer
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
