package randflake

import (
	"errors"
	"sync/atomic"
)

// work is what the IDs of a lease are made with. When the lease is over, only the cursor is left,
// frozen.
type work struct {
	quick     shards // the same shards, if Generate, Wait and Fill may take the short way; otherwise empty
	shards    shards // one for each processor
	cursor    *cursor
	runLength uint64 // how many raw values a shard claims at once
	cipher    *Cipher
	made      *atomic.Uint64 // the generator's count of IDs
}

// A shard has a run of raw values, claimed from the cursor at once, and makes IDs of it ahead, a
// batch at a time:
//
//	ids: | left: ids[:idsLeft] | handed out |
//	                          ^ Generate takes this one, the last that is left
//	run: | already in a batch | runLeft values, not encrypted yet |
//	                          ^ runNext
//
// Each P, a processor of Go's scheduler, has a shard. A goroutine must pin it to read or write it:
// see shard_pin.go, and shard_pool.go where there is no pinning.
type shard struct {
	ids       [batchSize]uint64 // the batch; first, so that kernels write whole cache lines
	idsLeft   uint64            // Generate takes the last one of these
	claimedAt int64             // the clock's second when the run was claimed; its IDs may have a later one
	runCount  uint64            // raw values in the whole run; 0 before the first one
	runNext   uint64
	runLeft   uint64
	lock      ownerLock // for shard_pool.go; of no size in shard_pin.go

	// At least a cache line is between this shard and the next: see TestMemory. The five words fill
	// a line but for 24 bytes.
	_ [24 + cacheLine]byte
}

const cacheLine = 64 // bytes

// batchSize is the most IDs that a shard encrypts at once.
const batchSize = 64

// Why there is no ID from a shard, although the next attempt may get one: it adds shards, or reads
// the clock. These errors stay in the package.
var (
	errNoShard   = errors.New("randflake: this processor has no shard")
	errReadClock = errors.New("randflake: a new run wants a second that was read from the clock")
)

// next returns an ID for the Unix second now, or why there is none. fresh says that now was read
// from the clock.
func (s *shard) next(w *work, now int64, fresh bool) (ID, error) {
	if err := s.prepare(w, now, fresh); err != nil {
		return 0, err
	}
	s.idsLeft--
	return ID(s.ids[s.idsLeft]), nil
}

// fill fills dst with IDs as next returns them.
func (s *shard) fill(w *work, now int64, fresh bool, dst []ID) (n int, err error) {
	for n < len(dst) {
		if err := s.prepare(w, now, fresh); err != nil {
			return n, err
		}
		n += s.take(dst[n:])
	}
	return n, nil
}

// take moves IDs of the batch to dst, as many as there are.
func (s *shard) take(dst []ID) (n int) {
	n = min(len(dst), int(s.idsLeft))
	s.idsLeft -= uint64(n)
	return copy(asUint64(dst[:n]), s.ids[s.idsLeft:])
}

// prepare leaves an ID in the batch for next, or returns why there is none.
func (s *shard) prepare(w *work, now int64, fresh bool) error {
	usedUp := s.idsLeft == 0 && s.runLeft == 0
	if usedUp || s.claimedAt != now {
		// A published second may be late. A run claimed for it would be lost once the right one is
		// published.
		if !fresh {
			return errReadClock
		}
		if err := s.newRun(w, now); err != nil {
			return err
		}
	}
	if s.idsLeft == 0 {
		s.encryptBatch(w.cipher)
	}
	return nil
}

// newRun claims a run from the cursor. What is left of the old run is lost.
//
// Only newRun adds to the generator's count. It counts the first ID of a run ahead, so that a
// generator that makes a few doesn't look idle, and the others when the next run is claimed. So
// those of a shard's last run are never counted: another lease has other shards.
func (s *shard) newRun(w *work, now int64) error {
	sharers := 2 * uint64(len(w.shards.list)) // a run is at most half of a processor's share of what is left
	first, n, err := w.cursor.claim(now, w.runLength, sharers)
	if err != nil {
		return err
	}
	made := uint64(1) // the first ID of the new run
	if s.runCount > 0 {
		made += s.runCount - s.runLeft - s.idsLeft - 1 // the old run's, but for its first one
	}
	w.made.Add(made)
	s.idsLeft = 0
	s.claimedAt = now
	s.runCount = n
	s.runNext = first
	s.runLeft = n
	return nil
}

// encryptBatch encrypts the next batch of the run.
func (s *shard) encryptBatch(c *Cipher) {
	n := min(s.runLeft, batchLength())
	encryptRun(c.keys(), s.ids[:n], s.runNext)
	s.idsLeft = n
	s.runNext += n
	s.runLeft -= n
}

// batchLength returns how many IDs a shard encrypts at a time. The call of Generate that finds a
// shard empty pays for all of them, so more is not always better: in plain Go, half as many cost
// the same per ID and halve the pause (1.5 us for 64 on a Zen 4, where AVX2 takes 0.2 us and
// AVX-512 0.1 us).
func batchLength() uint64 {
	if active == backendGeneric {
		return batchSize / 2
	}
	return batchSize
}

// runLength returns how many raw values a shard claims at once: a small part of a processor's share
// of a second, as the rest of a run is lost when the second ends. With long runs processors rarely
// meet at the cursor.
func runLength(nodes uint64, shards int) uint64 {
	const (
		longest      = 4096
		runsPerShare = 64 // in a processor's share of a second
	)
	valuesPerSecond := nodes << sequenceBits
	run := valuesPerSecond / (runsPerShare * uint64(shards))
	batches := run / batchSize
	return min(max(batches*batchSize, batchSize), longest)
}
