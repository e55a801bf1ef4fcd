// Package numbers makes numbers that people read, for orders, invoices and tickets: with a date, a
// fixed width and a check digit, in any number of processes. It can encrypt the numbers, to hide
// how many there are.
//
//	counters := counter.From(space)
//	pattern := "ORD-{date:20060102}-{n:6}{check:mod97-10}"
//	orders, err := numbers.Open(ctx, counters, "orders", pattern, numbers.WithLocation(berlin))
//	number, err := orders.Next(ctx) // ORD-20261122-00000170
//	number, err = orders.Parse("ORD-20261122-00000170") // number 1 of the period "2026-11-22"
//
// The numbers come from a counter of package counter, which takes them in runs. So Next returns
// numbers from memory, each once. Some are left out if a process crashes or if several processes
// share a period. For numbers without gaps see package counter/gapless, and for encrypted 64-bit
// IDs package mask.
//
// # Patterns
//
// A pattern is text with fields in braces. Each field occurs at most once, and {n} must occur:
//
//   - {n:6} is the number in six digits, 000001 to 999999. After the last one comes an error, never
//     a longer number. {n} has as many digits as the number needs.
//   - {n:8:crockford} is the number in digits and capitals without I, L, O and U. {n:8:consonants}
//     is without A and E too, so that it spells no word. {n:8:0123456789abcdef} is in an alphabet
//     of your own: 10 to 64 printable ASCII characters, each once.
//   - {date:20060102} is the date in a layout of package time, made of 2006, 06, 01, 02 and 002,
//     with - . / _ or spaces between.
//   - {period} is the name of the period, such as 2026-W47 or FY2027. A date beside it must show at
//     least as much.
//   - {check:mod97-10} is two check digits over all digits before it, {check:mod11-2} a digit or X
//     over these, and {check:mod37-2} a digit, capital or * over all digits and capitals. They
//     detect every wrong character, and every exchange of two neighbors.
//
// # Periods
//
// The date in the pattern decides when numbers begin at 1 again: each day, month or year, or never
// if there is no date. [WithPeriods] makes that less often than the date changes, and has weeks,
// quarters and fiscal years, too.
//
// The numbers of a name have one counter. It starts again with each period, and never goes back to
// an earlier one, so no number is made twice. A process whose clock is still in the period before
// waits while the border between the two is within a minute, and otherwise gets errors that wrap
// lease.ErrClock.
//
// A day begins by the zone's calendar, also if it has 23 or 25 hours or no midnight. In the first
// milliseconds of a day, numbers may have the date of the day before.
//
// # When the store loses data
//
// After a loss of data a series refuses, as its counter does, until an operator sets the counter or
// until a period begins that is later than all that was lost.
//
// # Encrypted numbers
//
// [Encrypted] encrypts the number within its width, by FF1 of NIST SP 800-38G: ORD-20261123-000001
// becomes ORD-20261123-961689, and Parse gives 1 back. Every period has a permutation of its own.
// Two texts don't reveal how many numbers were made between them, nor the largest of many how many
// there are. The date is still visible. Encryption hides; it does not authenticate: see
// [Format.Parse].
package numbers
