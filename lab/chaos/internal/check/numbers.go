package check

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lab/chaos/internal/journal"
)

// A Counter is what is known of a counter when all processes are gone.
type Counter struct {
	counter.Info        // as the space shows it
	Strict       bool   // numbers were taken by strict handles alone
	PerKill      uint64 // how many numbers a process that was killed may have lost
	Remote       bool   // a service forgets in time whose block was asked for again, so that handles know a part of what is lost
}

// Numbers is what was found of the numbers that processes took from counters. Of what is wrong it tells the first few.
type Numbers struct {
	Processes, Killed int
	Issued            uint64 // numbers, those that were issued twice as two
	Duplicates        uint64
	Lost              uint64 // taken from the space, and neither issued nor given back; 0 where the space lost data
	ByKills           uint64 // those of them that no handle says to have lost
	Longest           uint64 // run of lost numbers, of counters that are not strict
	Linearizable      Verdict
	Wrong             []string
}

// OK reports whether nothing was found, and nothing left undecided.
func (n Numbers) OK() bool {
	return n.Duplicates == 0 && n.Linearizable == Linearizable && len(n.Wrong) == 0
}

func (n *Numbers) wrong(format string, args ...any) {
	if len(n.Wrong) < few {
		n.Wrong = append(n.Wrong, fmt.Sprintf(format, args...))
	}
}

// A handle is what a process noted of a handle on a counter.
type handle struct {
	process string
	counter string
	took    []journal.Event
	books   *journal.Books // nil if the process was killed
}

// handles reads the journals of processes that are gone, one in each directory in dir.
func handles(dir string, n *Numbers) (all []*handle, err error) {
	dirs, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, dir := range dirs {
		events, err := journal.NewReader(dir).Events()
		if err != nil {
			return nil, err
		}
		process := make(map[int]*handle)
		for _, e := range events {
			switch e.Kind {
			case journal.Start:
				n.Processes++
				n.Killed++ // unless it says otherwise
			case journal.Stop:
				n.Killed--
			case journal.Took, journal.Closed:
				h := process[e.Handle]
				if h == nil {
					h = &handle{process: filepath.Base(dir), counter: e.Counter}
					process[e.Handle], all = h, append(all, h)
				}
				if e.Kind == journal.Closed {
					h.books = e.Books
				} else {
					h.took = append(h.took, e)
				}
			}
		}
	}
	return all, err
}

// Highest returns the highest number of each counter that processes have noted by now.
func Highest(dir string) (map[string]int64, error) {
	all, err := handles(dir, new(Numbers))
	highest := make(map[string]int64)
	for _, h := range all {
		for _, e := range h.took {
			highest[h.counter] = max(highest[h.counter], last(e))
		}
	}
	return highest, err
}

// last returns the highest number of what was taken.
func last(e journal.Event) int64 { return e.Runs[len(e.Runs)-1][1] }

// CheckNumbers checks what processes that are gone noted of counters, by journals in dir:
//
//   - No number was issued twice, and each is one of the counter's, before the first that nobody has.
//   - Numbers of one handle grow from call to call; those of all strict handles on a counter do, whatever the process.
//   - The books of handles that were closed, the record of the counter and the journals balance: what is missing was
//     lost by handles that say so, or by processes that were killed, and not more by one of those than it may.
//
// Where the space lost data its record can't balance; through a service more may be missing than handles know.
func CheckNumbers(dir string, counters []Counter, dataLost bool) (Numbers, error) {
	n := Numbers{Linearizable: Linearizable}
	all, err := handles(dir, &n)
	for _, c := range counters {
		var mine []*handle
		for _, h := range all {
			if h.counter == c.Name {
				n.checkHandle(h, c)
				mine = append(mine, h)
			}
		}
		longest, issued := n.checkRuns(mine, c, dataLost)
		if !dataLost {
			n.balance(mine, c, issued)
			if c.Skipped == 0 {
				n.Longest = max(n.Longest, longest)
			}
		}
		if c.Strict {
			n.linearize(mine, c)
		}
	}
	return n, err
}

