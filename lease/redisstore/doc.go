// Package redisstore keeps leases in Redis 7.0 or newer, or in what speaks its protocol and scripts as
// well, as Valkey.
//
//	url := "rediss://app:password@redis.example.com:6379"
//	store, err := redisstore.Open(ctx, url)
//	if errors.Is(err, lease.ErrNoStore) {
//		store, err = redisstore.Create(ctx, url) // once; see there before this goes into a program
//	}
//
// Acquire, Renew, Lookup and Release are one script each, which decides and writes in one atomic step,
// by the server's time; they take one round trip and one commit.
//
// # What Redis must be like
//
// A store is refused, by the setting's name, unless the server has
//
//	appendonly yes                  in its configuration file, not switched on a moment ago
//	appendfsync always              a reply is sent when the change is on disk
//	no-appendfsync-on-rewrite no
//	maxmemory-policy noeviction
//
// and is a primary. Each call asks for the settings again, with the same request. Where CONFIG is
// forbidden, as with managed services, settings=trusted in the URL takes the user's word for all four. The
// other commands that a user needs are EVAL, EVALSHA, INFO, TIME, PERSIST, EXISTS, HLEN, HGET, HMGET,
// HGETALL, HSET, ZCARD, ZRANGE, ZADD, ZREM, MULTI, EXEC and WAIT, on the keys {randflake}:*.
//
// While appendonly is switched on in a running server, Redis is not durable before its first
// rewrite of the file is done, and does not tell: wait for that before the store is used.
//
// # Restarts and failovers
//
// After a restart or a failover Redis can't say what it has forgotten. So whenever another server, or
// another run of it, has the data, or the server was another's replica since, nothing is granted that
// starts before [lease.Rules.NotBefore], and leases from before can't be renewed: they are good up to
// their end. By the default rules a restart of Redis thus stops new leases for eleven minutes, and
// generators, whose leases are five minutes long, for more than half of that. In a cluster the same
// happens when the slot moves to another server.
//
// recovery=trusted in the URL spares that: it is the user's word that Redis never comes back without
// something that it acknowledged. That is so for one server with the settings above, on a disk that
// keeps what is synced, as long as nobody puts older files back. It is not so with failovers, unless WAIT
// and the choice of the new primary see to it, which neither Sentinel nor Cluster promise. All handles on a
// store should agree on it.
//
// Whatever the URL says, a handle that has seen a newer state of the store notices an older one, as it
// notices that the keys are gone or are another store's, before it grants or renews anything; it then
// sets the same bound. What nobody can notice, with recovery=trusted, is an older copy that comes back
// while no handle is open, or that has been changed more often than the lost one by the time a handle looks
// again. After a backup was restored call [Store.Distrust].
//
// durability=everysec accepts appendfsync everysec: a crash may then undo the last second, and the bound
// after each restart makes up for it, so that it can't be had with recovery=trusted.
//
// # Replicas
//
// With replicas=N each call waits until N replicas have the change in memory, and fails with its outcome
// unknown when they don't say so in time. Without it, one must if any is connected when the store is
// opened. Then a call that has fewer replicas than it needs fails, for safety's sake: replicas=0 prefers to go on.
//
// A primary that was replaced and does not know it yet goes on granting leases, which the new one knows nothing
// of ("split brain"). The bound of the new one outlasts them only if the old one stops within MaxSkew. Let
// replicas= be the number of all replicas, so that the one that was promoted is missed at once, and set
// min-replicas-to-write to the same, so that the old primary writes nothing for naught.
//
// # What is in the keys
//
// Four keys, {randflake}:meta, :ranges, :ages and :released; prefix= in the URL names others, and
// step.lua tells what they hold. They never expire: an expiry that somebody sets is taken back. Keys of
// another kind or with values that make no sense are refused with lease.ErrCorrupt, and never
// overwritten. Each range takes about 250 bytes.
package redisstore
