// Package entry has what engines on small stores know of entries: which ones a space has from birth,
// and how large entries become.
package entry

import "github.com/randflake/randflake/lease/internal/taken"

// The entries that each space has.
const (
	Meta   = "meta"
	Leases = "leases"
)

// In bytes.
const (
	// MaxLeases has steps of windows of a second until 2286, and a million million takes.
	MaxLeases = len("999999999999") + taken.MaxSteps*len(" 9999999999 131072 999999999999")

	// MaxMeta is of a space that has lost data, was moved here, and moved on.
	MaxMeta = 800

	// Growth is how much larger a counter becomes, in a late period and far from its start.
	Growth = 120
)