// checkHandle checks what a handle says of itself.
func (n *Numbers) checkHandle(h *handle, c Counter) {
	var issued uint64
	byEnd := slices.Clone(h.took)
	slices.SortFunc(byEnd, func(a, b journal.Event) int { return cmp.Compare(a.At, b.At) })
	slices.SortFunc(h.took, func(a, b journal.Event) int { return cmp.Compare(a.Began, b.Began) })
	highest, ended := int64(math.MinInt64), 0 // the highest number of those calls that had ended
	for _, e := range h.took {
		for ; byEnd[ended].At < e.Began; ended++ {
			highest = max(highest, last(byEnd[ended]))
		}
		if e.Runs[0][0] <= highest {
			n.wrong("%s of %s: %d was issued after %d", h.counter, h.process, e.Runs[0][0], highest)
		}
		for _, r := range e.Runs {
			issued += uint64(r[1]-r[0])/uint64(c.Stride) + 1
		}
	}
	b := h.books
	if b != nil && (b.Issued != issued || b.Held != 0 || b.Taken != b.Issued+b.Returned+b.Lost) {
		n.wrong("%s of %s: its books are %+v, and %d numbers were issued", h.counter, h.process, *b, issued)
	}
	n.Issued += issued
}

// checkRuns checks that no two runs share a number, and that each is one of the counter's. It returns the longest run that
// was not issued, and how many numbers were.
func (n *Numbers) checkRuns(all []*handle, c Counter, dataLost bool) (longest, issued uint64) {
	var runs [][2]int64
	for _, h := range all {
		for _, e := range h.took {
			runs = append(runs, e.Runs...)
		}
	}
	slices.SortFunc(runs, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	next := c.Start
	if dataLost && len(runs) > 0 { // it may have had another start before
		next = min(next, runs[0][0])
	}
	for _, r := range runs {
		if (r[0]-c.Start)%c.Stride != 0 || r[0] < c.Start && !dataLost || c.Left > 0 && r[1] >= c.Next {
			n.wrong("%s: %d to %d were issued, which it has not given: %+v", c.Name, r[0], r[1], c.Info)
		}
		count := (r[1]-r[0])/c.Stride + 1
		twice := min(max((next-r[0])/c.Stride, 0), count)
		if twice > 0 && n.Duplicates == 0 {
			n.wrong("%s: %d was issued twice", c.Name, r[0])
		}
		n.Duplicates += uint64(twice)
		issued += uint64(count - twice)
		if r[0] > next && !c.Strict {
			longest = max(longest, uint64(r[0]-next)/uint64(c.Stride))
		}
		next = max(next, r[1]+c.Stride)
	}
	return longest, issued
}

// balance checks that as many numbers are missing as handles and kills account for.
func (n *Numbers) balance(all []*handle, c Counter, issued uint64) {
	var low, high uint64
	for _, h := range all {
		if h.books != nil {
			low += h.books.Lost - h.books.Doubtful
			high += h.books.Lost + h.books.Unsure
		}
	}
	high += uint64(n.Killed) * c.PerKill
	lost := c.Taken - c.Returned - issued
	n.Lost += lost
	if n.Killed > 0 {
		n.ByKills += lost - min(low, lost)
	}
	if lost < low || lost > high && !c.Remote {
		n.wrong("%s: %d numbers are missing, want %d to %d after %d kills: %+v", c.Name, int64(lost), low, high, n.Killed, c.Info)
	}
}

// linearize looks for an order of the calls of strict handles, each between its start and end, in which numbers grow. As
// all are different there is one such order at most, so the state is how many calls of it were made. (With the last number
// for the state the search would try a larger number before a smaller one, and again, without end.)
func (n *Numbers) linearize(all []*handle, c Counter) {
	var calls []journal.Event
	for _, h := range all {
		calls = append(calls, h.took...)
	}
	slices.SortFunc(calls, func(a, b journal.Event) int { return cmp.Compare(a.Runs[0][0], b.Runs[0][0]) })
	operations := make([]porcupine.Operation, len(calls))
	for i, e := range calls {
		operations[i] = porcupine.Operation{ClientId: i, Input: i, Call: e.Began, Return: e.At}
		if len(e.Runs) > 1 || i > 0 && e.Runs[0][0] <= last(calls[i-1]) {
			n.wrong("%s: a call was given %d, which are not side by side, or others were given as well", c.Name, e.Runs)
		}
	}
	model := porcupine.Model{
		Init: func() any { return 0 },
		Step: func(made, call, _ any) (bool, any) { return made == call, made.(int) + 1 },
	}
	switch porcupine.CheckOperationsTimeout(model, operations, time.Minute) {
	case porcupine.Illegal:
		n.Linearizable = Violated
		n.wrong("%s: %d calls of strict handles are not linearizable", c.Name, len(operations))
	case porcupine.Unknown:
		n.wrong("%s: %d calls of strict handles are not known to be linearizable", c.Name, len(operations))
		if n.Linearizable == Linearizable {
			n.Linearizable = Undecided
		}
	}
}
