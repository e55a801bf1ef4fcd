// Not a module, so that those who use the protocol do not get these: the plugins of protoc, by go tool -modfile.
module github.com/randflake/randflake/service/client/api

go 1.26.0

tool (
	connectrpc.com/connect/cmd/protoc-gen-connect-go
	google.golang.org/protobuf/cmd/protoc-gen-go
)

require (
	connectrpc.com/connect v1.21.1
	google.golang.org/protobuf v1.36.12
)
