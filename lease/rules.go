package lease

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/randflake/randflake"
)

// Rules are a store's limits, and the decisions that stores have in common: which range to
// grant and how a record changes, as pure functions of records and a clock reading. A store
// applies their result in one compare-and-set.
type Rules struct {
	// MaxTTL is the longest lease granted. A record whose high-water mark lies further ahead
	// than that was written under a wrong clock ("poisoned"), and is passed over.
	MaxTTL time.Duration

	// MaxSkew is how far two clocks that both pass for right may differ.
	MaxSkew time.Duration
}

// DefaultRules allow leases of up to ten minutes and clocks that differ by up to a minute. Longer
// leases ride out longer outages of the store, and make the wait longer after it lost its data.
func DefaultRules() Rules { return Rules{MaxTTL: 10 * time.Minute, MaxSkew: time.Minute} }

// Check returns an error unless both limits are whole seconds, MaxTTL at least one.
func (r Rules) Check() error {
	if r.MaxTTL < time.Second || r.MaxTTL%time.Second != 0 {
		return fmt.Errorf("lease: max TTL %v: want whole seconds, at least 1s", r.MaxTTL)
	}
	if r.MaxSkew < 0 || r.MaxSkew%time.Second != 0 {
		return fmt.Errorf("lease: max skew %v: want whole seconds, at least 0s", r.MaxSkew)
	}
	return nil
}

// CheckRequest returns an error that wraps ErrInvalidRequest when req is out of range.
func (r Rules) CheckRequest(req Request) error {
	if err := req.checkNodes(); err != nil {
		return err
	}
	return r.CheckTTL(req.TTL)
}

// below returns the first node that r does not allow.
func (r Request) below() int { return int(cmp.Or(r.Below, randflake.MaxNode+1)) }

// fits reports whether the range of rec is what r asks for.
func (r Request) fits(rec Record) bool {
	return rec.Nodes() >= r.Nodes && int(rec.LastNode) < r.below()
}

// checkNodes returns an error that wraps ErrInvalidRequest when no store can have such nodes.
func (r Request) checkNodes() error {
	if r.Below > randflake.MaxNode+1 {
		return fmt.Errorf("%w: nodes below %d: want at most %d", ErrInvalidRequest, r.Below, randflake.MaxNode+1)
	}
	if r.Nodes < 1 || r.Nodes > r.below() {
		return fmt.Errorf("%w: %s: want 1 to %d", ErrInvalidRequest, r.nodes(), r.below())
	}
	return nil
}

// nodes says which nodes are wanted, for error messages.
func (r Request) nodes() string {
	if r.Below == 0 {
		return fmt.Sprintf("%d nodes", r.Nodes)
	}
	return fmt.Sprintf("%d nodes below %d", r.Nodes, r.Below)
}

// CheckTTL returns an error that wraps ErrInvalidRequest when ttl is out of range.
func (r Rules) CheckTTL(ttl time.Duration) error {
	if ttl < time.Second || ttl > r.MaxTTL || ttl%time.Second != 0 {
		return fmt.Errorf("%w: TTL %v: want whole seconds, 1s to %v", ErrInvalidRequest, ttl, r.MaxTTL)
	}
	return nil
}

// Poisoned reports whether rec's high-water mark lies so far ahead of now, in Unix seconds, that
// only a wrong clock can have put it there.
func (r Rules) Poisoned(rec Record, now int64) bool {
	return rec.HighWater > now+seconds(r.MaxTTL)
}

// NotBefore returns the first second that a store may grant, in Unix seconds, when its data was
// lost or went back in time at now: by then every lease that it no longer knows of has ended, as none
// ever reaches further ahead than MaxTTL, also not when it starts in the future.
func (r Rules) NotBefore(now int64) int64 {
	return now + seconds(r.MaxTTL) + seconds(r.MaxSkew)
}

