// Package snowflake makes unique 64-bit IDs that sort by time.
//
// An ID is a few fields side by side: the time, fixed numbers such as that of the worker, and a
// sequence number. A [Layout] defines the order and the width of these fields. [Twitter] is the
// best-known layout. [ParseLayout] returns it and others by name, such as "discord", and those of
// your own from text. [Layout.Inspect] opens IDs.
//
// A [Generator] makes the IDs of one worker. If you assign worker numbers yourself, from a
// configuration or the ordinal of a pod, it needs no store:
//
//	generator, err := snowflake.New(snowflake.Twitter(), snowflake.Forever(7))
//	id, err := generator.Generate()
//
// Then no two processes may ever have the same number; that includes a process and its successor
// after a restart: see [Forever]. [Keep] instead leases worker numbers from a space. So no two
// generators ever use the same number in the same second, whatever clocks and processes do:
//
//	space, err := url.Open(ctx, "file:leases", lease.Config{}) // of package lease/url
//	keeper, err := snowflake.Keep(ctx, space, snowflake.Twitter())
//	id, err := keeper.Generator().Generate()
//	err = keeper.Close()
//
// # Time
//
// Generate and Fill return at once, with IDs or one of this package's errors. Wait and FillWait wait, first
// come, first served, for the next millisecond if the present one is used up, and for a clock that stepped
// back. [RunAhead] and [StepBack] avoid the wait, but times in IDs may then be early or out of order. [Keep]
// continues as another worker if the clock stepped back by more than 15 ms. IDs stay unique in all these cases.
//
// [Layout.Range] turns an interval of time into one of IDs, so that a primary key also serves as an
// index by time.
//
// Every layout runs out of times at some date: see [Layout.Expires].
//
// # Text
//
// IDs are decimal in text and in JSON, where they are strings. If IDs have to be exact as
// JavaScript numbers, use the layout javascript53. They are parsed strictly.
//
// These IDs reveal when they were made, and about how many there are. For IDs that reveal neither,
// see package randflake.
package snowflake
