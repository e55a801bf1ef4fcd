package lease

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

var noon = time.Unix(1800000000, 0)

// TestTake has what a take refuses, and what the error says to do.
func TestTake(t *testing.T) {
	now, server := noon, noon
	data := newMemory()
	s := create(t, conn{memory: data}, Limits{Nodes: 16}, func() time.Time { return now })
	present := s.Limits().WindowOf(noon)
	for _, step := range []struct {
		name          string
		server, clock time.Duration // how far ahead; no server's clock if that is 0
		window        int64
		n             uint32
		first         uint32
		err           error
		until         time.Time
	}{
		{"first", 0, 0, 0, 10, 0, nil, time.Time{}},
		{"second", 0, 0, 0, 5, 10, nil, time.Time{}},
		{"too many", 0, 0, 0, 2, 0, ErrFull, noon.Add(time.Minute)},
		{"the rest", 0, 0, 0, 1, 15, nil, time.Time{}},
		{"next window", 0, 0, 1, 16, 0, nil, time.Time{}},
		{"last window", 0, 0, 5, 1, 0, nil, time.Time{}},
		{"too far", 0, 0, 6, 1, 0, ErrAhead, noon.Add(time.Minute)},
		{"as far, before the server's clock", -time.Minute, 0, 5, 1, 1, nil, time.Time{}},
		{"a slow clock", 0, -300 * time.Hour, -18000, 3, 0, nil, time.Time{}},
		{"a fast clock", 0, 300 * time.Hour, 18000, 3, 0, nil, time.Time{}},
		{"clocks apart", time.Second, 62 * time.Second, 0, 1, 0, ErrClock, time.Time{}},
		{"clocks apart the other way", 62 * time.Second, time.Second, 0, 1, 0, ErrClock, time.Time{}},
		{"a clock of another age", 0, -60 * 365 * 24 * time.Hour, -noon.Unix()/60 - 1, 1, 0, ErrClock, time.Time{}},
		{"none", 0, 0, 0, 0, 0, ErrInvalid, time.Time{}},
		{"before all time", 0, 0, -noon.Unix()/60 - 1, 1, 0, ErrInvalid, time.Time{}},
		{"more than there are", 0, 0, 3, 17, 0, ErrInvalid, time.Time{}},
	} {
		now, server, data.clock = noon.Add(step.clock), noon.Add(step.server), nil
		if step.server != 0 {
			data.clock = func() time.Time { return server }
		}
		l, err := s.Take(t.Context(), present+step.window, step.n)
		var wait *WaitError
		if !errors.Is(err, step.err) || errors.As(err, &wait) && !wait.Until.Equal(step.until) {
			t.Errorf("%s: %v", step.name, err)
		}
		if err == nil && (l.FirstNode != step.first || l.LastNode != step.first+step.n-1 || s.Limits().WindowOf(l.Start) != present+step.window || l.End.Sub(l.Start) != time.Minute) {
			t.Errorf("%s: %+v", step.name, l)
		}
	}
}

// TestLoss: after a loss nothing is granted before the floor, and counters wait for a person.
func TestLoss(t *testing.T) {
	for name, lose := range map[string]func(data *memory, s *Space, old state) error{
		"another copy":      func(data *memory, s *Space, old state) error { data.lineage = "second"; return nil },
		"an older position": func(data *memory, s *Space, old state) error { data.restore(old); return nil },
		"everything is gone": func(data *memory, s *Space, old state) error {
			data.restore(state{map[string]string{}, "first", 0})
			return nil
		},
		"reported, after this clock was fast": func(data *memory, s *Space, old state) error {
			clock := s.now
			s.now = func() time.Time { return noon.Add(10000 * time.Hour) }
			_, err := s.Take(context.Background(), s.Limits().WindowOf(s.now()), 1)
			s.now = clock
			return errors.Join(err, open(t, conn{memory: data}, clock).ReportLoss(context.Background(), "by hand"))
		},
		"reported": func(data *memory, s *Space, old state) error { return s.ReportLoss(context.Background(), "by hand") },
	} {
		t.Run(name, func(t *testing.T) {
			now, data := noon, newMemory()
			s := create(t, conn{memory: data}, Limits{}, func() time.Time { return now })
			present := s.Limits().WindowOf(noon)
			old := data.snapshot()
			_, err := s.Take(t.Context(), present, 1)
			if err := errors.Join(err, s.Set(t.Context(), "c", 7), lose(data, s, old)); err != nil {
				t.Fatal(err)
			}
			var wait *WaitError
			if _, err := s.Take(t.Context(), present+5, 1); !errors.Is(err, ErrLoss) || !errors.As(err, &wait) || !wait.Until.Equal(noon.Add(7*time.Minute)) {
				t.Errorf("want a refusal for a minute of skew, five windows and one more: %v", err)
			}
			if _, err := s.Next(t.Context(), "c", 1); !errors.Is(err, ErrCounter) && !errors.Is(err, ErrNoCounter) {
				t.Errorf("counter: %v", err)
			}
			now = wait.Until
			if _, err := s.Take(t.Context(), present+7, 1); err != nil {
				t.Error(err)
			}
			if err := s.Set(t.Context(), "c", 100); err != nil {
				t.Error(err)
			}
			if n, err := s.Next(t.Context(), "c", 3); n != 100 || err != nil {
				t.Errorf("counter: %d, %v", n, err)
			}
			if err := s.Set(t.Context(), "c", 102); !errors.Is(err, ErrInvalid) {
				t.Errorf("a counter is lowered: %v", err)
			}
		})
	}
}

