package counter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/randflake/randflake/metrics"
	"github.com/randflake/randflake/store"
)

// A Status is a snapshot of a handle. Its counts balance: Taken = Issued + Returned + Lost + Held.
type Status struct {
	Info Info // what was last seen of the counter

	// Counts of numbers, since the handle was opened.
	Taken    uint64 // in runs
	Issued   uint64 // given to callers
	Returned uint64 // given back unused
	Lost     uint64 // neither given nor given back
	Held     uint64 // left in memory

	// Unsure counts further numbers that failed calls of the space may have taken for this handle. If they did, the
	// numbers are lost.
	Unsure uint64

	// Err is why the last attempt to get numbers failed, or nil.
	Err error
}

// books are the running totals of a handle.
type books struct {
	seen                          Info // the newest state of the counter that was seen
	Taken, Returned, Lost, Unsure uint64
	issued                        uint64 // of the runs before the current one
}

// status returns the totals as a Status.
func (k *books) status(issued uint64, err error) Status {
	s := Status{Info: k.seen, Taken: k.Taken, Issued: issued, Returned: k.Returned, Lost: k.Lost, Unsure: k.Unsure, Err: err}
	s.Held = s.Taken - s.Issued - s.Returned - s.Lost
	return s
}

// Status returns a snapshot. It never waits for the space.
func (c *Counter) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.books.status(c.issued(), c.why)
}

// issued returns how many numbers callers were given. It is called with mu held.
func (c *Counter) issued() uint64 {
	return c.books.issued + c.current.Load().issued() - c.inParts()
}

// Metrics implements [metrics.Reporter].
func (c *Counter) Metrics() []metrics.Metric { return c.Status().Metrics() }

// Metrics implements [metrics.Reporter]. A strict handle does not try again before it is called. So it counts as failing
// for four minutes after a failed call, and on only if the reason stays.
func (s *Strict) Metrics() []metrics.Metric {
	status := s.Status()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !final(status.Err) && time.Since(s.tried) >= 4*time.Minute {
		status.Err = nil
	}
	return status.Metrics()
}

// Metrics returns s as metrics, always the same ones in the same order, with the label counter.
func (s Status) Metrics() []metrics.Metric {
	all := []metrics.Metric{
		metrics.Counter("randflake_counter_taken_total", "Numbers of a counter that this process has taken from the store.", s.Taken),
		metrics.Counter("randflake_counter_issued_total", "Numbers of a counter given to callers.", s.Issued),
		metrics.Counter("randflake_counter_returned_total", "Numbers of a counter given back to the store unused.", s.Returned),
		metrics.Counter("randflake_counter_lost_total", "Numbers of a counter that were taken, and neither given to callers nor given back.", s.Lost),
		metrics.Counter("randflake_counter_unsure_total", "Numbers of a counter that failed calls may have taken, and that are lost then.", s.Unsure),
		metrics.Gauge("randflake_counter_held", "Numbers of a counter that were taken and are left in memory.", s.Held),
		metrics.Flag("randflake_counter_failing", "1 if the last attempt to get numbers of a counter failed, otherwise 0.", s.Err != nil),
	}
	all = append(all, s.Info.metrics()...)
	for i := range all {
		all[i].Labels = map[string]string{"counter": s.Info.Name}
	}
	return all
}

// metrics returns what is known of a counter from the store.
func (i Info) metrics() []metrics.Metric {
	gone := float64(i.Taken-i.Returned) + float64(i.Skipped)
	return []metrics.Metric{
		metrics.Gauge("randflake_counter_left", "Numbers of a counter that no process has taken yet, by what was last seen of the store.", i.Left),
		metrics.Gauge("randflake_counter_left_ratio", "The part of all numbers of a counter that no process has taken yet, 0 to 1.", float64(i.Left)/max(1, gone+float64(i.Left))),
		metrics.Flag("randflake_counter_forgotten", "1 if the store lost data of a counter, so that, unless it has a rate, it gives no numbers until an operator says where to go on; otherwise 0.", i.Forgotten),
	}
}

// A Word is what an operator did to a counter.
type Word struct {
	At   time.Time `json:"at"`
	By   string    `json:"by,omitempty"` // see [Counters.As]
	What string    `json:"what"`
}

// As says who makes the changes of an operator through s, for [Counters.Log]: Advance, SetBack, Extend, Reset, Delete and
// Prune, and with As also Create. It returns s, and is called before s is used.
func (s *Counters) As(who string) *Counters {
	s.by = who[:min(len(who), 100)]
	return s
}

const mostWords = 20

// Log returns the newest 20 changes that operators made to a counter, the oldest first, also if it was deleted. Without a
// name it returns the newest prunes.
func (s *Counters) Log(ctx context.Context, name string) (words []Word, err error) {
	if s.source != nil {
		return nil, s.notHere("read the log of", name)
	}
	if name != "" {
		if err := checkName(name); err != nil {
			return nil, err
		}
	}
	v, err := s.space.Look(ctx, []string{logName(name)}, store.Page{})
	if err != nil {
		return nil, err
	}
	return readLog(v.Find(logName(name))), nil
}

// logName returns the name of the item with the log of a counter, or that of the prunes.
func logName(name string) string {
	if name == "" {
		return "o"
	}
	return "o/" + name
}

func readLog(item store.Item) (words []Word) {
	json.Unmarshal(item.Body, &words) // one that can't be read must not keep an operator from acting
	return words
}

// logged returns the log of a counter with another word.
func (s *Counters) logged(v *store.View, name, what string) store.Item {
	second := min(max(v.Now, 0), 1<<37) // of a wrong clock: JSON has no years beyond 9999, and the space no seconds before 1970
	word, words := Word{time.Unix(second, 0).UTC(), s.by, what}, readLog(v.Find(logName(name)))
	if last := len(words) - 1; name == "" && last >= 0 && words[last].By == s.by && words[last].What == what {
		words = words[:last] // the next step of the same prune
	}
	words = append(words, word)
	body, err := json.Marshal(words[max(0, len(words)-mostWords):])
	if err != nil {
		panic(err) // never: these are texts and times from the years 1970 to 6325
	}
	return store.Item{Name: logName(name), Second: second, Body: body}
}

// notHere returns the error of operators' calls for counters from a Source: they take the space itself.
func (s *Counters) notHere(what, name string) error {
	return fmt.Errorf("counter: %s %s: %w: do that on the store itself, as the command randflake does", what, name, errors.ErrUnsupported)
}
