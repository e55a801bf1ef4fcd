// Package door is how packages of this module reach what another one keeps from everybody else: a
// generator's queue of leases, and a secret with any key.
package door

import (
	"fmt"
	"reflect"
	"sync"
)

var doors sync.Map // functions, by their types

// Add sets the function that returns the To of a From. Packages add theirs when they are initialised.
func Add[From, To any](open func(From) To) { doors.Store(reflect.TypeFor[func(From) To](), open) }

// Open calls the function that was added, and returns the To of a From. It panics without a function.
func Open[To, From any](from From) To {
	open, ok := doors.Load(reflect.TypeFor[func(From) To]())
	if !ok {
		panic(fmt.Sprintf("randflake: a %T is no generator of this module", from))
	}
	return open.(func(From) To)(from)
}
