package randflake

import (
	"fmt"
	"runtime"
	"time"

	"github.com/randflake/randflake/internal/coarse"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/queue"
)

// A Generator makes IDs under a lease. It is safe for concurrent use and must not be copied. New
// makes one. The methods of the zero Generator panic, except Format.
//
// The way to an ID is short. Each processor has a shard with a batch of IDs, made ahead in the
// current second; Generate takes one. When the batch is used up, the shard encrypts the next values
// of its run of raw values. When the run is used up or the second has passed, the shard claims a
// new run from the cursor: one word, shared by all shards, that only grows, so that no two IDs are
// the same (see shard.go and cursor.go). A timer of the process publishes the current second.
type Generator struct {
	cipher   *Cipher
	clock    coarse.Source // of seconds
	strict   bool          // whether IDs come from the cursor one by one
	lastUsed int64         // the newest second used under leases that are over, or 0
	leases   handover.Leases[Lease, work]
}

// A state is a lease in force, and what IDs are made with under it. It is replaced as a whole when
// another lease comes into force, or there are more processors.
type state = handover.State[Lease, work]

// New returns a generator that makes IDs under a lease: make one for the whole process and keep it. Generators
// that are made for each request, or call, begin again and repeat each other's IDs, without an error.
//
// The caller must make sure that no other generator with the same secret ever has a lease that
// shares both a node and a second with this one; package lease does that. The errors wrap
// ErrInvalidLease, ErrInvalidSecret (the secret is unset) or ErrInvalidOption.
func New(secret Secret, lease Lease, options ...Option) (*Generator, error) {
	if secret.IsZero() {
		return nil, errZeroSecret
	}
	if err := lease.check(); err != nil {
		return nil, err
	}
	g := &Generator{
		cipher: NewCipher(secret),
		clock:  coarse.SourceOf(&coarse.Seconds),
	}
	for i, option := range options {
		if option.set == nil {
			return nil, fmt.Errorf("%w: option %d is the zero Option: leave it out", ErrInvalidOption, i+1)
		}
		if err := option.set(g); err != nil {
			return nil, err
		}
	}
	first := g.newWork(newCursor(boundsOf(lease)), runtime.GOMAXPROCS(0))
	g.leases.Start((*maker)(g), leaseErrors, queue.New("randflake"), lease, first) // maker: see follow.go
	return g, nil
}

func (g *Generator) newWork(c *cursor, processors int) work {
	w := work{
		shards:    newShards(processors),
		cursor:    c,
		runLength: runLength(c.nodes(), processors),
		cipher:    g.cipher,
		made:      &g.leases.Made,
	}
	// The short way goes by the published second and by batches. An injected clock publishes nothing
	// (a bubble of testing/synctest has one, too), and Strict has no batches.
	if g.clock.Injected == nil && !g.strict {
		w.quick = w.shards
	}
	return w
}

// IDs come by one of five ways. Wait goes as Generate does.
//
//	                            Generate    Fill of 1 to 63 IDs    Fill of more, or any call with Strict
//	short: the batch has them   itself      fillFromBatch          -
//	slow                        generate    fillFromShards         fillFromCursor
//
// What a slow way meets, and what comes of it (by prepare in shard.go, claimable in cursor.go, and afterRefusal). A
// Fill of 64 IDs or more goes as with Strict.
//
//	                           without Strict                      with Strict
//	batch used up              encrypts the run's next batch       has no batches
//	run used up, or outdated   reads the clock, claims a run       claims just what the call needs
//	processor has no shard     adds shards                         needs none
//	second used up             ErrExhausted                        the same
//	clock up to 10 s back      goes on in the newest second, and   the same
//	                           at its end: ErrClockBackward
//	clock further back         ErrClockBackward                    the same
//	clock outside the lease    goes on under a lease of then, or   the same
//	                           ErrLeaseEnded, ErrLeaseNotStarted
//	machine copied             errCopied, an ErrLeaseEnded         the same
//	Close                      ErrClosed                           the same

// Generate returns a new ID. It never waits for time or I/O: if no ID can be proven unique it returns
// ErrExhausted, ErrLeaseNotStarted, ErrLeaseEnded, ErrClockBackward, ErrEndOfLife or ErrClosed.
func (g *Generator) Generate() (ID, error) { // Wait repeats these lines, which a call would slow
	if g == nil {
		panicUnmade()
	}
	st := g.leases.InForce.Load() // without load, which is not inlined
	if st == nil {
		panicUnmade()
	}
	s := st.Work.quick.pin()
	if s != nil { // not joined to the next if by &&: the compiler would make a boolean of both
		if s.claimedAt == coarse.Seconds.Published() && !st.Machine.Stale() {
			i := s.idsLeft - 1
			if i < batchSize { // false if idsLeft was 0: i is then 2^64-1; also the bounds check of ids[i]
				s.idsLeft = i
				id := s.ids[i]
				st.Work.quick.unpin(s)
				return ID(id), nil
			}
		}
	}
	st.Work.quick.unpin(s) // also without a shard
	id, err := g.generate()
	return id, g.leases.Tell(err)
}

// generate is Generate by the slow way, without reporting a refusal.
func (g *Generator) generate() (ID, error) {
	if g.strict {
		var id [1]ID
		_, err := g.fill(id[:])
		return id[0], err
	}
	a := g.firstAttempt()
	for {
		id, refusal := g.fromShard(a)
		if a.st.Machine.Stale() { // asked last: a copy that was made meanwhile may have the same ID
			return 0, errCopied
		}
		if refusal == nil {
			return id, nil
		}
		var err error
		a, err = g.afterRefusal(a, refusal)
		if err != nil {
			return 0, err
		}
	}
}

// An attempt is one try of a call by a slow way: under this state, in this second. If it is refused,
// afterRefusal makes the next one. No clock is read while a shard is pinned: that may allocate, and an
// injected clock may block.
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

// Lease returns the lease in force; after Close, the last one.
func (g *Generator) Lease() Lease { return g.load().Lease }

// Format prints "[redacted]" for every verb that package fmt leaves to it, as the generator holds
// the keys, and "<nil>" if there is no generator.
func (g *Generator) Format(f fmt.State, _ rune) {
	text := redacted
	if g == nil {
		text = "<nil>"
	}
	f.Write([]byte(text))
}

// Cipher returns the cipher of the generator's secret, which opens its IDs.
func (g *Generator) Cipher() *Cipher {
	g.load() // panics without a generator
	return g.cipher
}

// Close ends the generator: Generate returns ErrClosed from now on. Close returns the last second in any ID
// that the generator made, or the second before the start of its lease if it made none. Another Close returns
// the same second and ErrClosed. In a copy of the machine the error of the first Close may wrap ErrLeaseEnded.
func (g *Generator) Close() (lastUsed time.Time, err error) {
	g.load() // panics without a generator
	err = g.leases.Close()
	if g.lastUsed == 0 { // it does not change any more, as the generator is closed
		return g.Lease().Start.Add(-time.Second).UTC(), err
	}
	return time.Unix(g.lastUsed, 0).UTC(), err
}

// load returns the state.
func (g *Generator) load() *state {
	if g != nil {
		if st := g.leases.InForce.Load(); st != nil {
			return st
		}
	}
	panicUnmade()
	return nil // not reached
}

// panicUnmade panics for a generator that New did not make. It is not inlined: Generate, which calls
// it twice, stays small.
//
//go:noinline
func panicUnmade() { panic("randflake: no Generator, or the zero one: make one with New") }
