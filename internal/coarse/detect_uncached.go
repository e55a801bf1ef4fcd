//go:build uncached

package coarse

import "time"

// InBubble is true everywhere, so that each call asks for the time: the way out if a release of Go changes by
// what bubbles are told.
func InBubble(time.Time) bool { return true }
