// Package lease leases node numbers for seconds of time, so that no two generators ever have the same: [Keep] makes a generator
// that has leases as long as it lives.
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
// An [Engine] stores entries in a database, a bucket or a directory, and decides nothing. A [Space] decides: it takes nodes, and
// numbers of counters, by one compare-and-swap. A [Keeper] takes leases ahead. Package lease/url opens a space by its URL.
//
// # Why no second of a node has two users
//
//  1. Time is cut into windows of W seconds, and for each window K the space has one number: how many nodes were taken.
//  2. A lease is the run of nodes by which one compare-and-swap raised that number, for the seconds of K and no others.
//  3. The number of a window only grows, so two leases of K share no node, whatever clocks do, and leases of two windows
//     share no second.
//  4. Old numbers are not removed but merged with their neighbours into the highest of them, so they also only grow, in
//     bounded space.
//  5. A lease is used only after the engine has acknowledged it as durable; when the outcome is unknown it is never used.
//  6. Every swap also expects the meta entry unchanged, so no take that was decided before a loss of data was noted can
//     take effect after that.
//  7. A loss shows by another lineage, by a position or a number below the one that this handle's last swap made durable, or by
//     an older meta entry; where the lineage stays, a process that took nothing of what was lost can't tell, and a person must
//     report it.
//  8. No lease is granted more than Ahead windows beyond the clock of the process that takes it, and two clocks differ by MaxSkew
//     at most; so whoever notes the loss raises low, which never falls, above every window that a forgotten lease can be of, and
//     below low no main node is granted: what was forgotten stays the property of those who have it.
//  9. Below low leases come from the slice of the tick in which the loss was noted, and no slice is used before its tick is over by
//     every clock, so a later loss has another slice, or windows that don't meet.
//  10. Outside of this are the six cases of "When IDs can repeat" in docs/leases.md, such as a loss that nobody notices or
//     reports, and a copy of a process that the machine does not announce.
package lease
