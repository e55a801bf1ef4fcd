package randflaketest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/randflake/randflake/lease/randflaketest"
)

// A test of code that takes a generator. Its IDs are the same in each run.
func Example() {
	_ = func(t *testing.T) {
		clock := randflaketest.NewClock()
		ids := randflaketest.New(t, clock) // or Keep, for code that takes a keeper
		clock.Advance(time.Hour)
		id, err := ids.Generate()
		fmt.Println(id, err)
	}
}
