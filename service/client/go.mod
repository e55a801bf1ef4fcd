module github.com/randflake/randflake/service/client

go 1.26.0

require (
	connectrpc.com/connect v1.21.1
	github.com/randflake/randflake v0.1.0
	golang.org/x/sync v0.24.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/randflake/randflake => ../..
