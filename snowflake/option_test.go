package snowflake

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
)

func TestOptionsAreChecked(t *testing.T) {
	small := smallLayout(t)
	plain := mustLayout(t, Time(41), Static("worker", 10), Sequence(12))
	seconds, err := NewLayout("seconds", epoch2025, time.Second, Time(31), Static("worker", 7), Sequence(3))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		layout *Layout
		option Option
		kind   error
		text   string
	}{
		{"zero", small, Option{}, ErrInvalidOption, "option 1 is the zero Option"},
		{"no clock", small, WithClock(nil), ErrInvalidOption, "clock is nil: leave WithClock out"},
		{"nobody to tell", small, OnRefusal(nil), ErrInvalidOption, "OnRefusal: f is nil"},
		{"keeper's", small, Leasing(lease.WithTTL(time.Minute)), ErrInvalidOption, "Keep alone"},
		{"no layout", nil, RunAhead(0), ErrInvalidLayout, "nil or zero"},
		{"zero layout", new(Layout), RunAhead(0), ErrInvalidLayout, "nil or zero"},
		{"RunAhead -1", small, RunAhead(-1), ErrInvalidOption, "RunAhead: -1ns: want 0 or more"},
		{"RunAhead less than a unit", seconds, RunAhead(999 * time.Millisecond), ErrInvalidOption, "at least 1s"},
		{"StepBack without a part", plain, StepBack(), ErrInvalidOption, "rollback part"},
		{"RandomStart 0", small, RandomStart(0), ErrInvalidOption, "at least 1"},
		{"RandomStart 9", small, RandomStart(9), ErrInvalidOption, "at most 8"},
		{"Pin what is not there", small, Pin("shard", 1), ErrInvalidOption, "shard"},
		{"Pin what does not fit", small, Pin("datacenter", 4), ErrInvalidOption, "at most 3"},
		{"RunAhead 0", seconds, RunAhead(0), nil, ""},
		{"RandomStart 8", small, RandomStart(8), nil, ""},
		{"RandomStart 1", small, RandomStart(1), nil, ""},
	} {
		g, err := New(test.layout, testLease(1, 0, 60), test.option)
		if test.kind == nil {
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if g != nil || !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, want %v that says %q", test.name, err, test.kind, test.text)
		}
	}
}

func TestLastOptionHolds(t *testing.T) {
	b := newBench(t, RunAhead(time.Hour), RunAhead(time.Millisecond))
	b.want(8, 0)
	b.want(8, 1)
	b.refuses(ErrExhausted)
}

func TestPin(t *testing.T) {
	b := newBenchFor(t, smallLayout(t), testLease(5, 0, 60), Pin("datacenter", 3))
	if p := b.want(1, 0); p.Static["datacenter"] != 3 || p.Static["worker"] != 5 {
		t.Errorf("%+v, want worker 5 of datacenter 3", p)
	}
	if _, err := b.Replace(testLease(32, 0, 60)); !errors.Is(err, ErrInvalidLease) {
		t.Errorf("worker 32 of a pinned datacenter: %v", err)
	}
	b = newBenchFor(t, smallLayout(t), testLease(2, 0, 60), Pin("worker", 31))
	if p := b.want(1, 0); p.Static["datacenter"] != 2 || p.Static["worker"] != 31 {
		t.Errorf("%+v, want worker 31 of datacenter 2", p)
	}
}

func TestOnRefusal(t *testing.T) {
	var told []error
	b := newBench(t, OnRefusal(func(err error, _ bool) { told = append(told, err) }))
	b.want(7, 0)
	b.Fill(make([]ID, 2))
	b.refuses(ErrExhausted)
	b.step(-1)
	b.refuses(ErrClockBackward)
	b.step(60_000)
	b.Wait(t.Context())
	b.Close()
	b.refuses(ErrClosed)
	want := []error{ErrExhausted, ErrExhausted, ErrClockBackward, ErrLeaseEnded, ErrClosed}
	if !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
}
