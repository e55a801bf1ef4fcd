package lease

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestChains plays random chains of moves between stores. Two secrets have a space each, and their moves meet:
// step has what happens meanwhile. Always at most one space of a secret grants leases, and no node of a window,
// and no number, is granted twice. If no data is lost, moves alone lead to a space that grants leases.
// lab/planted has the bugs that it must find.
func TestChains(t *testing.T) { playMany(t, 400, playChain) }

func playChain(seed uint64, logs bool) string {
	c := newChain(seed)
	c.logs = logs
	for range 150 {
		c.step()
	}
	if c.wrong == "" && !c.losses {
		c.leave()
	}
	return c.result()
}

// A chain is the state of a schedule. Clocks are right: they lie in a band of MaxSkew.
type chain struct {
	*rand.Rand
	journal
	losses  bool // of data
	trusted bool // the spaces trust restarts, which lose nothing
	stores  []*memory
	names   []string  // what spaces can be called in each store
	backups [][]state // by store: the data after each swap
	late    []func()  // swaps that a store gets later
	handles []*handle // of processes that live on
	inits   int       // how many spaces were made that stand in the way
	calm    bool      // no call fails any more

	leased  map[leasedNode]bool
	numbers map[ownNumber]bool
	top     map[string]int64 // by check value: the first number that was never stored as taken
}

// A leasedNode is one of a window, for one secret.
type leasedNode struct {
	check        string
	node, window int64
}

type ownNumber struct {
	check string
	n     int64
}

// A spot is where a space can be.
type spot struct {
	store int
	name  string
}

var (
	chainLimits = Limits{Nodes: 4 + 64*3, Window: 6 * time.Second, Ahead: 2, MaxSkew: 7 * time.Second, Reserve: 3}
	checks      = [][8]byte{{1}, {2}}
)

// A handle takes leases and numbers as long as it lives.
type handle struct {
	*Space
	check string
	at    spot
}

func newChain(seed uint64) *chain {
	c := &chain{
		Rand:    rand.New(rand.NewPCG(seed, 2)),
		losses:  seed%2 == 0,
		trusted: seed%4 == 1,
		journal: journal{now: genesis},
		leased:  map[leasedNode]bool{},
		numbers: map[ownNumber]bool{},
		top:     map[string]int64{},
	}
	stores := 4
	c.names = []string{"s", "t"}
	if seed%3 == 0 {
		stores = 2
		c.names = []string{"s", "t", "u"}
	}
	for i := range stores {
		store := newMemory()
		store.lineage = fmt.Sprint("store ", i)
		store.incarnation = "first"
		c.stores = append(c.stores, store)
		c.backups = append(c.backups, nil)
	}
	for i, check := range checks {
		at := spot{i, "s"}
		config := c.config(at, Config{Limits: chainLimits, CheckValue: check, NeverUsed: true})
		s, err := Create(context.Background(), conn{memory: c.stores[i]}, config)
		if err == nil {
			err = s.CreateCounter(context.Background(), Counter{Name: "orders"})
		}
		if err != nil {
			c.fail("no space: %v", err)
		}
	}
	return c
}

func (c *chain) config(at spot, config Config) Config {
	off := c.Int64N(int64(chainLimits.MaxSkew/time.Second) + 1)
	config.Name = at.name
	config.Trust = c.trusted || c.IntN(2) == 0
	config.Clock = func() time.Time { return time.Unix(c.now+off, 0) }
	return config
}

func (c *chain) anySpot() spot { return spot{c.IntN(len(c.stores)), c.names[c.IntN(len(c.names))]} }

// meta returns that of the space at a spot, or nil.
func (c *chain) meta(at spot) *meta { return c.stores[at.store].metaOf(at.name) }

func (c *chain) spots() (all []spot) {
	for i := range c.stores {
		for _, name := range c.names {
			all = append(all, spot{i, name})
		}
	}
	return all
}

// step has something happen, unless something was wrong.
func (c *chain) step() {
	if c.wrong == "" {
		anyOf(c.Rand, c.events()).do()
	}
}

func (c *chain) events() []event {
	return []event{
		{3, true, func() { c.now += []int64{1, 2, 6, 11, 40}[c.IntN(5)] }},
		{2, true, c.open},
		{4, true, c.take},
		{3, true, c.count},
		{4, true, func() { c.move(c.anySpot(), c.anySpot()) }},
		{1, true, c.otherCommands},
		{1, true, c.arrive},
		{1, true, c.lose},
		{1, true, c.end},
	}
}

// engine is a connection of a process to a store. The fuse may kill the process at any call. Before and after
// a call other things happen.
func (c *chain) engine(store int, f *fuse) Engine {
	return conn{c.stores[store], func(_ context.Context, call call) (a Answer, err error) {
		c.meanwhile()
		if call.put != nil && c.IntN(20) == 0 && !c.calm {
			c.note("(a swap is delayed)")
			c.late = append(c.late, func() { c.do(store, call) })
			return a, errAway
		}
		err = f.burn(func() error {
			a = c.do(store, call)
			return nil
		})
		c.meanwhile()
		return a, err
	}}
}

