package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/alike"
	"github.com/randflake/randflake/internal/protocol"
	"github.com/randflake/randflake/store"
)

const (
	fewProbes  = 8  // cells of the right size that are looked at first
	manyProbes = 48 // and then, before all are
	larger     = 4  // larger cells that are looked at besides
)

// Acquire implements Source. It looks at a few cells, chosen at random, and takes one that is free or splits it: two
// round trips, or one by what Open has just read. If these are taken it looks at more, and only then at all records.
// After a lost race it chooses again.
func (l *leases) Acquire(ctx context.Context, req Request) (Record, error) {
	a, err := l.newAcquisition(req)
	if err != nil {
		return Record{}, err
	}
	if granted, done, err := a.atOnce(ctx); done || err != nil {
		return granted, err
	}
	for ; a.conflicts < tries; a.conflicts++ {
		granted, done, err := a.try(ctx)
		if err != nil || done {
			return granted, err
		}
		if err := a.pause(ctx); err != nil {
			return Record{}, err
		}
	}
	return Record{}, fmt.Errorf("%w: %s: others were faster each time", ErrNoRange, l.space)
}

// tries is the maximum number of retries after a lost race.
const tries = 200

// pause lets other callers go first when many change the same cells.
func (a *acquisition) pause(ctx context.Context) error {
	if a.conflicts < 3 {
		return ctx.Err()
	}
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(time.Millisecond) << min(a.conflicts-3, 5))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// An acquisition is a call of Acquire.
type acquisition struct {
	*leases
	Request
	until     int64    // the first second that IDs can't embed
	probes    uint32   // how many cells of the right size are looked at
	conflicts int      // how often another caller was faster
	sample    []Record // that Open read
	agreed    bool     // some holder renews by the same clock
	watch     *watch   // to be put with what is granted, or nil
	spared    int      // ranges of holders that seem to have gone, and may be live
}

func (l *leases) newAcquisition(req Request) (*acquisition, error) {
	v := l.space.Assume()
	until, err := untilSecond(req.Until)
	if err == nil {
		err = req.checkNodes()
	}
	if err == nil {
		err = checkTTL(req.TTL, v.Meta.Limits())
	}
	if err != nil {
		return nil, err
	}
	if req.Owner == (Token{}) {
		req.Owner = NewToken(time.Unix(v.Now, 0))
	}
	req.Label = cleanLabel(req.Label)
	if req.Below == 0 {
		req.Below = allNodes
	}
	return &acquisition{leases: l, Request: req, until: until, probes: fewProbes}, nil
}

// A situation is a View with how the nodes are cut in it.
type situation struct {
	*store.View
	cells  cells
	limits store.Limits
}

func (l *leases) situate(v *store.View) (situation, error) {
	all, err := l.cellsOf(v.Meta)
	return situation{v, all, v.Meta.Limits()}, err
}

// A sight is the state of a cell, and the item that says so.
type sight struct {
	Record
	cell cell
	item store.Item
}

// sights returns the states of cells.
func (s situation) sights(cells []cell) (seen []sight, err error) {
	for _, c := range cells {
		item := s.Find(recordName(c.first))
		state, err := c.state(item, s.Meta)
		if err != nil {
			return nil, err
		}
		seen = append(seen, sight{state, c, item})
	}
	return seen, nil
}

