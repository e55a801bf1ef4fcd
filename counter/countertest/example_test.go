package countertest_test

import (
	"testing"

	"github.com/randflake/randflake/counter/countertest"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// Counters on an engine of one's own are tested like this, in a function TestCounters.
func ExampleRun() {
	_ = func(t *testing.T) {
		countertest.Run(t, countertest.OnEngine(func(t *testing.T) func(t *testing.T) store.Engine {
			data := storetest.NewMemory() // make an empty database
			return func(t *testing.T) store.Engine {
				return data.Connect() // connect to it
			}
		}))
	}
}
