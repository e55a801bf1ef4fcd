package queue

import (
	"context"
	"time"

	"github.com/randflake/randflake/internal/coarse"
)

// A goroutine outside a bubble of testing/synctest must not touch the timers and channels of the bubble, nor the
// other way round. So a caller on the other side than the queue doesn't stand in line: it waits alone.

// longestPause is the longest pause of a caller that waits alone, whom Serve does not reach.
const longestPause = time.Second

func inBubble() bool { return coarse.InBubble(time.Now()) }

// elsewhere reports whether this goroutine is in a bubble and the queue is not, or the other way round.
func (q *Queue) elsewhere() bool { return q.bubble != inBubble() }

// waitAlone is Wait for a caller of whom elsewhere is true. It makes an attempt at least each second.
func (q *Queue) waitAlone(ctx context.Context, attempt func() (pause time.Duration, err error)) error {
	for {
		pause, err := q.attemptAlone(attempt)
		if pause <= 0 {
			return err
		}
		select {
		case <-time.After(min(max(pause, shortestPause), longestPause)):
		case <-ctx.Done():
			return q.stopped(ctx, err)
		}
	}
}

// attemptAlone calls attempt while no other is called.
func (q *Queue) attemptAlone(attempt func() (pause time.Duration, err error)) (time.Duration, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return attempt()
}
