package randflake

import (
	"runtime"
	"sync/atomic"

	"github.com/randflake/randflake/internal/coarse"
)

// A Local makes IDs for one goroutine that wants many, one by one. It has a block of them to itself, and
// so is quicker than Generate, which shares one with all goroutines of the processor. Otherwise it does
// as its generator: IDs are made under that one's lease and end with it. A Local is not safe for
// concurrent use.
//
// A Local holds IDs of one second, 64 at most. What it has left when the second passes, when the lease
// changes or when the Local is no more in use is lost; there is nothing to close. A node has 131,072
// IDs a second, so keep few Locals for a small lease.
type Local struct {
	own *local
}

// A local is a Local as its generator knows it, which keeps it for its count until the Local is no more in use.
type local struct {
	current atomic.Int64 // the published second that the hand is good for
	hand
	state *state // under which the hand was made
	g     *Generator
}

// useless is current when the generator is to be asked first. It is never published.
const useless = -1

// Local returns a handle on the generator for the use of one goroutine.
func (g *Generator) Local() *Local {
	own := &local{g: g}
	own.current.Store(useless)
	l := &Local{own}
	runtime.AddCleanup(l, (*local).forget, own)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.locals == nil {
		g.locals = make(map[*local]bool)
	}
	g.locals[own] = true
	return l
}

// forget has the generator keep no more of a Local than its count.
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
	own.lock.Lock()
	if i := own.left - 1; i < blockSize && own.current.Load() == coarse.Seconds.Published() {
		own.left = i
		id := own.ids[i]
		own.lock.Unlock()
		return ID(id), nil
	}
	own.lock.Unlock()
	id, err := own.generateSlowly()
	runtime.KeepAlive(l) // what is not counted yet is not to be forgotten meanwhile
	return id, err
}

// generateSlowly is Generate when the hand is of no use, or an injected clock is to be asked. It takes a
// new one from the run of this processor's shard, so that Locals come to the cursor no more often than
// processors do.
func (l *local) generateSlowly() (id ID, err error) {
	if l.g.strict {
		id, _, err = l.g.generateSlowly()
		return id, err
	}
	err = l.g.fromShard(func(s *shard, st *state, now int64, fresh bool) (ok bool, err error) {
		l.lock.Lock()
		defer l.lock.Unlock()
		if l.state != st || l.second != now || l.left == 0 {
			first, n, err := s.claim(st, now, fresh)
			if n == 0 {
				return false, err
			}
			l.fill(st.cipher.keys, first, n)
			l.state, l.second = st, now
		}
		l.left--
		id = ID(l.ids[l.left])
		return true, nil
	})
	l.refresh()
	return id, err
}

// refresh says what the hand is good for.
func (l *local) refresh() {
	if l.g.now != nil || l.current.Load() == l.second {
		return
	}
	l.current.Store(l.second)
	if l.g.state.Load() != l.state { // replaced before that: setState did not see it
		l.current.Store(useless)
	}
}
