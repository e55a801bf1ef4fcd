// Package snowflake makes unique 64-bit IDs that sort by time.
//
// An ID is a few fields side by side: the time, fixed numbers such as that of the worker, and a sequence number. A
// [Layout] says which parts of the ID they have and how wide. [Twitter] is the best known; [ParseLayout] has this one and
// others by name, such as "discord", and reads layouts from text; [NewLayout] makes them of parts. [Layout.Inspect]
// opens IDs.
//
// A [Generator] makes the IDs of one worker. Where worker numbers are given out by hand, from a configuration or the
// ordinal of a pod, it needs no store:
//
//	generator, err := snowflake.New(snowflake.Twitter(), snowflake.Forever(7))
//	id, err := generator.Generate()
//
// No two processes may ever have the same number then, one that was started anew included: see [Forever]. [Keep] leaves
// the numbers to a store, which grants worker numbers for a while, so that no two generators share both a number
// and a second, whatever clocks and processes do:
//
//	store, err := filestore.Open("leases")
//	keeper, err := snowflake.Keep(ctx, lease.On(store), snowflake.Twitter())
//	id, err := keeper.Generator().Generate()
//	err = keeper.Close()
//
// # Time
//
// Generate and Fill return at once, with IDs or one of this package's errors. Wait and FillWait wait, first come, first
// served, for what time brings: the next millisecond when one is used up, and a clock that stepped back. [RunAhead] and
// [StepBack] spare the wait, at the price of times that are early or out of order, and [Keep] goes on as another worker
// when the clock stepped back by more than 15 ms. Nothing of that costs uniqueness.
//
// [Layout.Range] turns an interval of time into one of IDs, so that a primary key also serves as an index by time.
//
// Every layout ends some day: see [Layout.Expires].
//
// # Text
//
// IDs are decimal in text and in JSON, where they are strings; javascript53 is the layout for IDs that have to
// be exact as JavaScript numbers. Package bases has shorter forms, some of which sort as IDs do. All forms parse
// strictly.
//
// These IDs show when they were made, and about how many there are. For IDs that show nothing see the package
// randflake.
package snowflake