// Grant chooses a range for req among records, which are all that the store holds, and returns its
// new record with a new owner; a range that was never granted before comes with version 1. Nothing
// before notBefore is granted; zero means that there is no such bound.
//
// It takes the first of [Rules.Candidates]. No lease ends more than MaxTTL from now. One that starts in
// the future may be shorter than req.TTL therefore, and one that would start later than that is
// refused with ErrNoRange.
func (r Rules) Grant(records []Record, req Request, now, notBefore int64) (Record, error) {
	if err := r.CheckRequest(req); err != nil {
		return Record{}, err
	}
	candidates := r.Candidates(records, req, now, 1)
	if len(candidates) == 0 {
		if err := checkClock(now); err != nil {
			return Record{}, err
		}
		return Record{}, r.noRange(records, req, now)
	}
	return r.GrantOn(candidates[0], req, now, notBefore)
}

// GrantOn returns what candidate, one of [Rules.Candidates] for req, becomes when it is granted to a new
// owner. It fails as Grant does.
func (r Rules) GrantOn(candidate Record, req Request, now, notBefore int64) (Record, error) {
	if err := r.CheckRequest(req); err != nil {
		return Record{}, err
	}
	if err := checkClock(now); err != nil {
		return Record{}, err
	}
	rec := candidate
	rec.Owner = newOwner()
	rec.Version++
	rec.Start = max(now, rec.HighWater+1, notBefore)
	if rec.Start > randflake.MaxTimestamp {
		return Record{}, fmt.Errorf("lease: start %s: %w", time.Unix(rec.Start, 0).UTC().Format(time.RFC3339), randflake.ErrEndOfLife)
	}
	farthest := now + seconds(r.MaxTTL) - 1
	if rec.Start > farthest {
		return Record{}, fmt.Errorf("%w: no lease may start before %s: try again from %s on", ErrNoRange,
			time.Unix(rec.Start, 0).UTC().Format(time.RFC3339), time.Unix(rec.Start-farthest+now, 0).UTC().Format(time.RFC3339))
	}
	rec.HighWater = min(rec.Start+seconds(req.TTL)-1, farthest, randflake.MaxTimestamp)
	return rec, nil
}

// checkClock refuses a present that can't be.
func checkClock(now int64) error {
	if now < randflake.Epoch {
		return fmt.Errorf("lease: clock says %s, before the format's epoch: set it right", time.Unix(now, 0).UTC().Format(time.RFC3339))
	}
	return nil
}

// Candidates returns up to limit ranges that may be granted for req at now, the best first and all of
// one kind, as they stand in records, which are all that the store holds, or with version 0 where no
// record covers the nodes. Stores whose callers compete for a range without a lock choose one of
// several at random.
//
// The kinds, in order of preference: ranges of the right size that are free now, the longest
// unused first; nodes that no record covers, the lowest first; larger ranges that are free now, the
// smallest first; ranges that were released in this very second or later, whose lease then starts
// in the future, the earliest first. A range that does not lie below req.Below as a whole is of no kind.
func (r Rules) Candidates(records []Record, req Request, now int64, limit int) []Record {
	var exact, larger, later []Record
	for _, rec := range records {
		switch {
		case !req.fits(rec) || r.Poisoned(rec, now):
		case rec.HighWater < now && rec.Nodes() == req.Nodes:
			exact = append(exact, rec)
		case rec.HighWater < now:
			larger = append(larger, rec)
		case rec.Owner == Owner{}:
			later = append(later, rec)
		}
	}
	if len(exact) > 0 {
		return first(limit, exact, byAge)
	}
	if unused := uncovered(records, req, limit); len(unused) > 0 {
		return unused
	}
	if len(larger) > 0 {
		return first(limit, larger, func(a, b Record) int { return cmp.Or(a.Nodes()-b.Nodes(), byAge(a, b)) })
	}
	return first(limit, later, byAge)
}

func byAge(a, b Record) int {
	return cmp.Or(cmp.Compare(a.HighWater, b.HighWater), cmp.Compare(a.FirstNode, b.FirstNode))
}

// first returns the limit first of records in the order of compare.
func first(limit int, records []Record, compare func(a, b Record) int) []Record {
	if limit == 1 && len(records) > 0 {
		return []Record{slices.MinFunc(records, compare)}
	}
	slices.SortFunc(records, compare)
	return records[:min(limit, len(records))]
}

