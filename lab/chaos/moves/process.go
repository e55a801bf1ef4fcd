package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// rate is how many IDs a process tries to make in a second.
const rate = 100

// A process makes IDs with a handle of its own, as a process of a user would.
type process struct {
	space  *lease.Space
	keeper *lease.Keeper[*randflake.Generator]
	stop   context.CancelFunc
	done   chan struct{} // closed when it has ended; the fields below are for those who wait for that

	first, last time.Time // of its IDs
	ended       time.Time // when it was refused first, or told to stop
	refused     int       // before the end of its leases
	ids         []randflake.ID
}

// begin starts a process. It has leases for three windows ahead, as by default, once it has lived one.
func begin(ctx context.Context, space *lease.Space, secret randflake.Secret) (*process, error) {
	keeper, err := lease.Keep(ctx, space, secret,
		lease.WithOutage(3*limits.Window),
		lease.WithWait(time.Minute),
		lease.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		return nil, errors.Join(err, space.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	p := &process{space: space, keeper: keeper, stop: stop, done: make(chan struct{})}
	go p.work(ctx)
	return p, nil
}

// beginAll starts some processes at once.
func beginAll(ctx context.Context, n int, secret randflake.Secret, open func() (*lease.Space, error)) ([]*process, error) {
	processes := make([]*process, n)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			space, err := open()
			if err != nil {
				errs[i] = err
				return
			}
			processes[i], errs[i] = begin(ctx, space, secret)
		})
	}
	all.Wait()
	return processes, errors.Join(errs...)
}

func (p *process) work(ctx context.Context) {
	defer close(p.done)
	for ctx.Err() == nil {
		id, err := p.keeper.Generator().Generate()
		p.note(time.Now(), id, err)
		time.Sleep(time.Second / rate)
	}
	if p.ended.IsZero() {
		p.ended = time.Now()
	}
}

func (p *process) note(now time.Time, id randflake.ID, err error) {
	if err == nil {
		if p.first.IsZero() {
			p.first = now
		}
		p.last = now
		p.ids = append(p.ids, id)
		return
	}
	if p.ended.IsZero() {
		p.ended = now
	}
	if now.Before(p.keeper.Status().End) {
		p.refused++
	}
}

// end ends the process.
func (p *process) end() error {
	p.stop()
	<-p.done
	return errors.Join(p.keeper.Close(), p.space.Close())
}
