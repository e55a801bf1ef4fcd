// Package numbers makes numbers that people read, for orders, invoices and tickets: with a date, a fixed width and a
// check digit, in any number of processes. It can encrypt them, to hide how many there are.
//
//	counters := counter.On(space)
//	orders, err := numbers.Open(ctx, counters, "orders", "ORD-{date:20060102}-{n:6}{check:luhn}",
//		numbers.WithLocation(berlin))
//	number, err := orders.Next(ctx) // ORD-20261122-0000012
//	number, err = orders.Parse("ORD-20261122-0000012") // number 1 of the period "2026-11-22"
//
// The numbers come from counters of package counter, which take them in runs. So Next returns numbers from memory, and
// returns each number once. Some numbers are left out if a process crashes or if several processes share a period. For
// numbers without gaps see package counter/gapless. For encrypted 64-bit IDs see package mask; the numbers here are for
// people to read and type.
//
// # Patterns
//
// A pattern is text with fields in braces. Each field occurs at most once:
//
//   - {n:6} is the number in six digits, 000001 to 999999; after the last one comes an error, never a longer number.
//     {n} has as many digits as the number needs. {n:8:crockford} is in digits and capitals without I, L, O and U.
//     {n:8:consonants} is without A and E too, so that it spells no word. {n:8:0123456789abcdef} is in an alphabet of
//     your own: 10 to 64 printable ASCII characters. A pattern must have this field.
//   - {date:20060102} is the date in a layout of package time, made of 2006, 06, 01, 02 and 002, with - . / _ or spaces
//     between.
//   - {period} is the name of the period, such as 2026-W47, 2026-Q4 or FY2027: see below.
//   - {check:luhn} is a check digit over what is before it: all digits, and letters if the system has them. For digits there are luhn, mod11-2
//     (a digit or X), mod11-10 and mod97-10 (two digits); for digits and capitals there are mod37-2 (a digit, capital
//     or *) and mod37-36 (a digit or capital). They detect every wrong character. Of two neighbors that are exchanged,
//     luhn and mod11-10 miss 2.2%, mod37-36 misses up to 0.6%, the others none.
//
// # Periods
//
// The date in the pattern decides when numbers begin at 1 again: each day, month or year, or never if there is no date.
// [WithPeriod] makes that less often than the date changes, and has weeks, quarters and fiscal years, too. Each period has a counter of its own. The clock only
// selects the counter and the date to print. So a clock that steps back over midnight makes more numbers of the day
// before, but no number is made twice or with two dates. A day begins according to the zone's calendar, also if it has
// 23 or 25 hours or no midnight.
//
// The system's clock is read once a second, so numbers made in the first milliseconds of a day may have the date of the
// day before, and a call that takes its number just before midnight may return after midnight. A process gives back its
// unused numbers of a period a minute after the period ends, or in [Series.Close].
//
// # When the store loses data
//
// A counter that existed before the space lost data jumps ahead if it has a rate (see [WithCounter] and
// counter.WithRate). Otherwise it returns errors until an operator says where to continue. Counters of periods that
// begin later are created as usual, as no number can have been taken from them. That is why clocks must be right to a
// quarter of an hour: a process whose clock differs more from that of the space gets an error that wraps
// store.ErrClock. A space that was not created for a new secret is treated as if it had lost data when it was created.
//
// # Encrypted numbers
//
// [Encrypted] encrypts the number within its width, by FF1 (package ff1): ORD-20261123-000001 becomes
// ORD-20261123-961689, and Parse gives 1 back. Every period has a permutation of its own. Two texts don't reveal how
// many numbers were made between them, and the largest of many texts doesn't reveal how many numbers there are. The
// date is still visible, and whether two numbers are the same.
//
// Encryption hides; it does not authenticate. A made-up text with the right check digit opens to some number: look up
// whether that number was made. The width limits how many texts there are, so in a nearly full period most guesses hit
// a number in use.
package numbers
