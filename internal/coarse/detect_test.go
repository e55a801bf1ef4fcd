//go:build !uncached

package coarse

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// If this fails on a new release of Go, generators that are made in bubbles go by the wrong time
// there, and what is read in a bubble is published: build with the tag uncached until InBubble has
// another way to tell.
func TestOfBubble(t *testing.T) {
	require.That(t, OfBubble() == nil, "a bubble's clock outside of bubbles")
	synctest.Test(t, func(t *testing.T) {
		if now := OfBubble(); now == nil || !now().Equal(time.Now()) {
			t.Error("no bubble's clock in a bubble")
		}
	})
}
