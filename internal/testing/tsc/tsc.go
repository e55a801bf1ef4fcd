//go:build amd64 && gc && !purego

// Package tsc reads the processor's time-stamp counter, for benchmarks of things that take less time
// than time.Now does.
package tsc

// Now returns the time-stamp counter, after all instructions before the call have been executed.
func Now() uint64
