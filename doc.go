// Package randflake makes unique 64-bit IDs that look random.
//
// An ID is the encryption of (second, node, sequence) under a secret key. The cipher, SPARX-64/128,
// is a permutation of the 64-bit values, so distinct triples give distinct IDs without asking a
// database. IDs reveal neither order, date nor count; the secret opens them again.
//
//	secret, err := randflake.ParseSecret(os.Getenv("RANDFLAKE_SECRET"))
//	engine, err := file.New("leases")
//	space, err := lease.Open(ctx, engine, lease.Config{}) // made by lease.Create or randflake store init
//	keeper, err := lease.Keep(ctx, space, secret)
//	id, err := keeper.Generator().Generate()
//
// # Uniqueness
//
// A [Generator] makes IDs under a [Lease]: a range of nodes for an interval of seconds. Under one
// lease it hands out no triple twice, whatever goroutines and clocks do; and leases that do not
// share both a node and a second never give the same ID under one secret. What counts is the second
// that is written into an ID, not the moment at which it is written. So a wrong clock, a process
// that slept or a late message can cause an error, but not a duplicate. Package lease takes such
// leases, one window after another. One second of a lease, with what processors claim of it, is
// drawn at https://github.com/randflake/randflake/blob/main/docs/second.svg
//
// If the next ID can't be proven unique, Generate returns an error at once: ErrExhausted,
// ErrLeaseNotStarted, ErrLeaseEnded, ErrClockBackward, ErrEndOfLife or ErrClosed. Wait and FillWait
// wait where that helps, first come, first served.
//
// # Limits
//
// One node makes 131,072 IDs a second at most; a lease can cover up to 131,072 nodes. The second in
// an ID may be late: by a millisecond or two as a rule, and on a loaded machine by as long as a
// thread of the process waits for a processor. The format ends at 2058-11-05 17:10:23 UTC.
//
// An ID is not authenticated: any 64-bit value opens to something, and [Fields.Within] tells
// whether that is plausible. IDs of two secrets may collide; [Secret.Derive] makes a secret for
// each ID space from a master secret. The clone of a running virtual machine has the same leases,
// and repeats the original's IDs until they end, unless Linux announces the copy.
//
// # Speed
//
// The cipher runs on AVX-512, AVX2, NEON or SVE2, whichever the machine has, or in plain Go; see
// [Backend]. Fill is the fastest way to make many IDs at once. The build tag purego leaves out
// assembly and everything that relies on the runtime's internals.
//
// A generator made in a testing/synctest bubble uses the bubble's time; any other one uses the
// system clock, also when a bubble calls it. A call recognizes a bubble by a detail of time.Now.
// Should a new Go change that, the build tag uncached does without it: each call asks time.Now,
// which takes several times as long as making an ID.
//
// # Related packages
//
//   - [github.com/randflake/randflake/lease/local] makes IDs on one machine without any setup.
//   - [github.com/randflake/randflake/lease] grants leases on any store, and keeps them for a generator.
//   - [github.com/randflake/randflake/mask] stores a sortable ID and shows an encrypted one.
//   - [github.com/randflake/randflake/snowflake] and [github.com/randflake/randflake/ulid] make IDs that sort by time.
//   - [github.com/randflake/randflake/counter/numbers] makes the numbers that people read, of orders and invoices.
//   - [github.com/randflake/randflake/lease/randflaketest] makes IDs for unit tests.
package randflake
