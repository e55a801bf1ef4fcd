package counter_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// losses are ways in which a server comes back with less than it had.
var losses = map[string]func(server *storetest.Memory, backup storetest.Snapshot){
	"another copy": func(server *storetest.Memory, backup storetest.Snapshot) {
		backup.Lineage = "restored"
		server.Restore(backup)
	},
	"the same one, older": func(server *storetest.Memory, backup storetest.Snapshot) { server.Restore(backup) },
	"no position tells": func(server *storetest.Memory, backup storetest.Snapshot) {
		backup.Position = 1 << 40
		server.Restore(backup)
	},
	"nothing is left": func(server *storetest.Memory, _ storetest.Snapshot) {
		server.Wipe()
		server.Connect().Prepare(context.Background())
	},
}

// TestLoss: a handle that is open when data is lost gives what it has. Then a counter with a rate goes on beyond all numbers,
// after a rest; any other refuses until a person says where.
func TestLoss(t *testing.T) {
	for name, lose := range losses {
		for _, rate := range []int64{0, 1000} {
			t.Run(name+"/"+map[bool]string{true: "rate", false: "none"}[rate > 0], func(t *testing.T) {
				inBubble(t, func(t *testing.T) { testLoss(t, lose, rate, name == "nothing is left") })
			})
		}
	}
}

func testLoss(t *testing.T, lose func(*storetest.Memory, storetest.Snapshot), rate int64, all bool) {
	server := storetest.NewMemory()
	counters := counter.On(newSpace(t, server.Connect()))
	c := open(t, counters, "orders", counter.WithRunLength(100, 100), counter.WithRate(rate))
	backup := server.Snapshot()
	var last int64
	for range 1050 {
		n, err := c.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last = n
		time.Sleep(2 * time.Millisecond)
	}
	lose(server, backup)
	for range 50 {
		if n, err := c.Next(); err != nil || n <= last {
			t.Fatalf("%d after %d, %v: want what it has", n, last, err)
		} else {
			last = n
		}
	}
	if rate > 0 {
		began := time.Now()
		n, err := c.Wait(t.Context())
		if rested := time.Since(began); err != nil || n <= last || n > 150_000 || rested < 2*time.Minute || rested > 125*time.Second {
			t.Errorf("%d after %d and %v, %v", n, last, rested, err)
		}
		return
	}
	if n, err := c.Wait(t.Context()); !errors.Is(err, counter.ErrForgotten) {
		t.Fatalf("%d, %v, want ErrForgotten", n, err)
	}
	if all {
		if _, err := counters.Advance(t.Context(), "orders", 5000); !errors.Is(err, counter.ErrNoCounter) {
			t.Errorf("%v, want ErrNoCounter", err)
		}
		if _, err := counters.Create(t.Context(), "orders", counter.WithStart(5000)); !errors.Is(err, counter.ErrForgotten) {
			t.Errorf("%v, want ErrForgotten", err)
		}
		if _, err := counters.Create(t.Context(), "orders", counter.WithStart(5000), unusedUntilNow(t, server)); err != nil {
			t.Error(err)
		}
	} else {
		if info := get(t, counters, "orders"); !info.Forgotten {
			t.Errorf("%+v, want a forgotten one", info)
		}
		if info, err := counters.Advance(t.Context(), "orders", 5000); err != nil || info.Next != 5000 || info.Forgotten {
			t.Errorf("%+v, %v", info, err)
		}
	}
	time.Sleep(10 * time.Second)
	c.Wait(t.Context()) // has the handle try again
	time.Sleep(time.Second)
	if n, err := c.Wait(t.Context()); n != 5000 || err != nil {
		t.Errorf("%d, %v, want 5000", n, err)
	}
}

// unusedUntilNow is an operator's word for the present losses of a space.
func unusedUntilNow(t *testing.T, server *storetest.Memory) counter.Option {
	space, err := store.Open(t.Context(), server.Connect())
	if err != nil {
		t.Fatal(err)
	}
	v, err := space.Look(t.Context(), nil, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return counter.UnusedBefore(time.Unix(v.Meta.Floor, 0))
}

// TestWordIsForOneLoss: a program that always starts with the same options does not repeat its numbers after a loss.
func TestWordIsForOneLoss(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := storetest.NewMemory()
		start := func() (*counter.Counter, error) {
			space, err := store.Create(t.Context(), server.Connect())
			if err != nil {
				t.Fatal(err)
			}
			return counter.On(space).Open(t.Context(), "orders", counter.OrCreate(), counter.UnusedBefore(time.Date(2026, 1, 31, 12, 11, 0, 0, time.UTC)), quiet)
		}
		c, err := start()
		if err != nil {
			t.Fatal(err)
		}
		if n, err := c.Next(); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		c.Close()
		time.Sleep(time.Minute)
		server.Wipe()
		if c, err = start(); !errors.Is(err, counter.ErrForgotten) || !strings.Contains(err.Error(), "before 2026-01-31T12:12:00Z") {
			t.Errorf("%v, %v: want ErrForgotten", c, err)
		}
	})
}

// TestFloor has a space that can't know which counters there were: a counter takes the caller's word, or a rate and a date.
func TestFloor(t *testing.T) {
	server := storetest.NewMemory()
	space, err := store.Create(t.Context(), server.Connect())
	if err != nil {
		t.Fatal(err)
	}
	counters, rate := counter.On(space), counter.WithRate(10)
	yesterday := counter.UnusedBefore(time.Now().Add(-24 * time.Hour))
	later := unusedUntilNow(t, server)
	for name, options := range map[string][]counter.Option{"none": nil, "rate": {rate}, "yesterday": {yesterday}} {
		if info, err := counters.Create(t.Context(), name, options...); !errors.Is(err, counter.ErrForgotten) {
			t.Errorf("%s: %+v, %v, want ErrForgotten", name, info, err)
		}
	}
	for name, options := range map[string][]counter.Option{"later": {later}, "latest": {later, yesterday}} {
		if info, err := counters.Create(t.Context(), name, options...); err != nil || info.Next != 1 {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	if _, err := counters.Create(t.Context(), "future", counter.UnusedBefore(time.Now().Add(24*time.Hour))); !errors.Is(err, store.ErrClock) {
		t.Errorf("word of tomorrow: %v, want ErrClock", err)
	}
	if info, err := counters.Create(t.Context(), "dated", rate, yesterday); err != nil || info.Next <= 10*24*3600 || info.Next > 10*25*3600 {
		t.Errorf("%+v, %v, want a jump over a day's numbers", info, err)
	}
}
