package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/protocol"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// A log is a state of two items, "a" and "b", that holds a text which only grows, and what is asked of the engine for it.
type log struct {
	*testing.T
	data  *storetest.Memory
	space *store.Space
	seen  string // the longest text that this process has seen
	calls []string
	on    func(call string) // what others do before a call
	fail  error             // of swaps, once they took effect
}

func newLog(t *testing.T) *log {
	l := &log{T: t, data: storetest.NewMemory()}
	engine := storetest.Intercept(l.data.Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
		call := "read"
		if c.Swap {
			call = "swap"
		}
		if l.calls = append(l.calls, call); l.on != nil {
			l.on(call)
		}
		a, err := c.On(ctx, e)
		if c.Swap && l.fail != nil {
			return store.Answer{}, l.fail
		}
		return a, err
	})
	var err error
	if l.space, err = store.Create(t.Context(), engine, store.ForNewSecret()); err != nil {
		t.Fatal(err)
	}
	l.calls = nil
	return l
}

func item(name, text string) store.Item {
	return store.Item{Name: name, Second: 1767268800, Body: []byte(text)}
}

// other has another process put an item.
func (l *log) other(name, text string) {
	storetest.Put(l, l.data.Connect(), "default/"+name, fmt.Sprintf("%d %s", 1767268800, text))
}

// update adds more to the text, which is assumed to be assume if that is not "read".
func (l *log) update(assume, more string) error {
	var assumed *store.View
	if assume != "read" {
		assumed = l.space.Assume(item("a", assume))
	}
	_, err := protocol.State[string]{
		Space: l.space, Names: []string{"a", "b"}, What: "the log",
		Decode:   func(v *store.View) (string, error) { return string(v.Find("a").Body), nil },
		WentBack: func(v *store.View, text string) bool { return v.Meta.Floor == 0 && len(text) < len(l.seen) },
	}.Update(l.Context(), assumed, assume, func(_ *store.View, text string) ([]store.Item, error) {
		if more == "" || strings.Contains(text, "full") {
			return nil, map[bool]error{true: errFull}[more != ""]
		}
		return []store.Item{item("a", text+more)}, nil
	})
	return err
}

var errFull, errDown = errors.New("full"), errors.New("down")

// want checks the text, and the calls that led to it.
func (l *log) want(text, calls string) {
	l.Helper()
	value, _ := storetest.Get(l, l.data.Connect(), "default/a")
	if _, got, _ := strings.Cut(value, " "); got != text || strings.Join(l.calls, " ") != calls {
		l.Errorf("text %q after %q, want %q after %q", got, l.calls, text, calls)
	}
}

func TestUpdate(t *testing.T) {
	for _, c := range []struct {
		name        string
		there       string // the text at the beginning
		assume      string
		more        string
		on          func(l *log, call string)
		fail        error
		want        error
		text, calls string
	}{
		{"by a read", "x", "read", "y", nil, nil, nil, "xy", "read swap"},
		{"by an assumption", "x", "x", "y", nil, nil, nil, "xy", "swap"},
		{"by a wrong assumption", "x", "w", "y", nil, nil, nil, "xy", "swap swap"},
		{"refused by a wrong assumption", "x", "full", "y", nil, nil, nil, "xy", "read swap"},
		{"refused by an assumption that is right", "full", "full", "y", nil, nil, errFull, "full", "read"},
		{"refused by a read", "full", "read", "y", nil, nil, errFull, "full", "read"},
		{"nothing to put", "x", "x", "", nil, nil, nil, "x", ""},
		{"a race is lost", "x", "x", "y", func(l *log, call string) {
			if len(l.calls) == 1 {
				l.other("a", "xz")
			}
		}, nil, nil, "xzy", "swap swap"},
		{"a race for the other item is lost", "x", "x", "y", func(l *log, call string) {
			if len(l.calls) == 1 {
				l.other("b", "1")
			}
		}, nil, nil, "xy", "swap swap"},
		{"a race is lost and then there is nothing to win", "x", "x", "y", func(l *log, call string) {
			if len(l.calls) == 1 {
				l.other("a", "full")
			}
		}, nil, errFull, "full", "swap"},
		{"unknown outcome", "x", "x", "y", nil, errDown, errDown, "xy", "swap"},
		{"every race is lost", "x", "x", "y", func(l *log, call string) { l.other("a", fmt.Sprint("x", len(l.calls))) }, nil, nil, "x200", strings.Repeat("swap ", 199) + "swap"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLog(t)
			l.other("a", c.there)
			l.fail = c.fail
			if c.on != nil {
				l.on = func(call string) { c.on(l, call) }
			}
			err := l.update(c.assume, c.more)
			if c.text == "x200" {
				if err == nil || !strings.Contains(err.Error(), "the log") {
					t.Errorf("%v, want that the log changed each time", err)
				}
			} else if !errors.Is(err, c.want) || errors.As(err, &protocol.UnknownError{}) != (c.fail != nil) {
				t.Errorf("%v, want %v", err, c.want)
			}
			l.want(c.text, c.calls)
		})
	}
}

// TestUpdateAfterLoss: if the state went back the floor is set, by two reads and a swap, before anything is put.
func TestUpdateAfterLoss(t *testing.T) {
	for _, c := range []struct{ assume, calls string }{
		{"read", "read read read swap read swap"},
		{"xyz", "swap read read swap read swap"}, // the swap that fails shows it
	} {
		l := newLog(t)
		l.other("a", "x")
		l.seen = "xyz"
		if err := l.update(c.assume, "!"); err != nil {
			t.Fatal(err)
		}
		if meta, err := l.space.Info(t.Context()); err != nil || meta.Floor == 0 {
			t.Errorf("%s: floor %d, %v, want one", c.assume, meta.Floor, err)
		}
		l.calls = l.calls[:len(l.calls)-1]
		l.want("x!", c.calls)
	}
}
