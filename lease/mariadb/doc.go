// Package mariadb keeps a store in a database of MariaDB 10.6 or later, or MySQL 8.0 or later. It was tested
// with MariaDB 10.11; for MySQL it goes by the manual.
//
//	s, err := mariadb.Open(ctx, "mysql://app:password@db.example.com:3306/app?tls=true")
//
// The URL takes space=NAME, recovery=trusted, which is [store.TrustRecovery], table=NAME, "randflake_entries" without, ca=FILE,
// cert=FILE and key=FILE for TLS, and what the driver knows, as timeout=5s, in which a connection must be ready; it is 10s by default. The database must be there; Create makes the table.
// The user needs SELECT, INSERT and UPDATE on it, DELETE to prune counters, and CREATE to make it; the server, max_allowed_packet=16M. Each call is one
// transaction and one round trip, made again when the server gave it up for a deadlock or a lock it waited for too long.
// Refused are a read-only server, a table that is not InnoDB's, innodb_flush_log_at_trx_commit other than 1, sync_binlog other
// than 1 where there is a binary log, and innodb_doublewrite=OFF; when first seen, also Galera and group replication, whose
// locks hold on one node only, a disabled redo log, and a running replica where MariaDB tells.
//
// The lineage is made of server_id, MySQL's server_uuid, the second in which the table was made or last altered, and the
// transactions that the server took over as a replica: gtid_slave_pos, or in MySQL what is not its own in gtid_executed, nor
// tagged. So it changes when a dump is restored, a replica is promoted, and when the old primary comes back as a replica and is
// promoted in turn; in MySQL the last shows only with gtid_mode=ON. MariaDB also shows that the table's files were copied.
//
// The position is the number of swaps that took effect; only they tell it. It is lower in any older copy, until that took as
// many. Nothing else shows older rows put back into the same table, an older snapshot of the volume, or in MySQL older files.
// Nothing shows a copy of the server that runs beside the original, nor an old primary that goes on. With recovery=trusted no
// failover may lose what was acknowledged, as asynchronous replication does, and semisynchronous once it has timed out.
package mariadb
