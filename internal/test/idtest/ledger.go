package idtest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// A Ledger records what generators make, and fails the test if an ID comes twice or breaks a rule.
// It is safe for concurrent use.
type Ledger[T comparable] struct {
	testing.TB
	Check   func(id T) error // what else is wrong with an ID; or nil
	Compare func(a, b T) int // nil, or each ID is greater than all that were returned before the call for it

	newest atomic.Pointer[T] // if IDs are ordered
	wrong  atomic.Int64      // IDs that were found wrong

	mu   sync.Mutex
	seen map[T]struct{}
}

// reported is how many wrong IDs a ledger shows. A wrong cipher makes nothing but wrong ones.
const reported = 10

// report shows a wrong ID. From the eleventh on it only counts them, and the test ends with how
// many there were.
func (l *Ledger[T]) report(format string, args ...any) {
	l.Helper()
	n := l.wrong.Add(1)
	switch {
	case n <= reported:
		l.Errorf(format, args...)
	case n == reported+1:
		l.Cleanup(func() { l.Errorf("and %d more", l.wrong.Load()-reported) })
	}
}

// Add records IDs.
func (l *Ledger[T]) Add(ids ...T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[T]struct{}{}
	}
	for _, id := range ids {
		if _, repeated := l.seen[id]; repeated {
			l.report("%v was made twice", id)
		}
		l.seen[id] = struct{}{}
		if l.Check != nil {
			if err := l.Check(id); err != nil {
				l.report("%v: %v", id, err)
			}
		}
	}
}

// Count returns how many IDs were recorded.
func (l *Ledger[T]) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.seen)
}

// Take records what fill makes.
func (l *Ledger[T]) Take(dst []T, fill func([]T) (int, error)) (n int, err error) {
	before := l.newest.Load()
	n, err = fill(dst)
	l.Add(dst[:n]...)
	if l.Compare == nil {
		return n, err
	}
	for _, id := range dst[:n] {
		if before != nil && l.Compare(id, *before) <= 0 {
			l.report("%v was made after %v", id, *before)
		}
		before = &id
	}
	if n > 0 {
		l.raise(before)
	}
	return n, err
}

// raise makes id the newest one, unless there is a newer one.
func (l *Ledger[T]) raise(id *T) {
	for {
		newest := l.newest.Load()
		if newest != nil && l.Compare(*newest, *id) >= 0 {
			return
		}
		if l.newest.CompareAndSwap(newest, id) {
			return
		}
	}
}

// AtOnce has 8 goroutines make IDs, each for a number of rounds, and by each way in turn. next gets
// the error of each call. Where it returns false, the goroutine ends.
func (l *Ledger[T]) AtOnce(rounds int, next func(err error) bool, ways ...func(dst []T) (int, error)) {
	l.Helper()
	var makers sync.WaitGroup
	for i := range 8 {
		makers.Go(func() {
			ids := make([]T, 5)
			for round := range rounds {
				n := 1 + (round+i)%5
				way := ways[(round/100+i)%len(ways)]
				_, err := l.Take(ids[:n], way)
				if !next(err) {
					return
				}
			}
		})
	}
	makers.Wait()
}

// One is Fill for a function that makes one ID at a time.
func One[T any](generate func() (T, error)) func(dst []T) (int, error) {
	return func(dst []T) (n int, err error) {
		for i := range dst {
			dst[i], err = generate()
			if err != nil {
				return i, err
			}
		}
		return len(dst), nil
	}
}

// Ways are all ways to IDs of a generator.
func Ways[T any](ctx context.Context, g interface {
	Generate() (T, error)
	Fill([]T) (int, error)
	Wait(context.Context) (T, error)
	FillWait(context.Context, []T) (int, error)
}) []func(dst []T) (int, error) {
	return []func(dst []T) (int, error){
		One(g.Generate),
		g.Fill,
		One(func() (T, error) { return g.Wait(ctx) }),
		func(dst []T) (int, error) { return g.FillWait(ctx, dst) },
	}
}

// Unmade checks that each call, on what nobody made, panics with a text that says how to make one.
func Unmade(t *testing.T, says string, calls map[string]func()) {
	t.Helper()
	for name, call := range calls {
		func() {
			defer func() {
				require.Contains(t, fmt.Sprint(recover()), says, "%s: panics with", name)
			}()
			call()
		}()
	}
}

// A LateContext calls Asked when it is asked for its error: for a caller in line that is when it
// was served, and hasn't returned yet.
type LateContext struct {
	context.Context
	Asked func()
}

func (c LateContext) Err() error {
	c.Asked()
	return c.Context.Err()
}
