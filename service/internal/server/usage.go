package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/semaphore"

	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/config"
)

// A usage is what principals use of this process at present: places, a queue and room, in this order below.
// It is safe for concurrent use. There are few shares, as principals come from the configuration.
type usage struct {
	queued *semaphore.Weighted // requests in the queues of all principals
	room   *semaphore.Weighted // IDs and numbers in answers of all principals

	mu     sync.Mutex
	shares map[string]*share // by principal; all strangers together are ""
}

// A share is what one principal may use.
type share struct {
	places *semaphore.Weighted // requests under way
	head   *semaphore.Weighted // requests at the head of its queue
	room   *semaphore.Weighted // IDs and numbers in its answers
}

func newUsage() *usage {
	return &usage{
		queued: semaphore.NewWeighted(maxQueued),
		room:   semaphore.NewWeighted(roomOfAll),
		shares: map[string]*share{},
	}
}

// shareOf returns the share of a principal. It makes one at its first call.
func (u *usage) shareOf(principal string) *share {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.shares[principal] == nil {
		u.shares[principal] = &share{
			places: semaphore.NewWeighted(maxPlaces),
			head:   semaphore.NewWeighted(refusedAtOnce),
			room:   semaphore.NewWeighted(roomOfOne),
		}
	}
	return u.shares[principal]
}

// maxPlaces is how many requests of one principal, or of all strangers, may be under way. Each may
// have a large header and half a body.
const maxPlaces = 1000

// takePlace takes a place for a request, whose header was read. It returns false if none is free.
func (u *usage) takePlace(principal string) bool { return u.shareOf(principal).places.TryAcquire(1) }

// leavePlace gives back what takePlace took.
func (u *usage) leavePlace(principal string) { u.shareOf(principal).places.Release(1) }

// Requests for which there is no place wait in a queue of their principal before they are refused. So
// clients that repeat calls as soon as they are refused leave the processors to other principals. With
// a rate in place of a queue, clients that hang up would use up what those who wait need.
const (
	refusedAtOnce = 20                   // of a principal
	refusalTime   = 4 * time.Millisecond // of each: so a principal is refused 20 / 4 ms = 5000 times a second
	maxQueued     = 40_000               // of all principals; each takes 10 kB
)

// waitInQueue waits until a request is to be refused, or ctx ends. It returns false, at once, if too many
// requests wait already.
func (u *usage) waitInQueue(ctx context.Context, principal string) (waited bool) {
	if !u.queued.TryAcquire(1) {
		return false
	}
	defer u.queued.Release(1)
	head := u.shareOf(principal).head
	if head.Acquire(ctx, 1) == nil {
		time.Sleep(refusalTime)
		head.Release(1)
	}
	return true
}

// Room is the limit of the IDs and numbers in answers that are being made or written, so that clients
// that don't read can't fill the memory. Each ID or number takes about 64 bytes.
const (
	roomOfAll  = 1 << 19
	roomOfOne  = roomOfAll / 2 // principal: two that do not read hold up all others
	negligible = 16            // an answer with so few takes less than the call itself
)

// reserve waits until there is room for an answer with n IDs or numbers, or ctx ends. Without an error,
// call free once the answer is written.
func (u *usage) reserve(ctx context.Context, principal string, n int64) error {
	if n <= negligible {
		return nil
	}
	own := u.shareOf(principal).room
	if err := own.Acquire(ctx, n); err != nil {
		return err
	}
	if err := u.room.Acquire(ctx, n); err != nil {
		own.Release(n)
		return err
	}
	return nil
}

// free gives back the room that reserve took.
func (u *usage) free(principal string, n int64) {
	if n > negligible {
		u.room.Release(n)
		u.shareOf(principal).room.Release(n)
	}
}

// reserveRoom returns how many IDs or numbers a call asks for, once there is room for them in its answer.
// freeRoom gives that back.
func (s *Server) reserveRoom(ctx context.Context, c *call, asked uint32) (int, error) {
	count := uint64(max(asked, 1))
	if count > maxBatch {
		return 0, coded(connect.CodeInvalidArgument, "count %d: want 1 to %d", count, maxBatch)
	}
	if limit := cmp.Or(c.quota.Batch, config.DefaultBatch); count > limit {
		return 0, s.overLimit(c, "count", count, limit)
	}
	err := s.usage.reserve(ctx, c.principal, int64(count))
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, fmt.Errorf("%w: too many answers were not read yet: "+
			"read them, ask for fewer IDs or numbers at a time, or try again", wire.ErrBusy)
	}
	if err != nil {
		return 0, err
	}
	c.room = int64(count)
	return int(count), nil
}

// freeRoom gives back what reserveRoom has reserved for a call, once that is answered.
func (s *Server) freeRoom(c *call) { s.usage.free(c.principal, c.room) }
