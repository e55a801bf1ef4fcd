package randflake

import (
	"runtime"
	"sync/atomic"

	"github.com/randflake/randflake/internal/coarse"
	"github.com/randflake/randflake/internal/vmgen"
)

// A Local makes IDs for one goroutine that wants many, one by one. It has a batch of IDs to itself, and so is faster
// than Generator.Generate, which shares a batch with all goroutines on the same P. Its IDs are made under the
// generator's lease, and end with it. A Local is not safe for concurrent use: two goroutines that use one get the same
// IDs. The race detector reports that.
//
// A Local holds up to 64 IDs of one second. The ones left are lost when the second passes, when the lease changes and
// when the Local is dropped; there is nothing to close. A node has 131,072 IDs a second, so use few Locals with a small
// lease.
type Local struct {
	own *local
}

// A local is the part of a Local that its generator keeps too, to count its IDs, until the Local is no longer in use.
type local struct {
	sole    soleUse
	current atomic.Int64 // the published second that the batch is good for
	batch
	state *state // under which the batch was made
	mark  vmgen.Mark
	g     *Generator
}

// useless is the value of current that makes Generate ask the generator first. It is never published as a second.
const useless = -1

// Local returns a handle on the generator for one goroutine.
func (g *Generator) Local() *Local {
	own := &local{g: g}
	own.current.Store(useless)
	g.mu.Lock() // first of all: a nil generator must panic here, and not in the cleanup, which nobody can recover
	defer g.mu.Unlock()
	l := &Local{own}
	runtime.AddCleanup(l, (*local).forget, own)
	if g.locals == nil {
		g.locals = make(map[*local]bool)
	}
	g.locals[own] = true
	return l
}

// forget drops a Local from its generator, and adds its count to the generator's.
func (l *local) forget() {
	l.g.mu.Lock()
	defer l.g.mu.Unlock()
	delete(l.g.locals, l)
	l.g.filled.Add(l.issued())
}

// setState replaces the state, also for Locals. The caller holds g.mu.
func (g *Generator) setState(st *state) {
	g.state.Store(st)
	for l := range g.locals {
		l.current.Store(useless)
	}
}

// Generate returns a new ID, or an error, as Generator.Generate does.
func (l *Local) Generate() (ID, error) {
	own := l.own
	own.sole.mark()
	own.lock.Lock()
	word := own.word - 1
	if i := uint8(word); i < batchSize && own.current.Load() == coarse.Seconds.Published() {
		own.word = word
		id := own.ids[i]
		mark := own.mark
		own.lock.Unlock()
		if mark.Stale() {
			return 0, own.g.told(errCopied)
		}
		return ID(id), nil
	}
	own.lock.Unlock()
	id, err := own.generateSlowly()
	runtime.KeepAlive(l) // so that forget does not count the Local before this ID is made
	return id, err
}

// generateSlowly does what Generate does if the batch is empty or old, or there is an injected clock. It makes a new
// batch from the run of this processor's shard, so that Locals use the cursor no more often than Ps do.
func (l *local) generateSlowly() (id ID, err error) {
	if l.g.strict {
		id, _, err = l.g.generateSlowly()
		return id, err
	}
	err = l.g.fromShard(func(s *shard, st *state, now int64, fresh bool) (ok bool, err error) {
		l.lock.Lock()
		defer l.lock.Unlock()
		for l.state != st || l.second != now || l.left() == 0 {
			first, n, err := s.claim(st, now, fresh)
			if n == 0 {
				return false, err
			}
			l.fill(st.cipher, first, n)
			l.state, l.mark, l.second = st, st.mark, now
		}
		id, _ = l.take()
		return true, nil
	})
	l.refresh()
	return id, l.g.told(err)
}

// refresh publishes the second of the batch, so that Generate takes from it without asking.
func (l *local) refresh() {
	if l.g.now != nil || l.current.Load() == l.second {
		return
	}
	l.current.Store(l.second)
	if l.g.state.Load() != l.state { // replaced before that: setState did not see it
		l.current.Store(useless)
	}
}
