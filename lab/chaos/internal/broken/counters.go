package broken

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// A Counter is a counter.Counter, or one with a planted bug.
type Counter interface {
	Next() (int64, error)
	Fill(dst []int64) (int, error)
	Wait(ctx context.Context) (int64, error)
	FillWait(ctx context.Context, dst []int64) (int, error)
	Return(ctx context.Context) (int64, error)
	Status() counter.Status
	Close() error
}

// Counter returns c with the bug, if it is one of handles.
func (b Bug) Counter(c *counter.Counter) Counter {
	if b == SameAgain {
		return &sameAgain{Counter: c}
	}
	return c
}

// sameAgain is a handle that hands out again, now and then, what it has just handed out.
type sameAgain struct {
	*counter.Counter
	mu    sync.Mutex
	last  []int64
	calls int
}

func (c *sameAgain) Fill(dst []int64) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls++; c.calls%50 == 0 {
		return copy(dst, c.last), nil
	}
	n, err := c.Counter.Fill(dst)
	c.last = append(c.last[:0], dst[:n]...)
	return n, err
}

// Words of a counter's record, as the engine has it.
const (
	position = 6
	returned = 8
	version  = 12
	run      = 13
	token    = 16
	words    = 18
)

// returnAnyway lets numbers be given back that are not a counter's newest: it lowers the position of the record as it is
// by so many.
func returnAnyway(ctx context.Context, c storetest.Call, engine store.Engine) (store.Answer, error) {
	if !c.Swap || len(c.Put) != 1 || len(c.Expect) != 2 || c.Expect[1].Name != c.Put[0].Name {
		return c.On(ctx, engine)
	}
	before, after := strings.Fields(string(c.Expect[1].Value)), strings.Fields(string(c.Put[0].Value))
	if len(before) != words || len(after) != words || number(after[returned]) <= number(before[returned]) {
		return c.On(ctx, engine)
	}
	found, err := engine.Read(ctx, []string{c.Put[0].Name}, store.Page{})
	if err != nil {
		return found, err
	}
	n, next := number(after[returned])-number(before[returned]), strings.Fields(string(found.Named[0].Value))
	for i, add := range map[int]int{position: -n, returned: n, version: 1} {
		next[i] = strconv.Itoa(number(next[i]) + add)
	}
	next[run], next[token] = "0", after[token]
	c.Expect[1].Value, c.Put[0].Value = found.Named[0].Value, []byte(strings.Join(next, " "))
	return c.On(ctx, engine)
}

func number(word string) int {
	n, _ := strconv.Atoi(word) // of a record that the space has taken for sound
	return n
}
