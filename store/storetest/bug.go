package storetest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/randflake/randflake/store"
)

// A Bug is a way in which an engine breaks its word. What checks engines, or what stands on them, must find it.
type Bug string

// The bugs that [Plant] knows.
const (
	IgnoresFirst  Bug = "a swap ignores the first expected entry"
	IgnoresValues Bug = "a swap ignores the values of all expected entries but the first"
	EmptyIsAbsent Bug = "a swap takes an empty value for no entry"
	TwoSteps      Bug = "a swap checks and puts in two steps"
	LosesLast     Bug = "the last put is lost when the process ends"
	RepeatsSwaps  Bug = "a swap that took effect says so again, and does nothing"
	RepeatsReads  Bug = "a read returns an answer from before"
	LeavesOut     Bug = "a page leaves an entry out"
	OutOfOrder    Bug = "a page is out of order"
	NoPosition    Bug = "there is no position"
)

// Bugs returns all of them.
func Bugs() []Bug {
	return []Bug{IgnoresFirst, IgnoresValues, EmptyIsAbsent, TwoSteps, LosesLast, RepeatsSwaps, RepeatsReads, LeavesOut, OutOfOrder, NoPosition}
}

// Plant returns engine with bug.
func Plant(engine store.Engine, bug Bug) store.Engine {
	p := &planted{bug: bug, answers: map[string]store.Answer{}}
	return Intercept(engine, p.call)
}

type planted struct {
	bug     Bug
	mu      sync.Mutex
	answers map[string]store.Answer // to repeat, by call
	unput   []store.Entry           // though acknowledged
}

func (p *planted) call(ctx context.Context, c Call, engine store.Engine) (answer store.Answer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unput != nil {
		_, err = engine.Swap(ctx, nil, p.unput)
		p.unput = nil
	}
	if answer, found := p.answers[c.String()]; found {
		return answer, nil
	}
	if c.Swap {
		answer, err = p.swap(ctx, c, engine)
	} else {
		answer, err = c.On(ctx, engine)
	}
	switch n := len(answer.Page); {
	case p.bug == LeavesOut && n > 2:
		answer.Page = slices.Delete(answer.Page, n/2, n/2+1)
	case p.bug == OutOfOrder:
		slices.Reverse(answer.Page)
	case p.bug == RepeatsSwaps && answer.Swapped, p.bug == RepeatsReads && !c.Swap && err == nil:
		p.answers[c.String()] = answer
	case p.bug == NoPosition:
		answer.Position = 0
	}
	return answer, err
}

// swap goes by what is there before, as far as its bug does.
func (p *planted) swap(ctx context.Context, c Call, engine store.Engine) (store.Answer, error) {
	before, err := engine.Read(ctx, namesOf(c.Expect), store.Page{})
	if before.Swapped = err == nil && equal(before.Named, c.Expect); before.Swapped && p.bug == LosesLast {
		p.unput = c.Put
		before.Position++
		return before, nil
	} else if before.Swapped && p.bug == TwoSteps {
		time.Sleep(time.Millisecond) // so that others come between
		_, err = engine.Swap(ctx, nil, c.Put)
		return before, err
	}
	for i, e := range before.Named {
		expected := &c.Expect[i].Value
		if p.bug == IgnoresFirst && i == 0 || p.bug == EmptyIsAbsent && len(e.Value)+len(*expected) == 0 ||
			p.bug == IgnoresValues && i > 0 && e.Value != nil && *expected != nil {
			*expected = e.Value
		}
	}
	return c.On(ctx, engine)
}
