package chaos

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake"
)

// A result is what the journals of a run show.
type result struct {
	IDs, Numbers  uint64
	Duplicates    uint64   // IDs that were made once more
	LastDuplicate int64    // the newest second of a duplicate ID
	TwiceGiven    uint64   // numbers
	Outside       uint64   // IDs outside of the leases of their makers
	Shared        int      // pairs of leases with a second of a node in common
	Wrong         []string // the first few of all that
}

// ok reports whether nothing was found.
func (r result) ok() bool {
	return r.Duplicates == 0 && r.TwiceGiven == 0 && r.Outside == 0 && r.Shared == 0
}

// err returns what was found, if that may not be. A copied process may repeat IDs until the windows that it held end.
func (r result) err(repeats time.Time) error {
	onlyRepeats := r.Shared == 0 && r.Outside == 0 && r.TwiceGiven == 0 && !repeats.IsZero() && r.LastDuplicate <= repeats.Unix()
	if r.ok() || onlyRepeats {
		return nil
	}
	return errors.New(strings.Join(r.Wrong, "\n"))
}

func (r *result) wrong(format string, args ...any) {
	if len(r.Wrong) < 10 {
		r.Wrong = append(r.Wrong, fmt.Sprintf(format, args...))
	}
}

// A holding is a lease that a process was granted.
type holding struct {
	randflake.Lease
	adopted bool // from another process, as its copy
	process string
}

func (h holding) String() string {
	return fmt.Sprintf("nodes %d to %d from %d to %d of %s", h.FirstNode, h.LastNode, h.Start.Unix(), h.End.Unix(), h.process)
}

// A run is a run of raw values, or of numbers, that a process was given.
type run struct {
	first, last uint64
	process     string
}

// check reads the journals at paths, of all processes that used one space with one secret, and checks:
//
//   - no ID was made twice;
//   - each lies in a lease that its maker had been granted by then;
//   - no two leases have a second of a node in common;
//   - no number of a counter was given twice.
func check(secret randflake.Secret, paths []string) (result, error) {
	c := checker{cipher: randflake.NewCipher(secret), numbers: make(map[string][]run)}
	for _, path := range paths {
		process := filepath.Base(path)
		var mine []holding
		err := readJournal(path, func(e event) {
			if e.Granted != nil {
				mine = append(mine, holding{*e.Granted, e.Adopted, process})
			}
			c.count(process, e)
			c.take(process, mine, e.IDs)
		})
		if err != nil {
			return c.result, err
		}
		c.leases = append(c.leases, mine...)
	}
	c.compareLeases()
	twice(c.ids, func(first, last uint64, a, b string) {
		second, node, sequence := split(last)
		c.result.Duplicates += last - first + 1
		c.result.LastDuplicate = max(c.result.LastDuplicate, second)
		c.result.wrong("%d IDs were made twice, by %s and by %s, up to second %d, node %d, sequence %d",
			last-first+1, a, b, second, node, sequence)
	})
	for name, runs := range c.numbers {
		twice(runs, func(first, last uint64, a, b string) {
			c.result.TwiceGiven += last - first + 1
			c.result.wrong("%s: %d to %d were given twice, to %s and to %s", name, first, last, a, b)
		})
	}
	return c.result, nil
}

type checker struct {
	cipher  *randflake.Cipher
	leases  []holding
	ids     []run
	numbers map[string][]run // by counter
	result  result
}

// count takes in numbers of a counter.
func (c *checker) count(process string, e event) {
	for _, r := range e.Runs {
		c.result.Numbers += uint64(r[1] - r[0] + 1)
		numbers := run{uint64(r[0]), uint64(r[1]), process}
		c.numbers[e.Counter] = append(c.numbers[e.Counter], numbers)
	}
}

// take takes in IDs that a process made when it had these leases.
func (c *checker) take(process string, mine []holding, ids []randflake.ID) {
	raw := make([]randflake.Raw, len(ids))
	c.cipher.DecryptSlice(raw, ids)
	slices.Sort(raw)
	c.result.IDs += uint64(len(ids))
	for from := 0; from < len(raw); {
		to := from + 1
		// Within a node and a second, so that one lease has the whole run.
		for to < len(raw) && raw[to] == raw[to-1]+1 && raw[to]&randflake.MaxSequence != 0 {
			to++
		}
		r := run{uint64(raw[from]), uint64(raw[to-1]), process}
		second, node, _ := split(r.first)
		if !covered(mine, second, node) {
			c.result.Outside += uint64(to - from)
			c.result.wrong("%s made %d IDs of node %d, second %d, for which it had no lease", process, to-from, node, second)
		}
		c.ids = append(c.ids, r)
		from = to
	}
}

// covered reports whether a lease allows the second.
func covered(mine []holding, second int64, node uint32) bool {
	for _, l := range slices.Backward(mine) {
		ofNode := l.FirstNode <= node && node <= l.LastNode
		ofSecond := l.Start.Unix() <= second && second < l.End.Unix()
		if ofNode && ofSecond {
			return true
		}
	}
	return false
}

// split returns the parts of a raw value.
func split(raw uint64) (second int64, node, sequence uint32) {
	f := randflake.Raw(raw).Fields()
	return f.Time.Unix(), f.Node, f.Sequence
}

// compareLeases looks for leases that have a second of a node in common. A copy of a process may
// share that of the original.
func (c *checker) compareLeases() {
	for i, a := range c.leases {
		for _, b := range c.leases[:i] {
			same := a.Start.Equal(b.Start) && a.FirstNode == b.FirstNode
			if same && (a.adopted || b.adopted) {
				continue
			}
			nodes := a.FirstNode <= b.LastNode && b.FirstNode <= a.LastNode
			seconds := a.Start.Before(b.End) && b.Start.Before(a.End)
			if nodes && seconds {
				c.result.Shared++
				c.result.wrong("seconds of nodes in common: %v, and %v", b, a)
			}
		}
	}
}

// twice sorts runs, and calls found with each overlap of a run with an earlier one, and with the processes of both.
func twice(runs []run, found func(first, last uint64, a, b string)) {
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.first, b.first) })
	longest := 0
	for i := 1; i < len(runs); i++ {
		r := runs[i]
		before := runs[longest]
		if r.first <= before.last {
			found(r.first, min(r.last, before.last), before.process, r.process)
		}
		if r.last > before.last {
			longest = i
		}
	}
}
