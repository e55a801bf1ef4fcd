package main

import (
	"errors"
	"testing"

	"github.com/randflake/randflake/lab/chaos/internal/check"
	"github.com/randflake/randflake/lab/chaos/internal/fault"
	"github.com/randflake/randflake/lab/chaos/internal/page"
)

func TestRows(t *testing.T) {
	kill, clone := fault.Fault{Name: "kill"}, fault.Fault{Name: "clone", Repeats: true}
	good := check.Result{Made: 10, Calls: map[string]uint64{"renew ok": 2, "renew lost": 1}, Linearizable: check.Linearizable}
	bad := check.Result{Made: 1, Duplicates: 3, Outside: 4, Overlap: "two", Linearizable: check.Violated}
	repeats := check.Result{Made: 5, Duplicates: 2, Outside: 2, Linearizable: check.Linearizable}
	var refused [page.Kinds]uint64
	refused[page.Ended] = 7
	outcomes := []outcome{
		{job: job{store: "redis", fault: kill}, Result: good},
		{job: job{store: "file", fault: clone}, Result: repeats},
		{job: job{store: "file", fault: kill}, Result: good, refused: refused},
		{job: job{store: "file", fault: kill, round: 1}, Result: bad, err: errors.New("bad")},
	}
	rows := rowsOf(outcomes)
	if len(rows) != 3 || rows[0].store != "file" || rows[0].fault.Name != "kill" || rows[1].fault.Name != "clone" || rows[2].store != "redis" {
		t.Fatalf("rows %+v, want file kill, file clone, redis kill", rows)
	}
	if r := rows[0]; r.runs != 2 || r.ids != 11 || r.refusals != 7 || r.calls != 3 || r.duplicates != 3 || r.violations != 5 || r.linearizable || r.expected {
		t.Errorf("row %+v, want the sums of a good and a bad run", r)
	}
	if r := rows[1]; r.duplicates != 2 || r.violations != 0 || !r.linearizable || !r.expected {
		t.Errorf("row %+v, want repeats, which are in order", r)
	}
	if got, want := sum(outcomes), (total{Made: 26, Duplicates: 3, Repeats: 2, Failed: 1}); got != want {
		t.Errorf("total %+v, want %+v", got, want)
	}
}

// TestFindings tells what a fault may cause from what it may not.
func TestFindings(t *testing.T) {
	clean := check.Result{Linearizable: check.Linearizable}
	repeated := clean
	repeated.Duplicates, repeated.LastDuplicate, repeated.Outside = 3, 100, 3
	overlapping := repeated
	overlapping.Overlap = "two"
	undecided := clean
	undecided.Linearizable = check.Undecided
	for _, tt := range []struct {
		name    string
		result  check.Result
		repeats bool
		until   int64
		ok      bool
	}{
		{"clean", clean, false, 0, true},
		{"repeats", repeated, false, 100, false},
		{"repeats, in order", repeated, true, 100, true},
		{"repeats, and too late", repeated, true, 99, false},
		{"repeats, never noticed", repeated, true, 0, false},
		{"leases overlap", overlapping, true, 100, false},
		{"undecided", undecided, true, 100, false},
	} {
		o := outcome{job: job{fault: fault.Fault{Repeats: tt.repeats}}, Result: tt.result}
		if err := o.findings(tt.until); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
