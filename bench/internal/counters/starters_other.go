//go:build !linux

package counters

// Main does nothing: servers are started on Linux alone.
func Main() {}

func starters() []starter { return nil }
