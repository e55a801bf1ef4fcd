//go:build uncached

package coarse

import "time"

// InBubble is true everywhere, so that each call asks time.Now. That is right in bubbles and outside,
// even if a release of Go gives the times of bubbles a monotonic reading.
func InBubble(time.Time) bool { return true }
