package randflake

import "github.com/randflake/randflake/internal/coarse"

// Fill fills dst with new IDs and returns how many it made. If n < len(dst), err is one of
// Generate's errors; the first n IDs are good all the same. For many IDs at once it is much faster
// than Generate. Fewer than 64 IDs come from the batches that Generate uses.
func (g *Generator) Fill(dst []ID) (n int, err error) {
	n, err = g.fill(dst)
	return n, g.leases.Tell(err)
}

// fill is Fill, but does not report a refusal. Few IDs come from a shard's batch, as a kernel takes as
// long for them as for a batch. With Strict there are no batches.
func (g *Generator) fill(dst []ID) (n int, err error) {
	st := g.load()
	few := 0 < len(dst) && len(dst) < batchSize
	if few && fillFromBatch(st, dst) {
		return len(dst), nil
	}
	if few && !g.strict {
		n, err = g.fillFromShards(dst)
	} else {
		n, err = g.fillFromCursor(dst)
	}
	if st.Machine.Stale() { // st was loaded before the first ID, so this covers all of them
		return 0, errCopied
	}
	return n, err
}

// fillFromBatch fills dst from this processor's batch if that has as many IDs, by the short way of Generate.
func fillFromBatch(st *state, dst []ID) bool {
	s := st.Work.quick.pin()
	if s != nil && s.claimedAt == coarse.Seconds.Published() && !st.Machine.Stale() && uint64(len(dst)) <= s.idsLeft {
		s.take(dst)
		st.Work.quick.unpin(s)
		return true
	}
	st.Work.quick.unpin(s)
	return false
}

// fillFromShards fills dst from the shards of the processors that it runs on, mostly one.
func (g *Generator) fillFromShards(dst []ID) (n int, err error) {
	a := g.firstAttempt()
	for {
		made, refusal := g.fillFromShard(a, dst[n:])
		n += made
		if refusal == nil {
			return n, nil
		}
		a, err = g.afterRefusal(a, refusal)
		if err != nil {
			return n, err
		}
	}
}

// fillFromShard makes an attempt to fill dst from this processor's shard.
func (g *Generator) fillFromShard(a attempt, dst []ID) (n int, err error) {
	s := a.st.Work.shards.pin()
	if s == nil {
		a.st.Work.shards.unpin(s)
		return 0, errNoShard
	}
	n, err = s.fill(&a.st.Work, a.now, a.fresh, dst)
	a.st.Work.shards.unpin(s)
	return n, err
}

// fillFromCursor fills dst with runs of its own.
func (g *Generator) fillFromCursor(dst []ID) (n int, err error) {
	for n < len(dst) {
		var first, taken uint64
		first, taken, err = g.claimRun(uint64(len(dst) - n))
		if err != nil {
			break
		}
		encryptRun(g.cipher.keys(), asUint64(dst[n:n+int(taken)]), first)
		n += int(taken)
		g.leases.Made.Add(taken)
	}
	return n, err
}

// claimRun takes up to n consecutive raw values, and returns the first one and their number. Its
// first attempt goes by the published second, which may be late: it claims no more than it uses.
func (g *Generator) claimRun(n uint64) (first, taken uint64, err error) {
	a := g.firstAttempt()
	for {
		const sharers = 1 // all that is left in the second, if need be
		first, taken, err = a.st.Work.cursor.claim(a.now, n, sharers)
		if err == nil {
			return first, taken, nil
		}
		a, err = g.afterRefusal(a, err)
		if err != nil {
			return 0, 0, err
		}
	}
}
