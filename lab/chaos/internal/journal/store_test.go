package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

var ctx = context.Background()

// newStore returns a store whose calls are noted, and the one behind it.
func newStore(t *testing.T) (*Writer, *Reader, lease.Source, *storetest.Leases) {
	w, r := newWriter(t)
	inner := storetest.NewLeases(store.DefaultLimits(), nil)
	return w, r, Store(inner, w), inner
}

func readEvents(t *testing.T, r *Reader) []Event {
	t.Helper()
	events, err := r.Events()
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// TestStorePassesOn runs the conformance suite through the notes.
func TestStorePassesOn(t *testing.T) {
	storetest.RunLeases(t, func(t *testing.T, limits store.Limits, clock func() time.Time) func() lease.Source {
		w, _ := newWriter(t)
		s := Store(storetest.NewLeases(limits, clock), w)
		return func() lease.Source { return s }
	})
}

func TestStoreNotesCalls(t *testing.T) {
	w, r, s, _ := newStore(t)
	before := int64(1)
	owner := lease.NewToken(time.Now())
	held, err := s.Acquire(ctx, lease.Request{Nodes: 3, TTL: time.Minute, Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	renewed, _ := s.Renew(ctx, held, lease.Renewal{TTL: 2 * time.Minute, Token: lease.Token{1}})
	found, _ := s.Lookup(ctx, held)
	s.Release(ctx, renewed, time.Unix(held.Start, 0))
	_, err = s.Renew(ctx, renewed, lease.Renewal{TTL: time.Minute, Token: lease.Token{2}})
	if err := errors.Join(w.Note("clock back"), w.Close()); err != nil {
		t.Fatal(err)
	}

	events := readEvents(t, r)
	want := []Event{
		{Kind: Start, Worker: "w1", Pid: os.Getpid()},
		{Kind: Call, Call: 1, Op: Acquire, Token: owner, Nodes: 3, TTL: 60},
		{Kind: Return, Call: 1, Op: Acquire, Outcome: OK, Record: &held},
		{Kind: Call, Call: 2, Op: Renew, Held: &held, Token: lease.Token{1}, TTL: 120},
		{Kind: Return, Call: 2, Op: Renew, Outcome: OK, Record: &renewed},
		{Kind: Call, Call: 3, Op: Lookup, Held: &held},
		{Kind: Return, Call: 3, Op: Lookup, Outcome: OK, Record: &found},
		{Kind: Call, Call: 4, Op: Release, Held: &renewed, LastUsed: held.Start},
		{Kind: Return, Call: 4, Op: Release, Outcome: OK},
		{Kind: Call, Call: 5, Op: Renew, Held: &renewed, Token: lease.Token{2}, TTL: 60},
		{Kind: Return, Call: 5, Op: Renew, Outcome: Lost, Error: err.Error()},
		{Kind: Note, Text: "clock back"},
		{Kind: Stop},
	}
	if len(events) != len(want) {
		t.Fatalf("%d events, want %d: %+v", len(events), len(want), events)
	}
	for i, e := range events {
		if e.At < before || e.At > Now() {
			t.Errorf("event %d at %d, want between %d and now", i, e.At, before)
		}
		before, e.At = e.At, 0
		if got, want := string(e.line()), string(want[i].line()); got != want {
			t.Errorf("event %d:\n%s want\n%s", i, got, want)
		}
	}
}

// TestCallIsNotedBeforeItIsMade looks at the journal from within a call, where a kill would leave it.
func TestCallIsNotedBeforeItIsMade(t *testing.T) {
	_, r, s, inner := newStore(t)
	var during []Event
	inner.Inject(func(storetest.Op) storetest.Fault {
		during = readEvents(t, r)
		return storetest.Fault{}
	})
	if _, err := s.Acquire(ctx, lease.Request{Nodes: 1, TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if len(during) != 2 || during[1].Kind != Call || during[1].Op != Acquire {
		t.Errorf("during the call the journal had %+v, want a start and the call", during)
	}
	if after := readEvents(t, r); len(after) != 1 || after[0].Kind != Return {
		t.Errorf("after the call the journal had %+v more, want its return", after)
	}
}

func TestCallThatCannotBeNotedIsNotMade(t *testing.T) {
	w, _, s, inner := newStore(t)
	w.events.Close()
	_, err := s.Acquire(ctx, lease.Request{Nodes: 1, TTL: time.Minute})
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("Acquire: error %v, want that of the journal", err)
	}
	if records, _ := inner.List(ctx); len(records) != 0 {
		t.Errorf("the store granted %+v", records)
	}
}

func TestReturnThatCannotBeNotedIsAnError(t *testing.T) {
	w, _, s, inner := newStore(t)
	inner.Inject(func(storetest.Op) storetest.Fault {
		w.events.Close()
		return storetest.Fault{}
	})
	if rec, err := s.Acquire(ctx, lease.Request{Nodes: 1, TTL: time.Minute}); !errors.Is(err, os.ErrClosed) || rec != (lease.Record{}) {
		t.Errorf("Acquire: %+v, error %v, want nothing but the journal's error", rec, err)
	}
}

func TestOutcomeOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want Outcome
	}{
		{nil, OK},
		{lease.ErrLost, Lost},
		{fmt.Errorf("x: %w", lease.ErrNoRange), NoRange},
		{lease.ErrInvalidRequest, Invalid},
		{store.ErrNoStore, NoStore},
		{store.ErrCorrupt, Corrupt},
		{fmt.Errorf("x: %w", randflake.ErrEndOfLife), Ended},
		{context.DeadlineExceeded, Unknown},
		{errors.New("connection refused"), Unknown},
	} {
		got := OutcomeOf(tt.err)
		if got != tt.want {
			t.Errorf("OutcomeOf(%v) = %s, want %s", tt.err, got, tt.want)
		}
	}
}

func TestTornLine(t *testing.T) {
	w, r := newWriter(t)
	readEvents(t, r)
	w.events.WriteString(`{"at":1,"kind":`)
	if events := readEvents(t, r); len(events) != 0 {
		t.Errorf("half a line read as %+v", events)
	}
	w.events.WriteString("\"stop\"}\n")
	if events := readEvents(t, r); len(events) != 1 || events[0].Kind != Stop {
		t.Errorf("the whole line read as %+v", events)
	}
	w.events.WriteString("nonsense\n")
	if _, err := r.Events(); err == nil {
		t.Error("Events: no error for a line of nonsense")
	}
}

func TestRefusals(t *testing.T) {
	w, r := newWriter(t)
	for range 3 {
		w.Refused(randflake.ErrExhausted)
	}
	w.Refused(randflake.ErrLeaseEnded)
	w.Refused(errors.New("anything else"))
	got, err := r.Refusals()
	if err != nil || len(got) != 3 || got["exhausted"] != 3 || got["leaseEnded"] != 1 || got["other"] != 1 {
		t.Errorf("refusals %v, error %v, want 3 exhausted, 1 leaseEnded, 1 other", got, err)
	}
}

func TestJournalThatHardlyBegan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "worker")
	r := NewReader(dir)
	r.Dead()
	for _, begin := range []func(){
		func() {},
		func() { os.Mkdir(dir, 0o700) },
		func() { os.WriteFile(filepath.Join(dir, refusalsName), nil, 0o600) },
		func() { os.WriteFile(filepath.Join(dir, eventsName), []byte(`{"at"`), 0o600) },
	} {
		begin()
		events, err1 := r.Events()
		counts, err2 := r.Refusals()
		segments, err3 := r.Segments()
		if err := errors.Join(err1, err2, err3); err != nil || len(events)+len(counts)+len(segments) > 0 {
			t.Errorf("events %v, refusals %v, segments %v, error %v, want nothing", events, counts, segments, err)
		}
	}
}

func TestCreateTwice(t *testing.T) {
	w, _ := newWriter(t)
	if _, err := Create(w.dir, "w2"); !errors.Is(err, os.ErrExist) {
		t.Errorf("Create: error %v, want that the directory exists", err)
	}
}

func TestNowGrows(t *testing.T) {
	times := make([]int64, 1000)
	for i := range times {
		times[i] = Now()
	}
	if !slices.IsSorted(times) || times[0] <= 0 {
		t.Error("CLOCK_MONOTONIC is not")
	}
}
