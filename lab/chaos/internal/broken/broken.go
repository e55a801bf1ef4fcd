// Package broken has planted bugs, which show that this harness finds such bugs: in the engine under a
// worker's store, in the leases above it, in the keeper, on the way to a service, and in counters.
package broken

import (
	"slices"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// A Bug is a fault that the product has had, or could have.
type Bug string

// The bugs, and None.
const (
	None Bug = ""

	// Of engines.
	IgnoreMeta   Bug = "ignore-meta"   // a swap does not compare the meta entry
	IgnoreValues Bug = "ignore-values" // nor, here, the values of the others
	StandStill   Bug = "stand-still"   // the position does not show that an older copy is back
	LateSync     Bug = "late-sync"     // a directory, say, is not synced: a crash of the engine undoes some changes; of Memory alone
	Expiry       Bug = "expiry"        // a record vanishes when its lease ends or is released

	// Of the store.
	TrustCopies Bug = "trust-copies" // another copy of the data is taken for the same
	Forgetful   Bug = "forgetful"    // a handle does not remember what it saw before

	// Of the protocol.
	StartNow      Bug = "start-now"      // each lease starts now, whatever the range's high-water mark
	ReleaseAnyway Bug = "release-anyway" // Release does not compare owner and version
	RenewOthers   Bug = "renew-others"   // nor Renew
	NoReport      Bug = "no-report"      // a holder whose record went back in time gives up its lease, but does not report the loss
	AnyChange     Bug = "any-change"     // Lookup says of any change that it is the caller's

	// Of the keeper.
	RenewAnyway Bug = "renew-anyway" // it goes on when its renewals fail

	// On the way to a service.
	StaleAnswer Bug = "stale-answer" // who asks for a lease gets what was answered before

	// Of counters.
	ReturnAnyway Bug = "return-anyway" // numbers are given back that are not the newest
	SameAgain    Bug = "same-again"    // a handle hands numbers of a block out twice
)

// Bugs are all of them.
var Bugs = []Bug{IgnoreMeta, IgnoreValues, StandStill, LateSync, Expiry, TrustCopies, Forgetful, StartNow, ReleaseAnyway, RenewOthers,
	NoReport, AnyChange, RenewAnyway,
	StaleAnswer, ReturnAnyway, SameAgain}

// planted are the bugs that package storetest knows.
var planted = map[Bug]storetest.Bug{
	IgnoreMeta:   storetest.IgnoresFirst,
	IgnoreValues: storetest.IgnoresValues,
	StandStill:   storetest.NoPosition,
}

// InEngine reports whether the bug is one of the engine that a worker has.
func (b Bug) InEngine() bool { return b == Expiry || b == ReturnAnyway || planted[b] != "" }

// Plant returns engine with the bug, if it is one of engines.
func (b Bug) Plant(engine store.Engine) store.Engine {
	switch {
	case b == Expiry:
		return storetest.Intercept(engine, expire)
	case b == ReturnAnyway:
		return storetest.Intercept(engine, returnAnyway)
	case planted[b] != "":
		return storetest.Plant(engine, planted[b])
	}
	return engine
}

// Leases returns leases with the bug, if it is one of the protocol.
func (b Bug) Leases(leases lease.Source) lease.Source {
	if slices.Contains([]Bug{StartNow, ReleaseAnyway, RenewOthers, NoReport, AnyChange}, b) {
		return &brokenLeases{Source: leases, bug: b}
	}
	return leases
}