func (c *chain) meanwhile() {
	if c.depth < 2 && c.IntN(12) == 0 && !c.calm {
		c.depth++
		c.step()
		c.depth--
	}
}

// do has a store do what a call asks for, and looks at what is there then.
func (c *chain) do(store int, call call) Answer {
	a := c.stores[store].do(call)
	if a.Swapped {
		c.backups[store] = append(c.backups[store], c.stores[store].snapshot())
		c.noteNumbers(store, call.put)
		c.checkLiving()
	}
	return a
}

// noteNumbers notes which number of a counter is the first that was never taken, for who must set the counter.
func (c *chain) noteNumbers(store int, put []Entry) {
	for _, e := range put {
		name, counter, _ := strings.Cut(e.Name, "/c/")
		if m := c.meta(spot{store, name}); m != nil && counter != "" {
			n, _ := decodeCounter("", e.Value, "")
			c.top[m.Check] = max(c.top[m.Check], n.Next)
		}
	}
}

// checkLiving checks that of each secret one space at most grants leases.
func (c *chain) checkLiving() {
	living := map[string]spot{}
	for _, at := range c.spots() {
		m := c.meta(at)
		if m == nil || m.Retired {
			continue
		}
		if other, ok := living[m.Check]; ok {
			c.fail("%v and %v both grant leases", other, at)
		}
		living[m.Check] = at
	}
}

// arrive has a store get a swap that whoever sent it has given up.
func (c *chain) arrive() {
	if len(c.late) > 0 {
		c.note("a swap arrives late")
		c.late[0]()
		c.late = c.late[1:]
	}
}

// open gives a process a handle, which it keeps.
func (c *chain) open() {
	at := c.anySpot()
	s, err := c.openBy(never(), at)
	if err == nil {
		c.note("open %v", at)
		c.handles = append(c.handles, &handle{s, s.knownMeta().Check, at})
	}
}

// openBy opens a space in a process that a fuse may kill.
func (c *chain) openBy(f *fuse, at spot) (*Space, error) {
	s, err := Open(context.Background(), c.engine(at.store, f), c.config(at, Config{}))
	if err == nil {
		s.sleep = noSleep
	}
	return s, err
}

// anyFuse returns a fuse that kills a process at one of a number of calls, from the first of these on, or never.
func (c *chain) anyFuse(first, calls int) *fuse {
	if c.IntN(2) > 0 {
		return never()
	}
	return &fuse{last: first + c.IntN(calls), after: c.IntN(2) == 0}
}

// end ends a process now and then.
func (c *chain) end() {
	if len(c.handles) > 0 && c.IntN(3) == 0 {
		c.handles = slices.Delete(c.handles, 0, 1)
	}
}

func (c *chain) anyHandle() *handle {
	if len(c.handles) == 0 {
		return nil
	}
	return c.handles[c.IntN(len(c.handles))]
}

func (c *chain) take() {
	h := c.anyHandle()
	if h == nil {
		return
	}
	window := h.Limits().WindowOf(h.now())
	leases, err := h.Take(context.Background(), window, window+c.Int64N(3), 1)
	c.note("take at %v: %d leases, %v", h.at, len(leases), err)
	for _, l := range leases {
		node := leasedNode{h.check, int64(l.FirstNode), h.Limits().WindowOf(l.Start)}
		if c.leased[node] {
			c.fail("node %d of window %d is granted twice", node.node, node.window-h.Limits().WindowOf(genesisTime))
		}
		c.leased[node] = true
	}
}

func (c *chain) count() {
	h := c.anyHandle()
	if h == nil {
		return
	}
	run, err := h.TakeNumbers(context.Background(), "orders", Period{}, 1)
	c.note("count at %v: %d, %v", h.at, run.First, err)
	if err == nil {
		n := ownNumber{h.check, run.First}
		if c.numbers[n] {
			c.fail("number %d is given twice", n.n)
		}
		c.numbers[n] = true
	}
	if errors.Is(err, ErrCounterLost) && c.depth == 0 && len(c.late) == 0 { // so that the person can know
		c.calm = true
		err := h.SetCounter(context.Background(), "orders", c.top[h.check])
		c.calm = false
		c.note("set it to %d: %v", c.top[h.check], err)
	}
}

// move runs what an operator does, in a process of its own, which may be killed.
func (c *chain) move(from, to spot) error {
	return c.moveBy(c.anyFuse(1, 20), from, to)
}

func (c *chain) moveBy(f *fuse, from, to spot) error {
	old, err := c.openBy(f, from)
	if err == nil {
		c.note("move %v to %v, killed at %d", from, to, f.last)
		_, err = Move(context.Background(), old, c.engine(to.store, f), c.config(to, Config{}))
		c.note("moved: %v", err)
	}
	return err
}

