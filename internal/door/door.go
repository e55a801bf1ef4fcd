// Package door is how packages of this module reach what another one keeps from everybody else: a
// generator's queue of leases, and a secret with any key.
package door

import (
	"fmt"
	"reflect"
	"sync"
)

var doors sync.Map // functions, by their types

// Add sets the function by which a From opens to its To. Packages call it when they are initialised.
func Add[From, To any](open func(From) To) { doors.Store(reflect.TypeFor[func(From) To](), open) }

// Open returns the To of a From, by the function that was added. It panics if there is none.
func Open[To, From any](from From) To {
	open, ok := doors.Load(reflect.TypeFor[func(From) To]())
	if !ok {
		panic(fmt.Sprintf("randflake: a %T is no generator of this module", from))
	}
	return open.(func(From) To)(from)
}
