module github.com/randflake/randflake/lease/mariadb

go 1.26.0

require (
	github.com/go-sql-driver/mysql v1.10.1
	github.com/randflake/randflake v0.1.0
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/randflake/randflake => ../..
