// Package numbers makes the numbers that people read: of orders, invoices and tickets, with a date, a fixed width and
// a check digit, from any number of processes, and encrypted where nobody shall see how many there are.
//
//	counters := counter.On(space)
//	orders, err := numbers.Open(ctx, counters, "orders", "ORD-{date:20060102}-{n:6}{check:luhn}",
//		numbers.WithLocation(berlin))
//	number, err := orders.Next(ctx) // ORD-20261122-0000012
//	number, err = orders.Parse("ORD-20261122-0000012") // of the period "2026-11-22", number 1
//
// Numbers are taken from counters of package counter, which take blocks of them: so Next takes them from memory, each
// is given once, and some are left out, when a process crashes or two share a period. For numbers without gaps see
// package counter/gapless. For encrypted IDs of 64 bits see package mask: numbers are for what people read and type.
//
// # Patterns
//
// A pattern is text with fields in braces, each of them once at most:
//
//   - {n:6} is the number in six digits, 000001 to 999999; after the last one comes an error, never a longer number.
//     {n} takes as many digits as it needs. {n:8:crockford} is in digits and capitals without I, L, O and U,
//     {n:8:consonants} is without A and E too, so that it spells no word, and {n:8:0123456789abcdef} is in an alphabet
//     of one's own: 10 to 64 printable ASCII characters. There is always one.
//   - {date:20060102} is the date as package time lays it out, from 2006, 06, 01, 02 and 002, with - . / _ or spaces
//     between.
//   - {check:luhn} is a check digit over all letters and digits before it: luhn, mod11-2, mod11-10, of digits, and
//     mod97-10 (two digits), mod37-2 (a digit, capital or *), mod37-36 (a digit or capital), of digits and capitals.
//     They find each wrong digit, and most exchanges of two.
//
// # Periods
//
// What the date shows decides when numbers begin at 1 again: each day, month or year, or never where there is no date;
// [WithPeriod] makes that less often than the date changes. Each period has a counter of its own, and the clock only
// says which one to take from, together with the date to print. So a clock that steps back over midnight makes late
// numbers of the day before, and no number is made twice or for two days. A day begins when the zone's calendar says
// so, in days of 23 and 25 hours and without a midnight too.
//
// The system's clock is asked once a second, so the first milliseconds of a day may pass for the day before, and a call
// that takes its number just before midnight may return after it. When a period is over, what a process holds
// of its numbers is given back a minute later, or with [Series.Close].
//
// # When the store loses data
//
// A counter that was there and lost data refuses until a person says where to go on, or jumps ahead if it has a rate:
// [WithCounter] and counter.WithRate. Counters of periods that begin later are made as ever, as nobody can have taken
// from them; that is why clocks must be right to a quarter of an hour. A process whose clock is further off from that
// of the space gets no counter, but an error that wraps store.ErrClock. A space that was not created for a new secret
// passes for one that lost data when it was created.
//
// # Encrypted numbers
//
// [Encrypted] encrypts the number within its width, by FF1 (package ff1): ORD-20261123-000001 becomes
// ORD-20261123-961689, and Parse gives 1 back. Every period has a permutation of its own. Two texts tell nothing of
// how many numbers were made between them, nor does the largest of many tell how many there are. What still shows: the
// date, and that two numbers are not the same.
//
// Encryption hides; it does not authenticate. A made-up text opens to some number, if its check digit is right: look up
// whether there is one. And whoever may make many numbers sees how many texts fit into the width, of which a share is
// in use: in a nearly full period guesses hit.
package numbers
