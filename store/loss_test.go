package store_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// TestIdleHandle: one loss, noticed by a process that sets the floor. Twenty minutes later two goroutines use another
// process's idle handle at once. The first reads an item and remembers its second before it remembers the floor; the second
// compares that second with the floor that it does not know yet, and raises it. The clock is only a hook: nothing stops a
// goroutine between noteItems and adopt.
func TestIdleHandle(t *testing.T) {
	data := storetest.NewMemory()
	var now atomic.Int64
	now.Store(1767268800)
	clock := func() time.Time { return time.Unix(now.Load(), 0) }
	if _, err := store.Create(t.Context(), data.Connect(), store.ForNewSecret(), store.WithClock(clock)); err != nil {
		t.Fatal(err)
	}
	var hook atomic.Pointer[func()]
	idle, err := store.Open(t.Context(), data.Connect(), store.WithClock(func() time.Time {
		if f := hook.Swap(nil); f != nil {
			(*f)()
		}
		return clock()
	}))
	if err != nil {
		t.Fatal(err)
	}
	other, err := store.Open(t.Context(), data.Connect(), store.WithClock(clock))
	if err != nil {
		t.Fatal(err)
	}
	if err := other.ReportLoss(t.Context(), "the one loss"); err != nil {
		t.Fatal(err)
	}
	before, _ := other.Info(t.Context())
	now.Add(20 * 60)
	v, err := other.Read(t.Context(), []string{"x"}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	if done, _, err := other.Swap(t.Context(), v, store.Change{Put: []store.Item{{Name: "x", Second: v.Now, Body: []byte("1")}}}); !done || err != nil {
		t.Fatal(done, err)
	}
	second := func() {
		if _, err := idle.Read(t.Context(), []string{"x"}, store.Page{}); err != nil {
			t.Error(err)
		}
	}
	hook.Store(&second)
	if _, err := idle.Read(t.Context(), []string{"x"}, store.Page{}); err != nil {
		t.Fatal(err)
	}
	if after, _ := other.Info(t.Context()); after.Losses != before.Losses {
		t.Errorf("the floor was set again, %d s later, though nothing was lost: losses %d, then %d", after.Floor-before.Floor, before.Losses, after.Losses)
	}
}

// TestSlowNotice: two processes notice one loss. One of them sets the floor. The other one is stopped for two minutes
// between its reading of the meta entry and of the items, in setFloor; then it takes what was put after the floor for what
// the floor does not know of, and sets it again.
func TestSlowNotice(t *testing.T) {
	data := storetest.NewMemory()
	var now atomic.Int64
	now.Store(1767268800)
	clock := store.WithClock(func() time.Time { return time.Unix(now.Load(), 0) })
	if _, err := store.Create(t.Context(), data.Connect(), store.ForNewSecret(), clock); err != nil {
		t.Fatal(err)
	}
	quick, err := store.Open(t.Context(), data.Connect(), clock)
	if err != nil {
		t.Fatal(err)
	}
	armed := false
	slow, err := store.Open(t.Context(), storetest.Intercept(data.Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
		if c.Page.Limit > 0 && armed {
			armed = false
			quick.Read(ctx, nil, store.Page{}) // sets the floor
			now.Add(120)
			v, _ := quick.Read(ctx, []string{"x"}, store.Page{})
			if done, _, err := quick.Swap(ctx, v, store.Change{Put: []store.Item{{Name: "x", Second: v.Now, Body: []byte("1")}}}); !done { // such as a release
				t.Error(err)
			}
		}
		return c.On(ctx, e)
	}), clock)
	if err != nil {
		t.Fatal(err)
	}
	armed = true
	data.SetLineage("another")
	if _, err := slow.Read(t.Context(), nil, store.Page{}); err != nil {
		t.Log(err) // its clock was read before the pause
	}
	if _, err := slow.Read(t.Context(), nil, store.Page{}); err != nil {
		t.Fatal(err)
	}
	if armed {
		t.Fatal("this shows nothing")
	}
	if after, _ := quick.Info(t.Context()); after.Losses != 1 {
		t.Errorf("%d floors for one loss, the last one %d s from now", after.Losses, after.Floor-now.Load())
	}
}

// TestGone: an engine whose reads tell no position shows a loss by a swap, and then the meta entry is gone.
func TestGone(t *testing.T) {
	data := storetest.NewMemory()
	_, err := store.Create(t.Context(), data.Connect(), store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	gone := false
	e := storetest.Intercept(data.Connect(), func(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
		a, err := c.On(ctx, e)
		if !c.Swap {
			a.Position = 0
			if gone && len(a.Named) > 0 {
				a.Named[0].Value = nil
			}
		}
		return a, err
	})
	s, err := store.Open(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	backup := data.Snapshot()
	put := func(name string) error {
		v, err := s.Read(t.Context(), nil, store.Page{})
		if err != nil {
			return err
		}
		_, _, err = s.Swap(t.Context(), v, store.Change{Put: []store.Item{{Name: name, Second: v.Now, Body: []byte("1")}}})
		return err
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := put(name); err != nil {
			t.Fatal(err)
		}
	}
	v, _ := s.Read(t.Context(), nil, store.Page{})
	data.Restore(backup)
	gone = true
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v", r)
		}
	}()
	_, _, err = s.Swap(t.Context(), v, store.Change{Put: []store.Item{{Name: "d", Second: v.Now, Body: []byte("1")}}})
	t.Log(err)
}

// TestLowFloorOfNewSpace: a slow process finds the space gone and makes it anew, with a floor that is too low for what
// another process has seen. TestLowFloor is the same for a space that is there.
func TestLowFloorOfNewSpace(t *testing.T) {
	w := newTestbed(t)
	s := w.create()
	slow := w.open()
	w.now = w.now.Add(2 * time.Hour)
	w.put(s, "x", "1")
	w.data.Wipe()
	if err := w.data.Connect().Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(-15 * time.Minute)
	if _, err := slow.Read(t.Context(), nil, store.Page{}); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(15 * time.Minute)
	w.get(s, "x")
	w.wantFloor("seen by a handle that knows more", s, pause)
}

// TestForkOfMeta: two histories without a floor, whose meta entries have as many versions and differ.
func TestForkOfMeta(t *testing.T) {
	w := newTestbed(t)
	s := w.create()
	backup := w.data.Snapshot()
	change := func(s *store.Space, body string) {
		v, err := s.Read(t.Context(), nil, store.Page{})
		if err != nil {
			t.Fatal(err)
		}
		if done, _, err := s.Swap(t.Context(), v, store.Change{Body: []byte(body)}); !done || err != nil {
			t.Fatal(done, err)
		}
	}
	change(s, `"one"`)
	backup.Position += 100
	w.data.Restore(backup)
	change(w.open(), `"two"`)
	w.get(s, "x")
	w.wantFloor("seen by a handle of the first history", s, pause)
}
