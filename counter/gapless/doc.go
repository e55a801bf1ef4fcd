// Package gapless makes numbers without gaps, as invoices need them. It takes them within the
// caller's own transaction in PostgreSQL, MySQL or MariaDB: a number is used if and only if that
// transaction commits.
//
//	n, err := gapless.Postgres(tx).NextOrCreate(ctx, "invoices/2026", 1, 999_999) // tx is an *sql.Tx
//	_, err = tx.ExecContext(ctx, "INSERT INTO invoices (number, customer) VALUES ($1, $2)", n, customer)
//	err = tx.Commit()
//
// [Pgx] is for transactions of pgx, and [MySQL] for MySQL and MariaDB. Number, a method of Format
// in package numbers, makes INV-2026-000042 of a number.
//
// # Tables
//
// A counter is a row in the same database as the invoices, so a backup restores both together.
// Create the table of counters in a migration, with [PostgresDDL] or [MySQLDDL]. In your own
// table make the column of the numbers UNIQUE:
//
//	CREATE TABLE invoices (number BIGINT NOT NULL UNIQUE, customer TEXT)
//
// # What it costs
//
// Taking a number locks its counter until the transaction ends. So transactions on one counter run
// one after the other, including the flush of each commit:
//
//   - Take the number as late as you can. Don't wait for a user or a service in a transaction that
//     has taken one.
//   - Take numbers of several counters in the same order everywhere. Otherwise two transactions may
//     deadlock, and the server ends one of them.
//
// If a transaction is rolled back, or lost with its connection, the next one gets its number.
//
// # Errors of the server
//
// If a transaction fails with a deadlock or a serialization error, run it again as a whole.
// Serialization errors happen under REPEATABLE READ and SERIALIZABLE to the second of two
// concurrent transactions: in PostgreSQL (SQLSTATE 40001), and in MariaDB (error 1020) with
// innodb_snapshot_isolation, which is on by default from 11.6.2. READ COMMITTED avoids them. With
// binlog_format=STATEMENT, MySQL and MariaDB refuse writes under READ COMMITTED with error 1665:
// set MIXED or ROW.
//
// # When numbers repeat
//
//   - In MySQL and MariaDB a deadlock ends the transaction. If the program ignores that error of a
//     statement of its own, the server commits the next statements one by one, and the next
//     transaction gets the same number.
//   - Two primaries that replicate to each other asynchronously take the same numbers.
//   - After a failover that loses commits, the numbers of the lost invoices are taken again.
package gapless
