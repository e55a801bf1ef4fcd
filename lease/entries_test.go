package lease

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease/internal/entry"
	"github.com/randflake/randflake/lease/internal/taken"
)

// TestLargest: the largest entries are no larger than engines on small stores count them.
func TestLargest(t *testing.T) {
	nodes := &taken.Nodes{Takes: 999999999999}
	for range taken.MaxSteps {
		nodes.Steps = append(nodes.Steps, taken.Step{From: 9999999999, Next: randflake.MaxNode + 1, LastTake: 999999999999})
	}
	leases := nodes.Encode()
	meta, metaErr := largestMeta.encode()
	met := largestMeta
	met.Abandoned = slices.Repeat([]string{met.UID}, 1000)
	metMeta, metErr := met.encode()
	counter := storedCounter{Counter: Counter{Step: 1, Periods: "day@UTC"}}
	young, youngErr := counter.encode(nil)
	counter.Next = math.MaxInt64
	counter.Period = strings.Repeat("p", longestKey)
	counter.Begin = 1799971200
	counter.Term = largestMeta.Term
	old, oldErr := counter.encode(nil)
	require.NoError(t, errors.Join(metaErr, metErr, youngErr, oldErr))
	for _, tt := range []struct {
		name       string
		size, most int
	}{
		{"why data was lost", longestWhy, len(largestMeta.Why)},
		{"leases", len(leases), entry.MaxLeases},
		{"meta", len(meta), entry.MaxMeta},
		{"meta where many moves met", len(metMeta), entry.MaxMeta + 600}, // 160 KB of 200 spaces, which a ConfigMap has
		{"a counter's growth", len(old) - len(young), entry.Growth},
	} {
		require.That(t, tt.size <= tt.most, "%s: %d bytes, want at most %d", tt.name, tt.size, tt.most)
	}
}

// newerKey is one that a newer program has put into an entry.
const newerKey = `"newer":{"key":[1]}`

// update puts a newer program's key into all entries in JSON that don't have it.
func (m *memory) update() {
	for name, value := range m.data {
		rest, isJSON := strings.CutPrefix(value, "{")
		if isJSON && !strings.Contains(rest, newerKey) {
			m.data[name] = "{" + newerKey + "," + rest
		}
	}
}

// TestNewerKeys: whatever rewrites an entry, keys of a newer program stay.
func TestNewerKeys(t *testing.T) {
	for what, rewrite := range map[string]func(w *removal, s *Space) error{
		"take": func(w *removal, s *Space) error {
			return require.Err(takeWindow(w.Context(), s, s.Limits().WindowOf(noon), 1))
		},
		"numbers": func(w *removal, s *Space) error { return require.Err(s.TakeNumbers(w.Context(), "a", Period{}, 1)) },
		"set":     func(w *removal, s *Space) error { return s.SetCounter(w.Context(), "a", 99) },
		"loss":    func(w *removal, s *Space) error { return s.ReportLoss(w.Context(), "test") },
		"retire":  func(w *removal, s *Space) error { return s.Retire(w.Context()) },
		"trust": func(w *removal, s *Space) error {
			w.from.incarnation = "first"
			return s.SetTrust(w.Context(), true)
		},
		"meta gone": func(w *removal, s *Space) error {
			delete(w.from.data, "s/meta")
			return s.ReportLoss(w.Context(), "test")
		},
		"move": func(w *removal, _ *Space) error { return require.Err(w.move(never(), "s")) },
		"move, announced by a newer program": func(w *removal, _ *Space) error {
			w.move(&fuse{last: afterMark}, "s")
			w.from.data["s/meta"] = strings.Replace(w.from.data["s/meta"], ","+newerKey, "", 1)
			w.to.update()
			_, err := w.move(never(), "s")
			w.from.update()
			return err
		},
	} {
		w := newRemoval(t, Limits{})
		w.from.update()
		s := open(t, conn{memory: w.from}, w.clock)
		s.sleep = noSleep
		require.That(t, rewrite(w, s) == nil, "%s", what)
		for _, data := range []*memory{w.from, w.to} {
			for name, value := range data.data {
				kept := strings.Count(value, newerKey) == 1
				require.That(t, kept == strings.HasPrefix(value, "{"), "%s: %s is %s", what, name, value)
			}
		}
	}
}

// largestMeta is that of a space in a ConfigMap that has lost data, was moved there, and moved on.
var largestMeta = meta{
	Limits:      Limits{131071, 131072, 24 * time.Hour, 32, 24 * time.Hour, 2016},
	Check:       "0123456789abcdef",
	UID:         strings.Repeat("A", 26),
	Term:        strings.Repeat("A", 26),
	FloorsSet:   1000,
	Begin:       9999999999 / 86400, // as the largest Unix second until 2286
	Floor:       9999999999 / 86400,
	Tick:        9999999999 / 48000, // by seconds of a tick
	Lineage:     strings.Repeat("A", 62),
	Why:         "the data is another copy, " + strings.Repeat("A", 62) + " in place of " + strings.Repeat("A", 62),
	retirement:  retirement{true, strings.Repeat("A", 26), strings.Repeat("A", 150)},
	Predecessor: strings.Repeat("A", 26),
}