// uncovered returns the limit first ranges for req that no record covers.
func uncovered(records []Record, req Request, limit int) (ranges []Record) {
	byNode := func(a, b Record) int { return cmp.Compare(a.FirstNode, b.FirstNode) }
	if !slices.IsSortedFunc(records, byNode) {
		records = slices.SortedFunc(slices.Values(records), byNode)
	}
	next := 0 // the first node that may be uncovered
	gap := func(end int) {
		end = min(end, req.below())
		for ; next+req.Nodes <= end && len(ranges) < limit; next += req.Nodes {
			ranges = append(ranges, Record{FirstNode: uint32(next), LastNode: uint32(next + req.Nodes - 1)})
		}
	}
	for _, rec := range records {
		gap(int(rec.FirstNode))
		next = int(rec.LastNode) + 1
	}
	gap(randflake.MaxNode + 1)
	return ranges
}

// noRange explains why nothing can be granted.
func (r Rules) noRange(records []Record, req Request, now int64) error {
	leased, poisoned, small, across := 0, 0, 0, 0
	for _, rec := range records {
		switch {
		case int(rec.FirstNode) >= req.below(): // of no concern
		case int(rec.LastNode) >= req.below():
			across++
		case r.Poisoned(rec, now):
			poisoned++
		case rec.Nodes() < req.Nodes:
			small++
		default:
			leased++
		}
	}
	err := fmt.Errorf("%w: for %s: %d ranges leased, %d too small", ErrNoRange, req.nodes(), leased, small)
	if across > 0 {
		err = fmt.Errorf("%w, %d reaching beyond", err, across)
	}
	if poisoned > 0 {
		err = fmt.Errorf("%w, %d marked further ahead than any lease may reach: was a clock wrong?", err, poisoned)
	}
	return fmt.Errorf("%w: release one, wait until one ends, or ask for fewer nodes", err)
}

// Renew returns what current becomes when the holder of held renews it for ttl, or ErrLost.
//
// A lease that starts before notBefore is lost too: the store's data was lost or went back in
// time since, and what it forgot may be that somebody else took the range over.
func (r Rules) Renew(current, held Record, ttl time.Duration, now, notBefore int64) (Record, error) {
	if err := r.CheckTTL(ttl); err != nil {
		return Record{}, err
	}
	if !holds(current, held) {
		return Record{}, lost(held)
	}
	if current.Start < notBefore {
		return Record{}, fmt.Errorf("%w: it is older than a loss of the store's data", lost(held))
	}
	current.Version++
	current.HighWater = max(current.HighWater, min(now+seconds(ttl)-1, randflake.MaxTimestamp))
	return current, nil
}

// Lookup returns what the holder of held may know of current, or ErrLost when the owner is another.
//
// For a lease that starts before notBefore that is no later end than held has: its mark may have been
// raised after the store's data was lost, in ignorance of who took the range over in what was lost.
func (r Rules) Lookup(current, held Record, notBefore int64) (Record, error) {
	if held.Owner == (Owner{}) || current.Owner != held.Owner {
		return Record{}, lost(held)
	}
	if current.Start < notBefore {
		current.HighWater = min(current.HighWater, held.HighWater)
	}
	return current, nil
}

// Release returns what current becomes when the holder of held gives it back having used no
// second after lastUsed, or ErrLost.
func (r Rules) Release(current, held Record, lastUsed time.Time) (Record, error) {
	if !holds(current, held) {
		return Record{}, lost(held)
	}
	current.Owner = Owner{}
	current.Version++
	current.HighWater = min(current.HighWater, max(lastUsed.Unix(), current.Start-1))
	return current, nil
}

// holds reports whether held is the newest state of current, and still somebody's.
func holds(current, held Record) bool {
	return held.Owner != Owner{} && current.Owner == held.Owner && current.Version == held.Version
}

func lost(held Record) error {
	return fmt.Errorf("%w: nodes %d to %d", ErrLost, held.FirstNode, held.LastNode)
}

// newOwner returns a token that nobody else has.
func newOwner() (o Owner) {
	rand.Read(o[:]) // never fails, by its contract
	return o
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
