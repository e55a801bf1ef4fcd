module github.com/randflake/randflake/bench

go 1.26.0

replace github.com/randflake/randflake => ..

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/bwmarrin/snowflake v0.3.0
	github.com/davecgh/go-spew v1.1.1
	github.com/google/uuid v1.6.0
	github.com/klauspost/cpuid/v2 v2.4.2
	github.com/oklog/ulid/v2 v2.1.2
	github.com/randflake/randflake v0.1.0
	github.com/rs/xid v1.6.0
	github.com/segmentio/ksuid v1.0.4
	github.com/sony/sonyflake v1.3.0
	github.com/speps/go-hashids/v2 v2.0.1
	github.com/sqids/sqids-go v0.4.1
)

require (
	golang.org/x/sys v0.47.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)