// atOnce grants a cell by what Open has read. It reports false where that won't do: only a read justifies a refusal. The
// change expects the receipt as Open found it, since an earlier call may have got the same owner a lease meanwhile.
func (a *acquisition) atOnce(ctx context.Context) (Record, bool, error) {
	v, all := a.space.Opened()
	if v == nil {
		return Record{}, false, nil
	}
	a.sample = sampled(v.Items)
	s, err := a.situate(v)
	if err != nil || !all || a.admit(s) != nil {
		return Record{}, false, nil
	}
	seen, err := s.sights(a.choose(s))
	if err != nil {
		return Record{}, false, nil
	}
	if gone, agreed := a.census(seen).gone(s); len(gone) > 0 || !agreed && s.Find(watchName).Body != nil {
		return Record{}, false, nil
	}
	receipt := s.Find(a.receiptName())
	if _, granted := a.grantedBefore(receipt); granted || a.Retry {
		return Record{}, false, nil
	}
	best, ok := a.best(s, seen)
	if !ok {
		return Record{}, false, nil
	}
	granted, done, err := a.take(ctx, s, best, receipt)
	if errors.Is(err, ErrNoRange) || errors.Is(err, randflake.ErrEndOfLife) || errors.Is(err, store.ErrWrongSecret) {
		err = nil
	}
	return granted, done, err
}

// try makes one attempt. It reports false when another caller was faster.
func (a *acquisition) try(ctx context.Context) (Record, bool, error) {
	assumed, err := a.situate(a.space.Assume())
	if err != nil {
		return Record{}, false, err
	}
	if a.tooEarly(assumed) != nil {
		// The meta entry alone tells, so nothing else is asked for while there is a floor.
		if err := a.refuseEarly(ctx); err != nil {
			return Record{}, false, err
		}
	}
	near := a.choose(assumed)
	names := []string{a.receiptName(), hintName, watchName}
	for _, c := range near {
		names = append(names, recordName(c.first))
	}
	v, err := a.space.Read(ctx, names, store.Page{})
	if err != nil {
		return Record{}, false, err
	}
	s, err := a.situate(v)
	if err != nil {
		return Record{}, false, err
	}
	if err := a.admit(s); err != nil {
		return Record{}, false, err
	}
	if before, found, err := a.again(ctx, s); found || err != nil {
		return before, found, err
	}
	if !slices.EqualFunc(assumed.cells, s.cells, func(a, b run) bool { return a == b }) {
		return Record{}, false, nil // cut anew meanwhile
	}
	seen, err := s.sights(near)
	if err != nil {
		return Record{}, false, err
	}
	best, ok := a.best(s, seen)
	if len(a.sample) > 0 || ok && s.gone(best.Record) {
		if seen, err = a.lookOut(ctx, s, seen); err != nil {
			return Record{}, false, err
		}
		best, ok = a.best(s, seen)
	}
	if exact := ok && best.Nodes() == a.Nodes; !exact && a.probes < manyProbes && len(near) >= fewProbes {
		a.probes = manyProbes
		return Record{}, false, nil
	}
	if ok && (a.agreed || !s.gone(best.Record)) {
		return a.take(ctx, s, best)
	}
	if err := a.hinted(s); err != nil && !ok {
		return Record{}, false, err
	}
	return a.search(ctx)
}

// admit refuses what can't be granted whichever cells are free.
func (a *acquisition) admit(s situation) error {
	if err := s.Clock(); err != nil {
		return err
	}
	if _, err := s.CheckSecret(a.Keys, s.Now); err != nil {
		return fmt.Errorf("%s: %w", a.space, err)
	}
	if !protocol.Fresh(s.View, a.Owner) {
		return fmt.Errorf("%w: %w: owner %s was made at %s, and it is %s: want one from NewToken, made for this lease by a clock that is right",
			ErrInvalidRequest, store.ErrClock, a.Owner, stamp(a.Owner.Second()), stamp(s.Now))
	}
	if err := checkTTL(a.TTL, s.limits); err != nil {
		return err
	}
	return a.tooEarly(s)
}

// tooEarly refuses while nothing may be granted in any cell.
func (a *acquisition) tooEarly(s situation) error {
	_, err := a.interval(s, Record{})
	return err
}

// refuseEarly reads the meta entry, and nothing else, to see whether nothing may be granted yet.
func (a *acquisition) refuseEarly(ctx context.Context) error {
	v, err := a.space.Read(ctx, nil, store.Page{})
	if err != nil {
		return err
	}
	s, err := a.situate(v)
	if err != nil {
		return err
	}
	return a.admit(s)
}

