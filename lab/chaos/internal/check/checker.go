package check

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store/storetest"
)

// A Checker reads journals as they grow. It is not safe for concurrent use.
type Checker struct {
	config    Config
	cipher    *randflake.Cipher
	processes map[string]*process // by directory
	seen      *seen
	history   storetest.History
	releases  []release
	owners    map[lease.Token]string // the worker that acquired with it
	calls     []*call
	losses    []interval
	restart   int64
	result    Result
}

// A release is a holder's word that it used no second after lastUsed.
type release struct {
	held     lease.Record
	lastUsed int64
}

// A process is what the checker knows of one worker process.
type process struct {
	name     string
	reader   *journal.Reader
	pending  map[uint64]*call
	leases   leases
	refusals map[string]uint64
	started  bool
	stopped  bool // by itself
	dead     bool
}

// New returns a Checker of one run: all processes that shared one secret and one store, which was
// empty when the first of them began.
func New(config Config) *Checker {
	if config.Timeout == 0 {
		config.Timeout = time.Minute
	}
	return &Checker{
		config:    config,
		cipher:    randflake.NewCipher(config.Secret),
		processes: make(map[string]*process),
		seen:      newSeen(),
		owners:    make(map[lease.Token]string),
		restart:   math.MaxInt64,
		result:    Result{Calls: make(map[string]uint64), Refusals: make(map[string]uint64)},
	}
}

// Read takes what is new in the journal of one process, in dir. While the process runs it takes
// complete segments only. Once dead is set, which says that the process has ended, by itself or not,
// it takes all, and does nothing when called for dir again.
func (c *Checker) Read(dir string, dead bool) error {
	p := c.process(dir)
	if p.dead {
		return nil
	}
	if dead {
		p.reader.Dead()
	}
	// Events come after segments: a process notes what it was granted before it makes IDs with it.
	segments, err := p.reader.Segments()
	if err != nil {
		return err
	}
	if err := c.readEvents(p); err != nil {
		return err
	}
	for _, s := range segments {
		c.checkSegment(p, s)
		if err := c.dispose(s); err != nil {
			return err
		}
	}
	if dead {
		return c.bury(p)
	}
	return nil
}

func (c *Checker) process(dir string) *process {
	p := c.processes[dir]
	if p == nil {
		p = &process{
			name:    dir,
			reader:  journal.NewReader(dir),
			pending: make(map[uint64]*call),
		}
		c.processes[dir] = p
	}
	return p
}

func (c *Checker) dispose(s *journal.Segment) error {
	if c.config.Keep {
		return s.Close()
	}
	return s.Remove()
}

// bury notes what a process that ended leaves behind.
func (c *Checker) bury(p *process) (err error) {
	p.dead = true
	for _, call := range p.pending {
		c.ended(call) // its outcome is unknown
	}
	p.refusals, err = p.reader.Refusals()
	return err
}

func (c *Checker) readEvents(p *process) error {
	events, err := p.reader.Events()
	for _, e := range events {
		switch e.Kind {
		case journal.Start:
			p.name, p.started = e.Worker, true
		case journal.Stop:
			p.stopped = true
		case journal.Call:
			p.pending[e.Call] = newCall(e)
			if e.Op == journal.Release {
				c.released(p, e)
			}
		case journal.Return:
			call := p.pending[e.Call]
			if call == nil {
				return fmt.Errorf("check: journal of %s: call %d ended and never began: events are missing", p.name, e.Call)
			}
			delete(p.pending, e.Call)
			call.returned(e)
			c.ended(call)
			c.granted(p, e)
		}
	}
	return err
}

// ended notes a call of which no more will be known.
func (c *Checker) ended(call *call) {
	c.calls = append(c.calls, call)
	c.result.Calls[fmt.Sprintf("%s %s", call.op, call.outcome)]++
}

// granted notes what a process may use from now on.
func (c *Checker) granted(p *process, e journal.Event) {
	if e.Outcome != journal.OK || e.Record == nil {
		return
	}
	if e.Op == journal.Acquire {
		if first, ok := c.owners[e.Record.Owner]; ok && first != p.name && c.result.Overlap == "" {
			c.result.Overlap = fmt.Sprintf("owner %v was granted twice: to %s and to %s: %+v", e.Record.Owner, first, p.name, *e.Record)
		}
		c.owners[e.Record.Owner] = p.name
	}
	p.leases.grant(*e.Record, e.At)
	c.history.Granted(*e.Record)
}

