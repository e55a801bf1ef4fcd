package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/page"
)

// A way fills ids with new IDs. It returns how many it made, and why there are no more.
type way func(g *randflake.Generator, ids []randflake.ID) (int, error)

// The ways to make IDs; each minter has one.
var ways = []way{(*randflake.Generator).Fill, oneByOne, waiting}

func oneByOne(g *randflake.Generator, ids []randflake.ID) (n int, err error) {
	for n < len(ids) && err == nil {
		if ids[n], err = g.Generate(); err == nil {
			n++
		}
	}
	return n, err
}

func waiting(g *randflake.Generator, ids []randflake.ID) (n int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for n < len(ids) && err == nil {
		if ids[n], err = g.Wait(ctx); err == nil {
			n++
		}
	}
	return n, err
}

// mint makes IDs until ctx ends. Each ID is in the journal before it is passed on.
func (w *worker) mint(ctx context.Context, number int) error {
	random := rand.New(rand.NewPCG(w.Seed, uint64(number)))
	make := ways[number%len(ways)]
	stream := w.journal.Stream()
	for ctx.Err() == nil {
		time.Sleep(w.Pause)
		g := w.choose(random)
		if g == nil {
			continue
		}
		ids, err := stream.Space(1 + random.IntN(w.batch()))
		if err != nil {
			return err
		}
		n, err := make(g, ids)
		stream.Commit(n)
		w.page.Made.Add(uint64(n))
		stream.Written(n)
		if err != nil && !errors.Is(err, randflake.ErrClosed) {
			w.journal.Refused(err)
			w.page.Refused[page.KindOf(err)].Add(1)
		}
	}
	return nil
}

// choose returns one of the generators, or nil while there is none.
func (w *worker) choose(random *rand.Rand) *randflake.Generator {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.generators) == 0 {
		return nil
	}
	return w.generators[random.IntN(len(w.generators))]
}

// batch returns twice as many IDs as a minter makes in one go, on average, to keep up its rate.
func (w *worker) batch() int {
	return max(2*w.Rate/w.Minters*int(w.Pause)/int(time.Second), 1)
}