// interval returns what can be granted of the cell whose state is r.
func (a *acquisition) interval(s situation, r Record) (granted Record, err error) {
	farthest := s.Now + s.limits.TTL() - 1
	start := max(s.Now, r.HighWater+1, s.Meta.Floor)
	last := farthest
	if b := s.Meta.Barred; b != nil {
		if b.Has(start) {
			start = b.To
		} else if start < b.From {
			last = min(last, b.From-1)
		}
	}
	if start >= a.until {
		return Record{}, fmt.Errorf("lease: start %s: %w", stamp(start), a.endOfLife())
	}
	until, err := s.CheckSecret(a.Keys, start)
	if err != nil {
		return Record{}, fmt.Errorf("%s: %w", a.space, err)
	}
	if start > farthest && start == s.Meta.Floor {
		text := fmt.Sprintf("lease: no lease may start before %s, because the store is new or has lost data: try again from %s on for a lease that starts then", stamp(start), stamp(start-farthest+s.Now))
		return Record{}, alike.Error(text, ErrNoRange)
	}
	if start > farthest {
		return Record{}, fmt.Errorf("%w: no lease may start before %s: try again from %s on", ErrNoRange, stamp(start), stamp(start-farthest+s.Now))
	}
	r.Owner, r.Version, r.Start, r.Label = a.Owner, r.Version+1, start, a.Label
	r.Change, r.Changed = a.Owner, s.Now
	r.HighWater = min(start+seconds(a.TTL)-1, last, min(until, a.until)-1)
	return r, nil
}

// choose returns some cells that may do, at random: of the right size, and a few that are larger.
func (a *acquisition) choose(s situation) []cell {
	var exact, other []*run
	n, total := uint32(a.Nodes), uint32(0)
	for i := range s.cells {
		switch r := &s.cells[i]; {
		case r.Closed || r.First+n > a.Below || r.Size < n:
		case r.Size == n:
			exact = append(exact, r)
			total += a.usable(r)
		default:
			other = append(other, r)
		}
	}
	var chosen []cell
	for i := range min(a.probes, total) {
		k := i
		if total > a.probes {
			k = rand.Uint32N(total)
		}
		for _, r := range exact {
			if k < a.usable(r) {
				chosen = append(chosen, cell{r.First + k*r.Size, r})
				break
			}
			k -= a.usable(r)
		}
	}
	slices.SortStableFunc(other, func(x, y *run) int { return cmp.Compare(a.rank(int(x.Size)), a.rank(int(y.Size))) })
	for _, r := range other[:min(larger, len(other))] {
		k := rand.Uint32N(r.Count)
		if r.First+k*r.Size+n > a.Below {
			k = 0
		}
		chosen = append(chosen, cell{r.First + k*r.Size, r})
	}
	slices.SortFunc(chosen, func(x, y cell) int { return cmp.Compare(x.first, y.first) })
	return slices.CompactFunc(chosen, func(x, y cell) bool { return x.first == y.first })
}

// usable returns how many cells of a run of the right size lie below the bound.
func (a *acquisition) usable(r *run) uint32 {
	return min(r.Count, (a.Below-r.First)/r.Size)
}

// fits reports whether a cell has room for what is wanted.
func (a *acquisition) fits(c cell) bool {
	return !c.run.Closed && c.size() >= a.Nodes && c.first+uint32(a.Nodes) <= a.Below
}

