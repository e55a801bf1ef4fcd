// Package ulid makes ULIDs: 128-bit IDs with a time in milliseconds (48 bits) and 80 random bits
// (https://github.com/ulid/spec). Their text has 26 characters and sorts by time. They need no
// lease and no node, and anyone can read their time.
//
//	generator, err := ulid.New()
//	id, err := generator.Generate()
//
// An [ID] can be converted to the type of github.com/oklog/ulid/v2 and back: ulid.ID(theirs). The package has
//
//   - a [Generator] with entropy from crypto/rand, which goroutines share without waiting for each other,
//     or with one order for all of them ([Strict]);
//   - strict text, JSON and SQL forms, and [Inspect] and [Compose];
//   - the form of a UUID ([FormatUUID], [ParseUUID]), and UUIDs of version 7 ([Version7]).
//
// Package objectkey names objects in an object store by ULID, and finds the objects of a time interval.
//
// # How IDs are made
//
// Each call of a generator takes a state out of a pool, so calls don't wait for each other. A state
// starts each millisecond at 80 bits from crypto/rand. Each further ID of the millisecond is the
// last one plus a random number from 1 to 2^32. Each state reads 512 random bytes ahead, and erases
// them once they are in an ID.
//
// # How unique they are
//
// IDs of one state differ because they grow within a millisecond, or because their times differ.
// Two IDs of the same millisecond but from different starts are equal with probability 2^-80, as
// starts are random and independent. So among n IDs of a millisecond, in any number of processes,
// the probability of a repeat is below n²/2^81. At ten million IDs a second for a year, that adds up
// to one in 760,000.
//
// A clone of a running virtual machine has the random bytes that the original read ahead. If it has
// a VMClock device (/dev/vmclock0, readable for this process), it drops them and starts again;
// otherwise both may make the same IDs until these bytes are used up.
//
// # In which order they are
//
// The IDs of one call of Fill grow, and so do IDs of different milliseconds while the clock does not
// step back. Those of different calls within a millisecond have no order. With the option [Strict]
// all IDs grow. Without it, IDs follow a clock that steps back.
//
// A state has no room left above its newest ID with a probability of n/2^49 after n IDs of a
// millisecond, which is 2^-36 for 10,000 IDs. (With Strict, n counts all IDs while the clock is
// behind the newest millisecond.) It then starts again at 80 bits from crypto/rand: with Strict in
// the next millisecond, otherwise in the same one, so that a smaller ID follows.
//
// # How hard they are to guess
//
// From one ID, the previous or next ID of the same state and millisecond can be guessed with
// probability 2^-32. IDs of other milliseconds and other states have no relation to it. That is not
// enough for a secret token: for that, take 128 bits from crypto/rand.
//
// # Which time they have
//
// The time in an ID is the system clock's, cached in a word that a timer sets each millisecond while
// IDs are made. It can be late, usually by a millisecond or two, and by more on a loaded machine. It
// is early only if the clock stepped back just before. An ID made after a pause of some milliseconds
// has the exact time.
package ulid
