package file

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/randflake/randflake/store"
)

// A log is a counter that is raised by one with each Swap, and an entry that tells by whom, for each
// number. The caller that raises it to n has n for itself.
type log struct {
	mu       sync.Mutex
	next     int
	mine     map[int]string // numbers that were acknowledged
	position uint64
}

func newLog() *log { return &log{mine: map[int]string{}} }

func number(n int) string { return fmt.Sprintf("%06d", n) }

// raise makes one more number through e, which saw last when it looked before.
func (l *log) raise(t *testing.T, e *Engine, last *store.Entry) error {
	l.mu.Lock()
	l.next++
	me, floor, count := fmt.Sprint("swap ", l.next), l.position, len(l.mine)
	l.mu.Unlock()
	n := 1
	fmt.Sscan(string(last.Value), &n)
	answer, err := e.Swap(t.Context(), []store.Entry{*last}, []store.Entry{{Name: "counter", Value: fmt.Append(nil, n+1)}, {Name: number(n), Value: []byte(me)}})
	if err != nil {
		return nil // the outcome is unknown
	}
	if !answer.Swapped {
		*last = answer.Named[0]
		return l.atLeast(answer, floor, count)
	}
	*last = store.Entry{Name: "counter", Value: fmt.Append(nil, n+1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if other := l.mine[n]; other != "" {
		return fmt.Errorf("number %d was given to %s and to %s", n, other, me)
	}
	l.mine[n] = me
	if answer.Position <= floor {
		return fmt.Errorf("position %d after %d", answer.Position, floor)
	}
	l.position = max(l.position, answer.Position)
	return nil
}

// atLeast checks an answer by what was acknowledged before its call began.
func (l *log) atLeast(answer store.Answer, floor uint64, count int) error {
	n := 1
	fmt.Sscan(string(answer.Named[0].Value), &n)
	if n <= count || answer.Position < floor {
		return fmt.Errorf("read %d at position %d, when %d numbers were given, and position %d was seen", n, answer.Position, count, floor)
	}
	return nil
}

// look reads the counter through e.
func (l *log) look(t *testing.T, e *Engine, last *store.Entry) error {
	l.mu.Lock()
	floor, count := l.position, len(l.mine)
	l.mu.Unlock()
	answer, err := e.Read(t.Context(), []string{"counter"}, store.Page{})
	if err != nil {
		return nil
	}
	*last = answer.Named[0]
	l.mu.Lock()
	l.position = max(l.position, answer.Position)
	l.mu.Unlock()
	return l.atLeast(answer, floor, count)
}

// check reads everything through e, which must work.
func (l *log) check(t *testing.T, e *Engine) error {
	answer, err := e.Read(t.Context(), []string{"counter"}, store.Page{To: "a", Limit: 10000})
	if err != nil {
		return err
	}
	n := 1
	fmt.Sscan(string(answer.Named[0].Value), &n)
	if len(answer.Page) != n-1 {
		return fmt.Errorf("%d numbers, and the counter is at %d", len(answer.Page), n)
	}
	for n, me := range l.mine {
		if n > len(answer.Page) || answer.Page[n-1].Name != number(n) || string(answer.Page[n-1].Value) != me {
			return fmt.Errorf("number %d, which was given to %s, is lost", n, me)
		}
	}
	if answer.Position < l.position {
		return fmt.Errorf("position %d after %d", answer.Position, l.position)
	}
	return nil
}

// A play is a history on a disk that fails.
type play struct {
	*log
	disk *disk
	// unsynced says that a sync of the directory failed. Then a Read may show a position that is not durable: its own
	// sync does nothing, as the directory has not changed since.
	unsynced bool
}

const swaps = 14

// acts raises the counter through two engines, one of which lags, and a third that is new at times.
func (p *play) acts(t *testing.T) error {
	a, b := p.disk.open(), p.disk.open()
	if a.Prepare(t.Context()) != nil && b.Prepare(t.Context()) != nil {
		return nil
	}
	last := store.Entry{Name: "counter"}
	var err error
	for i := range swaps {
		e := a
		switch {
		case i%7 == 6:
			e = p.disk.open()
		case i%3 == 2 || i == swaps-1:
			e = b
		}
		err = errors.Join(err, p.raise(t, e, &last), p.look(t, a, &last))
	}
	return err
}

// crashes plays with each mishap at each operation in turn, reboots with some luck, and returns the
// first thing that went wrong. The bug is there from the start.
func crashes(t *testing.T, bug string, mishaps ...mishap) error {
	clean := &play{log: newLog(), disk: newDisk()}
	if err := clean.acts(t); err != nil || len(clean.mine) != swaps || len(clean.disk.names("0")) > 8 {
		t.Fatalf("without mishaps: %v, %d numbers, %d files", err, len(clean.mine), len(clean.disk.names("0")))
	}
	for step := 1; step <= clean.disk.steps; step++ {
		for _, bad := range mishaps {
			for i, luck := range []func() bool{never, always, byChance(step)} {
				p := &play{log: newLog(), disk: newDisk()}
				p.disk.bug = bug
				p.disk.fault = func(n int, op, _ string) mishap {
					if n != step {
						return none
					}
					p.unsynced = op == "syncDir" && bad == failBefore
					return bad
				}
				if err := p.through(t, luck); err != nil {
					return fmt.Errorf("step %d of %d, mishap %d, luck %d: %w", step, clean.disk.steps, bad, i, err)
				}
			}
		}
	}
	return nil
}

// through plays until the crash, or the end, and on after a reboot.
func (p *play) through(t *testing.T, luck func() bool) error {
	if err := p.acts(t); err != nil {
		return err
	}
	p.disk.reboot(luck)
	before := maps.Clone(p.mine)
	if p.unsynced {
		p.position = 0
	}
	e := p.disk.open()
	err := p.check(t, e)
	switch {
	case errors.Is(err, store.ErrNoStore) && len(before) == 0:
		if err := e.Prepare(t.Context()); err != nil {
			return fmt.Errorf("Prepare after a crash: %w", err)
		}
	case err != nil:
		return fmt.Errorf("after a crash: %w", err)
	}
	last := store.Entry{Name: "counter"}
	for range 8 {
		p.raise(t, e, &last)
	}
	if len(p.mine) < len(before)+7 {
		return fmt.Errorf("%d numbers, and %d after a crash and 8 tries", len(before), len(p.mine))
	}
	return errors.Join(p.check(t, e), p.check(t, p.disk.open()))
}

func TestCrashes(t *testing.T) {
	if err := crashes(t, "", crashBefore); err != nil {
		t.Error(err)
	}
}

// TestEveryOperationFails lets each file operation fail once, before and after it took effect.
func TestEveryOperationFails(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long where the processor is emulated")
	}
	if err := crashes(t, "", failBefore, failAfter); err != nil {
		t.Error(err)
	}
}

// TestCrashesFindBug is the negative control of TestCrashes.
func TestCrashesFindBug(t *testing.T) {
	if err := crashes(t, noSync, crashBefore); err == nil || !strings.Contains(err.Error(), "after a crash") {
		t.Errorf("crashes show %v, want a loss", err)
	}
}
