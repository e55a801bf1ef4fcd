module github.com/randflake/randflake/lease/kubernetes

go 1.26.0

require (
	github.com/randflake/randflake v0.1.0
	go.yaml.in/yaml/v3 v3.0.5
)

require (
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/randflake/randflake => ../..
