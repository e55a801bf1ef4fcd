//go:build amd64 && gc && !purego

package randflake

const hasAssembly = true