// released notes that a process won't use a lease any more, which it says before it asks the store.
func (c *Checker) released(p *process, e journal.Event) {
	c.releases = append(c.releases, release{*e.Held, e.LastUsed})
	if later := p.leases.release(*e.Held, e.LastUsed); later > 0 {
		c.outside(OutsideLease{
			Origin: Origin{Worker: p.name},
			Second: e.LastUsed,
			Node:   e.Held.FirstNode,
			Count:  later,
			Why:    "the lease was given back with this second as the last one used, and there are IDs of later ones",
		})
	}
}

func (c *Checker) outside(o OutsideLease) {
	c.result.Outside += o.Count
	if len(c.result.FirstOutside) < few {
		c.result.FirstOutside = append(c.result.FirstOutside, o)
	}
}

// DataLost says that the store lost data, or went back in time, at some moment from start to end, in
// ns of CLOCK_MONOTONIC (journal.Now). What comes before and what comes after are then linearizable
// each for itself, and all other checks go on.
func (c *Checker) DataLost(start, end int64) {
	c.losses = append(c.losses, interval{start, end})
	c.Restarted(start)
}

// Restarted says that the store's engine was restarted, or another copy of it took over, at that time or
// later. A store that can't be sure then that no data was lost may refuse to renew older leases, and
// say lease.ErrLost of leases that are not.
func (c *Checker) Restarted(at int64) { c.restart = min(c.restart, at) }

// Result checks what needs the whole run, and returns what was found. It is called once, after each
// journal was read to its end: otherwise it fails.
func (c *Checker) Result() (Result, error) {
	r := &c.result
	for dir, p := range c.processes {
		if !p.dead {
			return *r, fmt.Errorf("check: journal %s was not read to its end: call Read with dead set first", dir)
		}
		if p.started {
			r.Processes++
		}
		if p.started && !p.stopped {
			r.Killed++
		}
		for class, n := range p.refusals {
			r.Refusals[class] += n
		}
	}
	r.Leases = c.history.Len()
	for _, rel := range c.releases {
		c.history.Released(rel.held, time.Unix(rel.lastUsed, 0))
	}
	if err := c.history.Check(); err != nil && r.Overlap == "" {
		r.Overlap = err.Error()
	}
	err := c.linearize()
	return *r, err
}

// checkSegment takes in a segment's IDs.
func (c *Checker) checkSegment(p *process, s *journal.Segment) {
	origin := Origin{p.name, s.Path}
	raw := make([]randflake.Raw, len(s.IDs))
	c.cipher.DecryptSlice(raw, s.IDs)
	var all []word
	var twice []uint64
	for from := 0; from < len(raw); {
		at, to := madeBy(s.Marks, from, len(raw))
		words, again := pack(nil, raw[from:to])
		c.checkLeases(p, origin, words, at)
		all, twice = append(all, words...), append(twice, again...)
		from = to
	}
	all, again := merge(all)
	for _, value := range append(twice, again...) {
		c.duplicate(value, origin, origin)
	}
	runs := runsOf(nil, all)
	for values := c.seen.add(origin, runs).Iterator(); values.HasNext(); {
		value := values.Next()
		c.duplicate(value, Origin{}, origin)
	}
	c.result.Made += uint64(len(raw))
	c.result.Written += uint64(s.Written)
	c.result.Runs += uint64(len(runs))
}

// checkLeases checks that a process may have made the IDs of words by a time.
func (c *Checker) checkLeases(p *process, origin Origin, words []word, at int64) {
	words, _ = merge(slices.Clone(words))
	for _, r := range runsOf(nil, words) {
		r.pieces(func(x piece) {
			if why := p.leases.use(x.second, x.node, x.count, at); why != "" {
				c.outside(OutsideLease{origin, x.second, x.node, x.count, why})
			}
		})
	}
}

// duplicate notes a value that was made again. If first is zero the origin is looked for.
func (c *Checker) duplicate(value uint64, first, again Origin) {
	r := &c.result
	r.Duplicates++
	run{value, value}.pieces(func(x piece) {
		r.LastDuplicate = max(r.LastDuplicate, x.second)
		if len(r.FirstDuplicates) >= few {
			return
		}
		if first == (Origin{}) {
			first = c.seen.find(value)
		}
		r.FirstDuplicates = append(r.FirstDuplicates, Duplicate{
			x.second, x.node, uint32(value & randflake.MaxSequence), first, again})
	})
}

// Take takes in IDs of a process that has no segments, of which s is one in memory. All events from before they were made
// must have been read.
func (c *Checker) Take(dir string, s *journal.Segment) { c.checkSegment(c.process(dir), s) }
