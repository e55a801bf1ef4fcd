package randflake

import "runtime"

// An attempt is one try of a call: under this state, in this second.
//
// IDs come by one of five ways. The slow ones make attempts until one succeeds, or afterRefusal says
// that no other helps:
//
//	                        Generate    Fill of 1 to 63 IDs    Fill of more, or with Strict
//	the batch has enough    at once     fillFromBatch
//	otherwise, slowly       generate    fillFromShards         fillFromCursor
//
// No clock is read while a shard is pinned: that may allocate, and an injected clock may block.
type attempt struct {
	st    *state
	now   int64 // the Unix second
	fresh bool  // now was read from the clock, after st was loaded: only then does a refusal count
}

// firstAttempt goes by the published second, if there is one. That may be late.
func (g *Generator) firstAttempt() attempt {
	st := g.load()
	now, fresh := g.clock.Now()
	return attempt{st, now, fresh}
}

func (g *Generator) freshAttempt() attempt {
	st := g.load()
	return attempt{st, g.clock.Read(), true}
}

// fromShard makes an attempt to get an ID from this processor's shard. A defer of unpin would make
// Generate slower by 4%.
func (g *Generator) fromShard(a attempt) (ID, error) {
	s := a.st.Work.shards.pin()
	if s == nil {
		a.st.Work.shards.unpin(s)
		return 0, errNoShard
	}
	id, err := s.next(&a.st.Work, a.now, a.fresh)
	a.st.Work.shards.unpin(s)
	return id, err
}

// afterRefusal does what helps against the refusal of a, which may be to add shards or to put
// another lease in force. It returns another attempt, or if none helps, the error that callers get.
func (g *Generator) afterRefusal(a attempt, refusal error) (attempt, error) {
	if a.st.Closed { // asked first, as a closed generator does not grow
		return attempt{}, ErrClosed
	}
	switch {
	case refusal == errNoShard:
		g.grow(a.st)
	case a.fresh: // otherwise the second may be late, and its refusal does not count
		err := g.follow(a.st, a.now, refusal)
		if err != nil {
			return attempt{}, err
		}
	}
	return g.freshAttempt(), nil
}

// grow gives every processor a shard after GOMAXPROCS was raised. The IDs left in the old shards are dropped.
func (g *Generator) grow(st *state) {
	// At least one more, as the caller found too few: GOMAXPROCS may have been lowered again.
	n := max(runtime.GOMAXPROCS(0), len(st.Work.shards.list)+1)
	g.leases.Rework(st, g.newWork(st.Work.cursor, n))
}
