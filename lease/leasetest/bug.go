package leasetest

import (
	"context"
	"sync"

	"github.com/randflake/randflake/store"
)

// A Bug is a way in which an engine breaks its word, for the tests of what must find it.
type Bug string

// The bugs that [Plant] knows.
const (
	IgnoresFirst  Bug = "a swap ignores the first expected entry"
	IgnoresValues Bug = "a swap ignores the values of all expected entries but the first"
	LosesLast     Bug = "the last put is lost when the process ends"
	NoPosition    Bug = "there is no position"
)

// Plant returns engine with bug.
func Plant(engine store.Engine, bug Bug) store.Engine {
	var mu sync.Mutex
	var unput []store.Entry // though acknowledged
	return Intercept(engine, func(ctx context.Context, c Call, engine store.Engine) (answer store.Answer, err error) {
		mu.Lock()
		defer mu.Unlock()
		if unput != nil {
			_, err = engine.Swap(ctx, nil, unput)
			unput = nil
		}
		if c.Swap {
			before, err := engine.Read(ctx, namesOf(c.Expect), store.Page{})
			if bug == LosesLast && err == nil && equal(before.Named, c.Expect) {
				unput, before.Swapped = c.Put, true
				before.Position++
				return before, nil
			}
			for i, e := range before.Named {
				expected := &c.Expect[i].Value
				if bug == IgnoresFirst && i == 0 || bug == IgnoresValues && i > 0 && e.Value != nil && *expected != nil {
					*expected = e.Value
				}
			}
		}
		if answer, err = c.On(ctx, engine); bug == NoPosition {
			answer.Position = 0
		}
		return answer, err
	})
}
