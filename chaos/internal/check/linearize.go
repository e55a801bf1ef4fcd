package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// linearize looks for an order in which all calls of the store make sense, range by range and epoch
// by epoch.
func (c *Checker) linearize() error {
	r := &c.result
	r.Linearizable = Linearizable
	deadline := time.Now().Add(c.config.Patience)
	for i, e := range epochs(c.losses) {
		all := histories(c.calls, e)
		for _, s := range slices.SortedFunc(maps.Keys(all), func(a, b span) int { return cmp.Compare(a.first, b.first) }) {
			m := model{all[s], e, c.restart}
			verdict := m.check(time.Until(deadline))
			if verdict == Linearizable {
				continue
			}
			if len(r.Violations) < few {
				r.Violations = append(r.Violations, fmt.Sprintf("nodes %d to %d, after %d losses of data: %s", s.first, s.last, i, verdict))
			}
			if verdict == Undecided && r.Linearizable == Linearizable {
				r.Linearizable = Undecided
			}
			if verdict != Violated {
				continue
			}
			first := r.Linearizable != Violated
			r.Linearizable = Violated
			if first && c.config.Picture != "" {
				if err := m.draw(c.config.Picture, max(time.Until(deadline), time.Second)); err != nil {
					return fmt.Errorf("check: picture: %w", err)
				}
			}
		}
	}
	return nil
}

// check looks for an order of the known calls for so long.
func (m model) check(patience time.Duration) Verdict {
	if patience <= 0 {
		return Undecided
	}
	switch porcupine.CheckOperationsTimeout(m.porcupine(), m.operations(), patience) {
	case porcupine.Ok:
		return Linearizable
	case porcupine.Illegal:
		return Violated
	}
	return Undecided
}

// draw writes an HTML page that shows how far the calls can be ordered.
func (m model) draw(path string, patience time.Duration) error {
	_, info := porcupine.CheckOperationsVerbose(m.porcupine(), m.operations(), patience)
	return porcupine.VisualizePath(m.porcupine(), info, path)
}

func (m model) operations() []porcupine.Operation {
	operations := make([]porcupine.Operation, len(m.known))
	for i, c := range m.known {
		operations[i] = porcupine.Operation{ClientId: c.process, Input: c, Call: c.start, Return: c.end}
	}
	return operations
}