// otherCommands runs some of what an operator does beside moves.
func (c *chain) otherCommands() {
	c.retire()
	c.report()
	c.trust()
	c.init()
	c.initByMistake()
}

// command runs something else of an operator's in a process of its own, which may be killed.
func (c *chain) command(what string, run func(context.Context, *Space) error) {
	if c.IntN(4) > 0 {
		return
	}
	f := c.anyFuse(2, 5)
	at := c.anySpot()
	s, err := c.openBy(f, at)
	if err == nil {
		c.note("%s %v, killed at %d", what, at, f.last)
		c.note("%s: %v", what, run(context.Background(), s))
	}
}

func (c *chain) retire() {
	if c.IntN(4) == 0 {
		c.command("retire", func(ctx context.Context, s *Space) error { return s.Retire(ctx) })
	}
}

// report says that data were lost, which is not so.
func (c *chain) report() {
	c.command("report a loss", func(ctx context.Context, s *Space) error { return s.ReportLoss(ctx, "a mistake") })
}

func (c *chain) trust() {
	if !c.trusted {
		trust := c.IntN(2) == 0
		c.command(fmt.Sprint("trust ", trust), func(ctx context.Context, s *Space) error { return s.SetTrust(ctx, trust) })
	}
}

// init makes a space for a secret of its own, which only stands in the way. It may be killed.
func (c *chain) init() {
	if c.IntN(8) > 0 {
		return
	}
	at := c.anySpot()
	c.inits++
	f := c.anyFuse(1, 2)
	config := c.config(at, Config{Limits: chainLimits, CheckValue: [8]byte{3, byte(c.inits)}, NeverUsed: true})
	_, err := Create(context.Background(), c.engine(at.store, f), config)
	c.note("init %v, killed at %d: %v", at, f.last, err)
}

// initByMistake makes a space for a secret where a move of its space has stopped, which must be refused.
func (c *chain) initByMistake() {
	at := c.anySpot()
	value := c.stores[at.store].data[at.name+"/meta"]
	m, err := decodeMeta([]byte(value))
	evidence := c.stores[at.store].do(call{})
	if err != nil || !m.Announced || !m.matches(evidence) {
		return
	}
	config := c.config(at, Config{Limits: chainLimits})
	hex.Decode(config.CheckValue[:], []byte(m.Check))
	_, err = Create(context.Background(), conn{memory: c.stores[at.store]}, config)
	c.note("init %v by mistake: %v", at, err)
	if err == nil {
		c.fail("a space was made where a move had stopped")
	}
}

// lose changes the incarnation of a store, or its lineage. Then it puts an older copy back, but none in which a
// mark is missing: only the pages warn of that.
func (c *chain) lose() {
	store := c.IntN(len(c.stores))
	switch {
	case !c.losses && !c.trusted:
		return
	case !c.losses || c.IntN(3) > 0:
		c.stores[store].incarnation = fmt.Sprint("another ", c.Uint64())
		c.note("store %d starts again", store)
		return
	}
	back := c.stores[store].snapshot()
	if n := len(c.backups[store]); n > 0 && c.IntN(2) == 0 {
		older := c.backups[store][n-1-c.IntN(min(n, 6))]
		if c.keepsMarks(store, older) {
			back = older
		}
	}
	back.lineage = fmt.Sprint("restored ", c.Uint64())
	c.note("store %d is restored to position %d", store, back.position)
	c.stores[store].restore(back)
}

// keepsMarks reports whether each retired space of a store is one in an older copy, too, and each space that was
// made is there.
func (c *chain) keepsMarks(store int, older state) bool {
	for _, name := range c.names {
		is := c.meta(spot{store, name})
		was := older.metaOf(name)
		if is != nil && (was == nil || was.UID != is.UID || was.Retired != is.Retired || was.Successor != is.Successor) {
			return false
		}
	}
	return true
}

// leave has an operator bring each secret's space into a state in which it grants leases, by moves alone.
func (c *chain) leave() {
	c.calm = true
	for _, check := range checks {
		text := hex.EncodeToString(check[:])
		if !c.canGrant(text) {
			c.fail("no move leads to a space of %s that grants leases", text)
		}
	}
}

// canGrant moves the spaces of a secret until one grants leases, or one has moved to a free spot.
func (c *chain) canGrant(check string) bool {
	free := spot{0, "free" + check}
	for range 3 {
		for _, from := range c.spots() {
			m := c.meta(from)
			if m == nil || m.Check != check {
				continue
			}
			if !m.Retired || c.meta(free) != nil {
				return true
			}
			c.moveToOne(from, append(c.spots(), free))
		}
	}
	return false
}

// moveToOne moves a space to the first of some spots that takes it.
func (c *chain) moveToOne(from spot, spots []spot) {
	for _, to := range spots {
		if c.moveBy(never(), from, to) == nil {
			return
		}
	}
}
