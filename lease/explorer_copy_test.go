package lease

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/randflake/randflake"
)

// copy copies the machine of a process. A call of the store that is under way goes on in p, so p is the copy
// from now on. The original is a new process:
//
//   - If no call is under way, both have the same leases. If the copy is announced, by the generation of its
//     machine, it must leave them to the original. Otherwise both use them, and the oracle allows it.
//   - If Take is under way, both wait for the same answer. The copy is announced, and must leave that to the
//     original as well.
func (p *process) copy() {
	w := p.world
	inCall := p.calls > 0
	if inCall && !p.taking || p.isCopy() {
		return
	}
	announced := inCall || w.IntN(2) == 0
	original := p.newOriginal()
	w.note("%d is a copy of %d, announced: %v, in a call: %v", p.name, original.name, announced, inCall)
	p.leases = slices.Clone(p.leases)
	if announced {
		w.generations++
		p.machine.Store(w.generations)
		for i, h := range p.leases {
			p.leases[i] = &held{h.Lease} // for the oracle: if the copy uses it, that is another user
		}
	}
	if inCall {
		p.original = original
		return
	}
	w.processes = append(w.processes, original)
}

// newOriginal returns the original of a machine that p is the copy of.
func (p *process) newOriginal() *process {
	w := p.world
	w.names++
	original := *p
	original.name = w.names
	original.calls = 0
	original.taking = false
	original.machine = newMachine(p.machine.Load())
	original.space, _ = newSpace(conn{w.data, original.call}, Config{Name: "s", Clock: original.clock})
	original.space.known = p.space.known // as keep asks for the limits
	original.keep(p.loop.settings)
	original.learnFrom(p)
	return &original
}

// goOnAsOriginal has the original of p go on with the answer that p got.
func (p *process) goOnAsOriginal(leases []randflake.Lease) {
	original := p.original
	p.original = nil
	original.learnFrom(p)
	for _, lease := range leases {
		original.Add(lease)
	}
	p.world.processes = append(p.world.processes, original)
}

// learnFrom has the original know what its copy knows.
func (p *process) learnFrom(other *process) {
	p.space.known = other.space.known
	p.space.known.values = maps.Clone(other.space.known.values)
	p.acknowledged = other.acknowledged.clone()
	p.loop.plan = other.loop.plan.Clone()
}

// isCopy reports whether the machine is an announced copy, and the keeper has not noticed it yet.
func (p *process) isCopy() bool { return p.loop.machine.Stale() }

func newMachine(generation uint64) *atomic.Uint64 {
	machine := new(atomic.Uint64)
	machine.Store(generation)
	return machine
}
