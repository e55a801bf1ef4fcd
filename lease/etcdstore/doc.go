// Package etcdstore is the lease store on etcd v3.
//
//	store, err := etcdstore.Open(ctx, "etcd://user:password@host1:2379,host2:2379/?prefix=/ids/")
//
// The URL lists members of one cluster, with the port 2379 where none is given. With etcds://
// the client speaks TLS. What is special in user and password is percent-encoded. The
// parameters:
//
//	prefix        where the store's keys are, ends with a slash; /randflake/ by default
//	ca            file with the certificates, in PEM format, that the servers' must be signed by; the
//	              system's by default
//	cert, key     files with the client's certificate and key
//	server-name   the name in the servers' certificates, if it is not the one in the URL
//	dial-timeout  how long to wait for a connection; 5s by default
//	recovery      "trusted": see below
//
// With authentication on, the user needs to read and write the range of keys under the prefix
// and nothing else.
//
// # What it promises
//
// Every change is one transaction that compares what is stored with what is assumed. When a
// method returns without an error, a majority of the cluster has the change on disk; Lookup,
// List and Limits are linearizable reads, so that they see nothing less. An error that is none
// of package lease's leaves the outcome of Acquire, Renew and Release open. No write that may have
// arrived is sent again. While etcd can't be reached a method waits until its context is done.
//
// Renew, Lookup and Release take one round trip, Acquire two, and one more each time that
// somebody else was faster. Acquire reads all records, of which there is one for each range ever
// granted, about 100 bytes each.
//
// # Clocks
//
// etcd has no clock to go by. The present is what the clock of this process says, when it calls.
// As everywhere in this module clocks never decide whether IDs are unique, but here a process
// with a wrong clock serves itself and others badly: one that is ahead takes ranges whose lease
// has not ended yet and gets leases that begin after it; one that is far ahead marks ranges so
// that nobody else can use them. After a loss of data, leases are forgotten that were granted by
// the clocks of all processes, so none of them may be off by more than MaxSkew then.
//
// # Data that is lost, or goes back in time
//
// A store that forgets a lease could grant it twice. So a store that lost data grants nothing
// that starts before [lease.Rules.NotBefore], when every forgotten lease has ended.
//
//   - A new store can't be told from one that was lost, so Create sets this floor, unless told
//     [ForNewSecret].
//   - A Store remembers what it saw. If the store's rules or the key that changed last are missing
//     later, another store is in their place, etcd's revision or that of this key is lower than it
//     was, or a holder knows a higher version of its record, then the next Acquire, Renew, Lookup
//     or Release through this Store sets the floor before it answers.
//   - The store remembers the id of its cluster. A Store that finds itself in another one,
//     because a snapshot was restored into a new cluster or keys were copied, sets the floor
//     too. The parameter recovery=trusted is the user's word that etcd never comes back without
//     something that it acknowledged, and turns this one check off.
//   - Once there is a floor, Renew fails with lease.ErrLost for each lease that starts before
//     it, for somebody else may hold that range in the history that was lost. What was granted
//     stays usable up to its end. Release still works: it can only lower a mark, and what is
//     granted next starts at the floor or later.
//
// What no store can notice is an older copy that comes back in a cluster with the same id, until a
// process that saw the newer state uses the store: when the data directory of a cluster of one member
// is replaced by an older one, or a snapshot is restored with the names, peer URLs and
// --initial-cluster-token that the cluster had. With etcdutl's --bump-revision running processes
// know a restore only by the changes of this store that they saw. After each restore call
// [Store.Distrust] before any process uses the store, or give the new cluster another token.
//
// # How to run etcd
//
//   - Release 3.5.5 or newer; Open refuses older ones, which may lose what they acknowledged.
//   - Never with --unsafe-no-fsync: then etcd acknowledges what is not on disk. It does not tell
//     its clients, so Open can't refuse it.
//   - With three members or five. One member is as good as its disk, and while it restarts no
//     lease is renewed.
//   - With compaction (--auto-compaction-retention), or each renewal adds to the data for good.
//     When the space quota is used up, etcd refuses all writes (NOSPACE) until it was compacted
//     and the alarm disarmed; that costs availability and loses nothing.
package etcdstore
