module github.com/randflake/randflake/ulid

go 1.25.0

require (
	github.com/oklog/ulid/v2 v2.1.2
	github.com/randflake/randflake v0.1.0
)

replace github.com/randflake/randflake => ../
