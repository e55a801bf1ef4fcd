package snowflake

// claim takes up to n consecutive values of one unit, at least one. It returns the ID of the first
// one, and how many it took.
//
// claim goes by the cached clock, which may be late. What that refuses, claimSlowly decides.
func (g *Generator) claim(n uint64, caller place) (ID, uint64, error) {
	st := g.load() // first: it panics without a generator
	if g.mustQueue(caller) {
		return g.claimSlowly(n, caller)
	}
	ms, _ := g.settings.clock.Now()
	now := g.layout.unitAt(ms) // for each round of the loop: it may be late anyway
	for {
		next := st.Work.next.Load()
		p, err := st.Work.bounds.planAt(next, st.Work.awaitedEnd.Load(), now)
		if err != nil {
			return g.claimSlowly(n, caller)
		}
		taken := st.Work.take(next, p, n)
		if taken > 0 {
			if st.Machine.Stale() { // asked last: a copy that was made meanwhile may have the same IDs
				return 0, 0, errCopied
			}
			return g.layout.id(st.Lease.static, p.first), taken, nil
		}
		st = g.load() // another claim was faster, or another lease is in force
	}
}

// claimSlowly is claim, but reads the clock for each try, so that its errors count. The lines that
// take the plan stand in both: in a function of their own they would keep claim's plan in memory.
func (g *Generator) claimSlowly(n uint64, caller place) (ID, uint64, error) {
	for {
		o, err := g.planAnew()
		if err != nil {
			return 0, 0, err // also to those who must queue: that the lease ended says more than errExhausted
		}
		if g.mustQueue(caller) {
			return 0, 0, errExhausted
		}
		taken := o.st.Work.take(o.next, o.plan, n)
		if taken > 0 {
			if o.st.Machine.Stale() {
				return 0, 0, errCopied
			}
			return g.layout.id(o.st.Lease.static, o.plan.first), taken, nil
		}
	}
}

// A place says whether the caller of claim waits in line.
type place int

const (
	notInLine   place = iota // it gets nothing while others wait
	firstInLine              // it is this caller's turn
)

// mustQueue reports whether a caller gets nothing now, as others wait in line.
func (g *Generator) mustQueue(caller place) bool {
	return caller == notInLine && !g.leases.Line.Empty()
}

// An offer is a plan for the cursor of st. It can be taken as long as that cursor is at next.
type offer struct {
	st   *state
	next uint64
	plan plan
}

// planAnew reads the state and the clock, and returns what a claim may take, or an error that says
// why it may not. It may put another lease in force for that.
func (g *Generator) planAnew() (offer, error) {
	for {
		st := g.load()
		if st.Closed {
			return offer{}, errClosed
		}
		if st.Machine.Stale() {
			return offer{}, errCopied
		}
		next := st.Work.next.Load()
		now := g.layout.unitAt(g.settings.clock.Read()) // after next: an older reading could look like a step back
		p, err := st.Work.planFresh(next, now)
		if err == nil {
			return offer{st, next, p}, nil
		}
		err = g.follow(st, now, err)
		if err != nil {
			return offer{}, err
		}
	}
}
