// Package filestore is the embedded lease store: a directory that many processes of one machine
// may share.
//
//	dir := "/var/lib/app/leases"
//	store, err := filestore.Open(dir)
//	if errors.Is(err, lease.ErrNoStore) {
//		store, err = filestore.Create(dir) // once; see there before this goes into a program
//	}
//
// The directory must lie on a local disk. Network file systems may not honour locks or fsync.
//
// # What it promises
//
// A method that returns without an error has its effect on disk: it wrote the whole state to a
// temporary file, synced it, renamed it over the old one and synced the directory, all under an
// exclusive lock. A crash at any moment leaves the state before or the state after. When a method
// fails while it writes, the outcome is unknown, and the lease that it was about must be read
// back with Lookup, which makes what it finds durable first. A context bounds how long a method
// waits for the lock; a write that has begun is finished.
//
// A file that is damaged, or that belongs to another store, is refused and never repaired or
// overwritten.
//
// # Data that is lost, or goes back in time
//
// A store that forgets a lease could grant it twice. So a store that lost data grants nothing
// that starts before [lease.Rules.NotBefore], when every forgotten lease has ended, provided that
// it was granted by a clock that was right to within MaxSkew.
//
//   - A new store can't be told from one that was lost, so Create sets this floor, unless told
//     [ForNewSecret].
//   - A Store remembers the newest state that it saw. If it later finds another store in the
//     directory, or an older or different state, because a copy was put back, its next Acquire,
//     Renew, Lookup or Release sets the floor, on disk and for all processes, before it does
//     anything else.
//   - Once there is a floor, Renew fails with lease.ErrLost for each lease that starts before it, for
//     somebody else may hold that range in the history that was lost. What was granted stays
//     usable up to its end. Release still works: it can only lower a mark, and what is granted
//     next starts at the floor or later.
//
// What no store can notice is an older copy of the directory that is put back while no process
// has it open, as when the machine is restored from a backup, or one whose revisions have overtaken the
// lost ones by the time a process looks again. Then call [Store.Distrust] before anything else uses the
// directory.
package filestore
