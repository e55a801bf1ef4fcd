//go:build !linux

package engines

// Main does nothing: servers are started on Linux alone.
func Main() {}

// All returns none.
func All() []Engine { return nil }
