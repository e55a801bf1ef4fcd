// Package counter makes small numbers that never repeat, for orders, tickets and rows, in any
// number of processes.
//
// There are two kinds of handles:
//
//   - A [Counter] takes a run of numbers from a space by one durable compare-and-swap, and gives
//     them out from memory. It takes the next run before the current one is used up. So a number
//     costs a few nanoseconds. Numbers grow within one handle, and roughly over all handles. A
//     crash loses a run or two, but repeats no number.
//   - A [Strict] takes each number from the space. So numbers grow in the order of calls over all
//     processes.
//
// Package gapless makes numbers without gaps, and package numbers prints them.
//
//	engine, err := file.New("store") // on several machines another engine
//	space, err := lease.Open(ctx, engine, lease.Config{})
//	defer space.Close()
//	orders, err := counter.From(space).Open(ctx, "orders", counter.OrCreate(counter.Config{}))
//	defer orders.Close()
//	n, err := orders.Wait(ctx) // 1, 2, 3
//
// The command randflake store init --never-used --store store makes the space, or [lease.Create] does.
//
// # When the store loses data
//
// Forgotten leases expire, but numbers carry no time, so forgotten numbers don't. After a loss of
// data a counter returns lease.ErrCounterLost until an operator says where it goes on, with SetCounter
// or randflake counter set. Processes use up the runs that they have.
//
// A clone of a running virtual machine has the same runs, and repeats the numbers that are left of them.
package counter