// best returns the cell to take: one that is free now, the first by rank, or else one that was released in this very
// second or later, whose lease then starts in the future. Cells whose holder seems to have gone without releasing them
// come last, as the clock may be wrong. The choice among equals is random, so that concurrent callers pick different cells.
func (a *acquisition) best(s situation, seen []sight) (sight, bool) {
	var free, later []sight
	for _, c := range seen {
		switch {
		case !a.fits(c.cell):
		case c.HighWater < s.Now:
			free = append(free, c)
		case c.Owner == Token{} && c.HighWater < s.Now+s.limits.TTL()-1 && c.cell.size() == a.Nodes:
			later = append(later, c)
		}
	}
	if len(free) > 0 {
		rank := func(c sight) int {
			if s.gone(c.Record) {
				return a.rank(c.Nodes()) + 3*allNodes
			}
			return a.rank(c.Nodes())
		}
		least := rank(slices.MinFunc(free, func(x, y sight) int { return rank(x) - rank(y) }))
		free = slices.DeleteFunc(free, func(c sight) bool { return rank(c) > least })
		return free[rand.IntN(len(free))], true
	}
	if len(later) > 0 {
		return slices.MinFunc(later, func(x, y sight) int { return cmp.Compare(x.HighWater, y.HighWater) }), true
	}
	return sight{}, false
}

// rank orders the sizes of cells by what splitting one costs others: none of the right size, then little where it gives
// many pieces, so that the next callers need not split as well; of such the smallest do, of the others the largest.
func (a *acquisition) rank(size int) int {
	switch {
	case size == a.Nodes:
		return 0
	case size/a.Nodes >= 8*64: // of which pieces uses an eighth
		return size
	}
	return 2*allNodes - size
}

// take grants a cell, of which it cuts off what is too much.
func (a *acquisition) take(ctx context.Context, s situation, c sight, expect ...store.Item) (Record, bool, error) {
	r := c.Record
	var body []byte
	if c.cell.size() > a.Nodes {
		r.LastNode = r.FirstNode + uint32(a.Nodes) - 1
		anew := s.cells.with(c.FirstNode, c.LastNode+1, cut(c.FirstNode, c.LastNode+1, uint32(a.Nodes), a.pieces(s, c.cell), c.HighWater)...)
		if len(anew) > maxRuns {
			return Record{}, false, fmt.Errorf("%w: for %s: nodes are in too many pieces of too many sizes: ask for sizes that others ask for", ErrNoRange, a.nodes())
		}
		body = anew.encode()
	}
	granted, err := a.interval(s, r)
	if err != nil {
		return Record{}, false, err
	}
	return a.grant(ctx, s, granted, body, append(expect, c.item)...)
}

// pieces returns into how many cells of the wanted size to cut a cell, in advance for callers that will want some:
// twice as many as there are, more when many want some at once, but only a part of a cell that holds many.
func (a *acquisition) pieces(s situation, c cell) uint32 {
	n := uint32(a.Nodes)
	there := uint32(0)
	for i := range s.cells {
		if s.cells[i].Size == n {
			there += s.cells[i].Count
		}
	}
	room := (min(c.last()+1, a.Below) - c.first) / n
	return max(1, min(max(2*there, 8192)<<min(a.conflicts, 6), room/8))
}

// grant puts the record of a new lease, and a receipt by which the caller can be told again.
func (a *acquisition) grant(ctx context.Context, s situation, granted Record, body []byte, expect ...store.Item) (Record, bool, error) {
	change := store.Change{Body: body, Keys: a.Keys, Expect: expect, Put: a.withWatch(granted.item(), a.receipt(s, granted))}
	done, _, err := a.space.Swap(ctx, s.View, change)
	if errors.Is(err, store.ErrUnknownOutcome) {
		return Record{}, false, nil // nobody knows of that lease, which starts before the floor
	}
	if err != nil || !done {
		return Record{}, false, err
	}
	return granted, true, nil
}

// A receipt tells in which cell an owner's lease is, so that it is found after a reply was lost. If another receipt took
// its place, all records are searched, when the caller tries again.

func (a *acquisition) receiptName() string { return protocol.ReceiptName("a", a.Owner) }

func (a *acquisition) receipt(s situation, granted Record) store.Item {
	return store.Item{Name: a.receiptName(), Second: s.Now, Body: fmt.Appendf(nil, "%q", fmt.Sprintf("%s %d", a.Owner, granted.FirstNode))}
}

