// Package lease leases node numbers for seconds of time, so that no two generators ever have the
// same: [Keep] makes a generator that has leases as long as it lives.
//
//	engine, err := postgres.Connect(ctx, os.Getenv("RANDFLAKE_STORE"))
//	if err != nil {
//		return err
//	}
//	space, err := lease.Open(ctx, engine, lease.Config{}) // it was made once: randflake store init
//	if err != nil {
//		return err
//	}
//	keeper, err := lease.Keep(ctx, space, secret)
//	if err != nil {
//		return err
//	}
//	defer keeper.Close()
//	id, err := keeper.Generator().Generate()
//
// An [Engine] stores entries in a database, a bucket or a directory, and decides nothing. A [Space]
// decides: it takes nodes, and numbers of counters, by one compare-and-swap. A [Keeper] takes
// leases ahead. Package lease/url opens a space by its URL.
//
// # Why no second of a node has two users
//
// While no data is lost:
//
//  1. Time is cut into windows of W seconds. For each window the space has the next free node: all nodes
//     before it are taken, or given up.
//  2. A lease is the run of nodes by which one compare-and-swap raised the next free node of a window, for
//     the seconds of that window and no others.
//  3. Until a loss of data is noted, the next free node of a window only grows. So two leases of one window
//     share no node, whatever clocks do. Leases of two windows share no second.
//  4. Old windows are not removed. Neighbours are merged, and the higher of their next free nodes stays. So
//     merging only raises them too, and the space stays small.
//  5. A lease is used only after the engine has acknowledged it as durable. When the outcome is unknown it
//     is never used.
//  6. One entry of the space, meta, changes when the making of the space ends, a loss of data is noted, the
//     trust of the space changes, or it is retired. Every swap expects it unchanged. So no take that was
//     decided before can take effect afterwards.
//
// When data is lost:
//
//  7. A loss shows by another lineage, by another incarnation unless the space trusts these (see
//     [Space.SetTrust]), by an older meta or none, or by a position or a next free node that is lower than
//     what an earlier swap of the same [Space] value made durable.
//  8. Where the lineage stays, a process that took nothing of what was lost can't tell, and a person must
//     report the loss.
//  9. The space may have forgotten leases, which stay with the processes that have them. So whoever notes
//     the loss puts a floor into meta, a window that never falls. No main node is leased for a window before
//     it; the others are the reserve.
//  10. The floor is after the windows of all forgotten leases: a process takes at most Ahead windows beyond
//     its clock, and two clocks differ by MaxSkew at most. See [Limits].
//
// Before the floor:
//
//  11. The last nodes of a space may be its reserve, cut into 64 slices, and time is cut into ticks, which
//     have the slices in turn. All leases come from the slice of the tick in which the loss was noted, and
//     only once this tick is over by every clock. So a later loss has another slice, or other windows:
//     reserve.go says why.
//
// Outside of this are the six cases of "When IDs can repeat" in docs/leases.md, such as a loss that
// nobody notices or reports, and a copy of a process that the machine does not announce.
package lease

// A take, from the keeper down to the store:
//
//	loop.step                   what is due
//	  loop.takeWanted           which windows
//	    loop.takeFromSource     in time, and only what Source promises
//	      Space.Take
//	        Space.update          until it is done, or refused
//	          attempts.next       reads
//	          snapshot.loss       if there is one: noteLoss
//	          take.grant          decides
//	          Space.swap          Engine.Swap, which expects meta and the leases unchanged
//	          Space.finishUpdate  another look for a loss; learns what is durable

// The words of the files, from the store up:
//
//	meta       the entry that all swaps expect: meta.go
//	record     an entry beside meta: the leases, or a counter
//	snapshot   what an answer shows of meta and one record. Code calls the one that it goes by "seen"
//	known      what a handle is sure is durable. Data was lost if a snapshot is older
//	mark       in meta after a loss, in place of the lineage, until the floor is set: loss.go
//	term       from one loss to the next. Its random name is in meta and in counters
//	floor      the window from which on main nodes are leased after a loss
//	reserve    the nodes for windows before the floor, in slices. Losses of one tick have the same slice: reserve.go
//	announced  a space that a move is to make; abandoned if it never will: move.go
