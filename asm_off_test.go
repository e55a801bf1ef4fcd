//go:build (!amd64 && !arm64) || !gc || purego

package randflake

const hasAssembly = false
