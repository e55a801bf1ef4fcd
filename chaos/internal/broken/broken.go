// Package broken has stores and a keeper with planted bugs, which show that the checks of this
// harness find such bugs. The store without a bug serves as a quick engine beside the real ones.
package broken

// A Bug is a fault that stores have had, or could have.
type Bug string

// The bugs of stores, and None.
const (
	None            Bug = ""
	IgnoreHighWater Bug = "ignore-high-water" // a range that was released is granted anew at once, from now on
	ReleaseAnyway   Bug = "release-anyway"    // Release does not compare owner and version
	StartNow        Bug = "start-now"         // each lease starts now, whatever the range's high-water mark
	LateSync        Bug = "late-sync"         // changes are acknowledged before they are durable: see Store.Crash
	Expiry          Bug = "expiry"            // a record vanishes when its lease ends or is released
)

// RenewAnyway is the bug of Keeper: it goes on when its renewals fail.
const RenewAnyway Bug = "renew-anyway"

// StoreBugs are the bugs that a Store can have.
var StoreBugs = []Bug{IgnoreHighWater, ReleaseAnyway, StartNow, LateSync, Expiry}