// grantedBefore returns the first node of the lease that a receipt is about, if that is the same owner's.
func (a *acquisition) grantedBefore(receipt store.Item) (node uint32, granted bool) {
	text, _ := strconv.Unquote(string(receipt.Body))
	owner, first, _ := strings.Cut(text, " ")
	n, err := strconv.ParseUint(first, 10, 32)
	return uint32(n), owner == a.Owner.String() && err == nil
}

// again returns the lease that was granted to the same owner already.
func (a *acquisition) again(ctx context.Context, s situation) (Record, bool, error) {
	receipt := s.Find(a.receiptName())
	node, granted := a.grantedBefore(receipt)
	if replaced := receipt.Body != nil && receipt.Second >= a.Owner.Second()-s.limits.Skew(); !granted && replaced && a.Retry {
		all, err := a.scan(ctx, s.View, 0, allNodes)
		if err != nil {
			return Record{}, false, err
		}
		for _, c := range all {
			if c.Owner == a.Owner {
				node, granted = c.FirstNode, true
			}
		}
	}
	if !granted {
		return Record{}, false, nil
	}
	held, err := a.Lookup(ctx, Record{FirstNode: node, LastNode: node + uint32(a.Nodes) - 1, Owner: a.Owner})
	switch {
	case err != nil && !errors.Is(err, ErrLost):
		return Record{}, false, err
	case err != nil || held.Change != a.Owner || held.Nodes() != a.Nodes:
		return Record{}, false, fmt.Errorf("%w: owner %s: a token serves for one lease, and this one's was renewed, released or lost: make another by NewToken", ErrInvalidRequest, a.Owner)
	case held.Start < s.Meta.Floor:
		return Record{}, false, nil // what was granted before the loss is not found out
	}
	return held, true, nil
}

// checkNodes returns an error that wraps ErrInvalidRequest when no store can have such nodes.
func (r Request) checkNodes() error {
	if r.Below > allNodes {
		return fmt.Errorf("%w: nodes below %d: want at most %d", ErrInvalidRequest, r.Below, allNodes)
	}
	if below := int(cmp.Or(r.Below, allNodes)); r.Nodes < 1 || r.Nodes > below {
		return fmt.Errorf("%w: %s: want 1 to %d", ErrInvalidRequest, r.nodes(), below)
	}
	return nil
}

// nodes says which nodes are wanted, for error messages.
func (r Request) nodes() string {
	if r.Below == 0 || r.Below == allNodes {
		return fmt.Sprintf("%d nodes", r.Nodes)
	}
	return fmt.Sprintf("%d nodes below %d", r.Nodes, r.Below)
}

func checkTTL(ttl time.Duration, limits store.Limits) error {
	if ttl < time.Second || ttl > limits.MaxTTL || ttl%time.Second != 0 {
		return fmt.Errorf("%w: TTL %v: want whole seconds, 1s to %v", ErrInvalidRequest, ttl, limits.MaxTTL)
	}
	return nil
}

// untilSecond returns the first second that IDs can't embed.
func untilSecond(until time.Time) (int64, error) {
	switch {
	case until.IsZero():
		return randflake.MaxTimestamp + 1, nil
	case until.Unix() < randflake.Epoch:
		return 0, fmt.Errorf("%w: until %s: want a time that is not over", ErrInvalidRequest, until.Format(time.RFC3339))
	}
	return min(until.Unix(), lastSecond), nil
}

// endOfLife returns randflake.ErrEndOfLife, with the end of the format that the request is for.
func (a *acquisition) endOfLife() error {
	if a.Until.IsZero() {
		return randflake.ErrEndOfLife
	}
	return alike.Error("the format of the request ends at "+stamp(a.until), randflake.ErrEndOfLife)
}

// lastSecond is the end of what stores take, in the year 9999.
const lastSecond = 253402300799

func stamp(second int64) string { return time.Unix(second, 0).UTC().Format(time.RFC3339) }
