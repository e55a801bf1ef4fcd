//go:build !uncached

package coarse

import "time"

// InBubble reports whether t, which time.Now returned, is a bubble's: those have no monotonic reading.
func InBubble(t time.Time) bool { return t == t.Round(0) }
