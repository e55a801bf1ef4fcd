// Package snowflake makes unique 63-bit IDs that sort by time.
//
// An ID is a few fields side by side: the time, fixed numbers such as that of the worker, and a
// sequence number. A [Layout] says which fields and how wide. [Twitter], [Discord], [Sonyflake] and
// others are there; [NewLayout] makes one's own; [Layout.Inspect] opens the IDs of either.
//
// A [Generator] makes the IDs of one worker. Whoever gives out the worker numbers by hand, from a
// configuration or the ordinal of a pod, needs no store:
//
//	generator, err := snowflake.New(snowflake.Twitter(), snowflake.Forever(7))
//	id, err := generator.Generate()
//
// It is then up to them that no two processes ever have the same number, one that was started anew
// included: see [Forever]. [Keep] leaves that to a lease store, which grants worker numbers for a while, so that
// no two generators share both a number and a second, whatever clocks and processes do:
//
//	store, err := filestore.Open("leases")
//	keeper, err := snowflake.Keep(ctx, lease.On(store), snowflake.Twitter())
//	id, err := keeper.Generator().Generate()
//	err = keeper.Close()
//
// # Time
//
// What a generator does when a millisecond has no ID left, and when the clock steps back, is its
// policy: see [WaitNext], [RunAhead], [HoldUnit], [WaitBack] and [StepBack]. None of them costs
// uniqueness; they differ in how long a call may take, and in how late or early the time in an ID
// may be.
//
// [Layout.Range] turns an interval of time into one of IDs, so that a primary key also serves as an
// index by time.
//
// Every layout ends some day. [Layout.Lifetime] warns of it five years ahead.
//
// # Text
//
// IDs are decimal in text and in JSON, where they are strings; [JavaScript53] is the layout for those
// who need them to be exact as JavaScript numbers. Base32, Base58 and Base62 are shorter and sort as
// IDs do. All forms parse strictly.
//
// These IDs show when they were made, and about how many there are. For IDs that show nothing see
// the package randflake.
package snowflake
