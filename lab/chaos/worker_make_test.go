package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/randflake/randflake"
)

// A way fills ids with new IDs. It returns how many it made, and why there are no more.
type way func(g *randflake.Generator, ids []randflake.ID) (int, error)

// ways are the ways to make IDs; each has a goroutine.
var ways = [3]way{(*randflake.Generator).Fill, each((*randflake.Generator).Generate), each(wait)}

func wait(g *randflake.Generator) (randflake.ID, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return g.Wait(ctx)
}

func each(one func(*randflake.Generator) (randflake.ID, error)) way {
	return func(g *randflake.Generator, ids []randflake.ID) (n int, err error) {
		for n < len(ids) && err == nil {
			if ids[n], err = one(g); err == nil {
				n++
			}
		}
		return n, err
	}
}

// makeAll makes IDs in all ways until ctx ends. Meanwhile end is called, which may close the generator: the makers
// don't stop for that.
func (w *worker) makeAll(ctx context.Context, g *randflake.Generator, end func()) error {
	making, closed := context.WithCancel(context.Background())
	var makers sync.WaitGroup
	errs := make([]error, len(ways))
	for i, way := range ways {
		makers.Go(func() { errs[i] = w.make(making, g, way, w.random(i)) })
	}
	<-ctx.Done()
	end()
	closed()
	makers.Wait()
	return errors.Join(errs...)
}

// make makes IDs until ctx ends. They are in the journal before anything else is done with them.
func (w *worker) make(ctx context.Context, g *randflake.Generator, way way, random *rand.Rand) error {
	ids := make([]randflake.ID, max(2*w.Rate/len(ways)*int(rest)/int(time.Second), 1))
	for ; ctx.Err() == nil; time.Sleep(rest) {
		n, err := way(g, ids[:1+random.IntN(len(ids))])
		if n > 0 {
			if err := w.journal.Encode(event{IDs: ids[:n]}); err != nil {
				return err
			}
			w.made(n)
		}
		if err != nil && !errors.Is(err, randflake.ErrClosed) {
			w.page.Refused[refusalOf(err)].Add(1)
		}
	}
	return nil
}

// made tells that IDs were made, and how long after the ones before.
func (w *worker) made(n int) {
	w.making.Lock()
	defer w.making.Unlock()
	now := time.Now().UnixNano()
	if !w.page.First.CompareAndSwap(0, now) {
		w.page.Longest.Store(max(w.page.Longest.Load(), now-w.page.Last.Load()))
	}
	w.page.Last.Store(now)
	w.page.Made.Add(uint64(n))
}
