// Package door is how packages of this module reach what another one keeps from everybody else: a
// generator's queue of leases, and a secret with any key.
package door

import (
	"fmt"
	"reflect"
	"sync"
)

var doors sync.Map // functions, by their types

// Add says how to make a To of a From. Packages call it when they are initialised.
func Add[From, To any](open func(From) To) { doors.Store(reflect.TypeFor[func(From) To](), open) }

// Open makes a To of a From, as the package that has one of these types said. It panics if none did.
func Open[To, From any](from From) To {
	open, ok := doors.Load(reflect.TypeFor[func(From) To]())
	if !ok {
		panic(fmt.Sprintf("randflake: a %T is no generator of this module", from))
	}
	return open.(func(From) To)(from)
}