// TestLossWithoutClock: a process whose clock may be wrong sets no floor, but makes sure that others do.
func TestLossWithoutClock(t *testing.T) {
	now, data := noon, newMemory()
	data.clock = func() time.Time { return noon }
	s := create(t, conn{memory: data}, Limits{}, func() time.Time { return now })
	old := data.snapshot()
	if _, err := s.Take(t.Context(), s.Limits().WindowOf(noon), 1); err != nil {
		t.Fatal(err)
	}
	data.restore(old)
	now = noon.Add(time.Hour)
	if _, err := s.Take(t.Context(), s.Limits().WindowOf(noon), 1); !errors.Is(err, ErrClock) {
		t.Error(err)
	}
	other := open(t, conn{memory: data}, func() time.Time { return noon })
	if _, err := other.Take(t.Context(), s.Limits().WindowOf(noon), 1); !errors.Is(err, ErrLoss) {
		t.Errorf("another process, which saw nothing: %v", err)
	}
}

func TestOpen(t *testing.T) {
	data, clock := newMemory(), func() time.Time { return noon }
	_, err := Open(t.Context(), conn{memory: data}, Config{Name: "s", Clock: clock})
	want := func(want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	want(ErrNoSpace)
	for _, l := range []Limits{{Nodes: 1 << 18}, {Window: time.Millisecond}, {Ahead: 33}, {MaxSkew: -1}} {
		_, err = Create(t.Context(), conn{memory: data}, Config{Name: "s", Limits: l, New: true, Clock: clock})
		want(ErrInvalid)
	}
	s, err := Create(t.Context(), conn{memory: data}, Config{Name: "s", Check: [8]byte{1}, Clock: clock})
	want(nil)
	_, err = s.Take(t.Context(), s.Limits().WindowOf(noon), 1)
	want(ErrLoss) // the secret was in use
	_, err = Create(t.Context(), conn{memory: data}, Config{Name: "s", New: true, Clock: clock})
	want(ErrExists)
	err = s.CheckSecret([8]byte{2})
	want(ErrSecret)
	err = s.CheckSecret([8]byte{1})
	want(nil)
	data.data["s/leases"] = "1 0 0"
	_, err = s.Take(t.Context(), s.Limits().WindowOf(noon)+100, 1)
	want(ErrCorrupt)
	data.data["s/meta"] = strings.Replace(data.data["s/meta"], `"Window":60`, `"Window":10`, 1)
	_, err = s.Take(t.Context(), s.Limits().WindowOf(noon)+100, 1)
	want(ErrNoSpace) // made anew
	for _, meta := range []string{`{"format":2}`, `{"format":1}`} {
		data.data["s/meta"] = meta
		_, err = Open(t.Context(), conn{memory: data}, Config{Name: "s", Clock: clock})
		want(ErrCorrupt)
	}
}

// TestNumbers: they only grow, whatever is taken, and stay small.
func TestNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	n, err := decodeNumbers(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int64]uint32{}
	for i := range 20000 {
		window := random.Int64N(100) + int64(i)/100 + random.Int64N(2)*random.Int64N(2)*1e6
		next := n.at(window) + 1 + random.Uint32N(3)
		if next < want[window] {
			t.Fatalf("window %d went back from %d to %d", window, want[window], next)
		}
		want[window] = next
		n.put(window, next, maxSteps)
		if n, err = decodeNumbers(n.encode()); err != nil || len(n.encode()) > 2000 {
			t.Fatalf("%d bytes, %v", len(n.encode()), err)
		}
	}
	for window, next := range want {
		if n.at(window) < next {
			t.Errorf("window %d went back from %d to %d", window, next, n.at(window))
		}
	}
}

// TestConcurrent: goroutines of several processes take at once.
func TestConcurrent(t *testing.T) {
	data := newMemory()
	create(t, conn{memory: data}, Limits{}, func() time.Time { return noon })
	var mu sync.Mutex
	nodes, all := map[uint32]bool{}, sync.WaitGroup{}
	for range 4 {
		s := open(t, conn{memory: data}, func() time.Time { return noon })
		for range 4 {
			all.Go(func() {
				for range 20 {
					l, err := s.Take(t.Context(), s.Limits().WindowOf(noon), 1)
					mu.Lock()
					if err != nil || nodes[l.FirstNode] {
						t.Errorf("node %d, %v", l.FirstNode, err)
					}
					nodes[l.FirstNode] = true
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	if len(nodes) != 320 || !nodes[319] {
		t.Errorf("%d nodes", len(nodes))
	}
}
