package check

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
)

// A count is a run that a test acts out: what workers note of a counter whose numbers are 7, 12, 17 and so on.
type count struct {
	*testing.T
	dir string
}

// worker has a worker note numbers that its handle gave, a call for each slice, and its books unless it was killed.
func (c count) worker(name string, books *journal.Books, calls ...[]int64) {
	c.Helper()
	w, err := journal.Create(filepath.Join(c.dir, name), name)
	if err != nil {
		c.Fatal(err)
	}
	for _, numbers := range calls {
		if err := w.Took("invoices", 1, journal.Now(), numbers, 5); err != nil {
			c.Fatal(err)
		}
	}
	if books == nil {
		return
	}
	if err := w.Closed("invoices", 1, *books); err != nil {
		c.Fatal(err)
	}
	if err := w.Close(); err != nil {
		c.Fatal(err)
	}
}

// record is that of the counter when so many numbers were taken and not given back.
func record(taken, returned uint64) counter.Info {
	return counter.Info{Name: "invoices", Start: 7, Stride: 5, Next: 7 + 5*int64(taken-returned), Left: 100, Taken: taken, Returned: returned}
}

// TestNumbers acts out what may go wrong, and what may not be taken for it.
func TestNumbers(t *testing.T) {
	for name, tt := range map[string]struct {
		act    func(count)
		info   counter.Info
		strict bool
		lost   bool // data
		remote bool
		want   string
	}{
		"good": {act: func(c count) {
			c.worker("a", &journal.Books{Taken: 10, Issued: 3, Returned: 7}, []int64{7, 12, 17})
			c.worker("b", &journal.Books{Taken: 4, Issued: 1, Lost: 3}, []int64{22})
		}, info: record(14, 7)},
		"kill":                  {act: func(c count) { c.worker("a", nil, []int64{7}) }, info: record(21, 0)},
		"a kill loses too much": {act: func(c count) { c.worker("a", nil, []int64{7}) }, info: record(22, 0), want: "21 numbers are missing, want 0 to 20"},
		"lost by none": {act: func(c count) {
			c.worker("a", &journal.Books{Taken: 2, Issued: 2}, []int64{7, 17})
		}, info: record(3, 0), want: "1 numbers are missing, want 0 to 0"},
		"lost without a word of a service": {act: func(c count) {
			c.worker("a", &journal.Books{Taken: 2, Issued: 2}, []int64{7, 17})
		}, info: record(3, 0), remote: true},
		"taken back by a service, and used": {act: func(c count) {
			c.worker("a", &journal.Books{Taken: 3, Issued: 1, Lost: 2}, []int64{7})
		}, info: record(3, 1), remote: true, want: "1 numbers are missing, want 2 to 2"},
		"perhaps taken": {act: func(c count) {
			c.worker("a", &journal.Books{Taken: 1, Issued: 1, Unsure: 2}, []int64{7})
		}, info: record(3, 0)},
		"perhaps given back": {act: func(c count) {
			c.worker("a", &journal.Books{Taken: 3, Issued: 1, Lost: 2, Doubtful: 2}, []int64{7})
		}, info: record(3, 2)},
		"twice": {act: func(c count) {
			c.worker("a", &journal.Books{Taken: 2, Issued: 2}, []int64{7, 12})
			c.worker("b", &journal.Books{Taken: 1, Issued: 1}, []int64{12})
		}, info: record(3, 0), want: "12 was issued twice"},
		"not in the books": {act: func(c count) {
			c.worker("a", &journal.Books{Taken: 2, Issued: 1, Lost: 1}, []int64{7, 12})
		}, info: record(2, 0), want: "2 numbers were issued"},
		"held in the end": {act: func(c count) {
			c.worker("a", &journal.Books{Taken: 2, Issued: 1, Held: 1}, []int64{7})
		}, info: record(2, 0), want: "its books are"},
		"not one of them":  {act: func(c count) { c.worker("a", nil, []int64{8}) }, info: record(2, 0), want: "which it has not given"},
		"from nobody":      {act: func(c count) { c.worker("a", nil, []int64{17}) }, info: record(2, 0), want: "which it has not given"},
		"before the start": {act: func(c count) { c.worker("a", nil, []int64{2}) }, info: record(2, 0), want: "which it has not given"},
		"made anew":        {act: func(c count) { c.worker("a", nil, []int64{2, 7}, []int64{17}) }, info: record(3, 0), lost: true},
		"twice after a loss": {act: func(c count) {
			c.worker("a", nil, []int64{2, 7})
			c.worker("b", nil, []int64{7})
		}, info: record(3, 0), lost: true, want: "7 was issued twice"},
		"out of order": {act: func(c count) {
			c.worker("a", &journal.Books{Taken: 2, Issued: 2}, []int64{12}, []int64{7})
		}, info: record(2, 0), want: "7 was issued after 12"},
		"strict": {act: func(c count) {
			c.worker("a", &journal.Books{Taken: 3, Issued: 3}, []int64{7, 12}, []int64{22})
			c.worker("b", &journal.Books{Taken: 2, Issued: 1, Lost: 1}, []int64{27})
		}, info: record(5, 0), strict: true},
		"not linearizable": {act: func(c count) {
			c.worker("a", &journal.Books{Taken: 1, Issued: 1}, []int64{12})
			c.worker("b", &journal.Books{Taken: 1, Issued: 1}, []int64{7})
		}, info: record(2, 0), strict: true, want: "not linearizable"},
		"side by side": {act: func(c count) {
			c.worker("a", &journal.Books{Taken: 2, Issued: 2}, []int64{7, 17})
			c.worker("b", &journal.Books{Taken: 1, Issued: 1}, []int64{12})
		}, info: record(3, 0), strict: true, want: "not side by side"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tt.act(count{t, dir})
			n, err := CheckNumbers(dir, []Counter{{Info: tt.info, Strict: tt.strict, PerKill: 20, Remote: tt.remote}}, tt.lost)
			if err != nil {
				t.Fatal(err)
			}
			found := strings.Join(n.Wrong, "\n")
			if n.OK() != (tt.want == "") || !strings.Contains(found, tt.want) {
				t.Errorf("found %q, want %q: %+v", found, tt.want, n)
			}
		})
	}
}

func TestHighest(t *testing.T) {
	c := count{t, t.TempDir()}
	c.worker("a", nil, []int64{7, 22}, []int64{27})
	c.worker("b", nil, []int64{17})
	if highest, err := Highest(c.dir); err != nil || highest["invoices"] != 27 {
		t.Errorf("highest %v, %v, want 27", highest, err)
	}
}
