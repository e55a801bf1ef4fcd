// Package pgstore is a lease store in a PostgreSQL database, version 15 or later.
//
//	store, err := pgstore.Open(ctx, "postgres://app:password@db.example.com/app?sslmode=verify-full")
//	if errors.Is(err, lease.ErrNoStore) {
//		store, err = pgstore.Create(ctx, url) // once; see there before this goes into a program
//	}
//
// The store is two small tables and some functions in a schema of their own, by default
// "randflake". Create makes them, or whoever may runs what [DDL] returns, and then Create adds what is
// missing; DDL also says which privileges a role needs that only leases nodes.
//
// # URL
//
// The URL is libpq's, with all that pgx understands, such as several hosts, sslmode and
// pool_max_conns, and with two parameters more:
//
//   - schema=NAME: the schema that holds the store.
//   - recovery=trusted: see below.
//
// # What it promises
//
// A method that returns without an error has its effect on disk, and on the standbys that
// synchronous_standby_names wants, unless an administrator cancels a commit that waits for them: each
// transaction turns synchronous_commit on if role, database or server have it off or local. Each call
// is one statement, one transaction and one round trip, on a connection that has not been idle for
// more than a second; others are pinged first. The first lease on a range, and any where fitting
// ranges are scarce, is granted in turn, one commit after another.
//
// It keeps no state in the session, so that PgBouncer may stand between, also in transaction mode.
// Times are the server's. Acquire reads all records, which counts from some ten thousand ranges on.
//
// Refused are fsync=off, full_page_writes=off, unlogged tables, standbys, and roles whose
// transactions are by default read-only or not read committed. The server checks that in each call.
//
// # Data that is lost, or goes back in time
//
// A store that forgets a lease could grant it twice. So a store that lost data grants nothing
// that starts before [lease.Rules.NotBefore], and renews no lease that does: by then every
// forgotten lease has ended. It sets this floor, durably and before it decides anything else, when
//
//   - the store is new, unless it was created with [ForNewSecret];
//   - the tables are of another cluster or database than before, or were restored from a dump;
//   - the server's timeline changed: a standby was promoted, or the server was recovered to some
//     point. What an asynchronous standby lacked is lost then. The word recovery=trusted says that a
//     failover never loses a commit, as with synchronous standbys where nobody cancels a commit that
//     waits for one, and drops this one check;
//   - a Store finds the server's log at an earlier position than that of the last write that was
//     acknowledged to it, the record of a lease at an earlier version or missing, or another store
//     in place of its own, whose limits may be narrower: the wider ones count;
//   - records are missing when it is about to make a new one.
//
// A plain restart, also after a crash, loses nothing and is trusted.
//
// What no store can notice is an older copy of the files that is put back on the same timeline,
// unless a process still runs that had seen more, or older rows that are put back into the same
// tables, unless the holder of a lease had seen more. After that, and after pg_resetwal, call
// [Store.Distrust] before anything else. Nor can it notice a copy of the files that runs beside the
// original: no program may lease nodes there.
//
// A primary that was replaced and does not know it yet goes on granting leases, which the new one
// knows nothing of ("split brain"), unless its commits wait for the standby that it lost. The floor of the
// new one outlasts them only if the old one stops within MaxSkew.
package pgstore
