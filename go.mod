module github.com/randflake/randflake

go 1.26.0

require (
	github.com/klauspost/cpuid/v2 v2.4.2
	golang.org/x/sys v0.47.0
)

require github.com/minio/asm2plan9s v0.0.0-20200509001527-cdd76441f9d8 // indirect

tool github.com/minio/asm2plan9s
