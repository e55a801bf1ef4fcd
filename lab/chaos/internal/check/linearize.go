package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// linearize looks for an order in which all calls of the store make sense, lease by lease and epoch
// by epoch.
func (c *Checker) linearize() error {
	r := &c.result
	r.Linearizable = Linearizable
	deadline := time.Now().Add(c.config.Timeout)
	for i, e := range epochs(c.losses) {
		all := histories(c.calls, e)
		for _, h := range all {
			m := model{*h, e, c.restart}
			verdict := m.check(time.Until(deadline))
			if verdict == Linearizable {
				continue
			}
			if len(r.Violations) < few {
				r.Violations = append(r.Violations, fmt.Sprintf("lease of %s, after %d losses of data: %s:%s", h.owner, i, verdict, h.tell()))
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
func (m model) check(timeout time.Duration) Verdict {
	if timeout <= 0 {
		return Undecided
	}
	switch porcupine.CheckOperationsTimeout(m.porcupine(), m.operations(), timeout) {
	case porcupine.Ok:
		return Linearizable
	case porcupine.Illegal:
		return Violated
	}
	return Undecided
}

// draw writes an HTML page that shows how far the calls can be ordered.
func (m model) draw(path string, timeout time.Duration) error {
	_, info := porcupine.CheckOperationsVerbose(m.porcupine(), m.operations(), timeout)
	return porcupine.VisualizePath(m.porcupine(), info, path)
}

// tell returns the last calls, a line each, and those of unknown outcome.
func (h *history) tell() (lines string) {
	for _, c := range slices.Concat(h.known[max(len(h.known)-few, 0):], h.unknown[:min(len(h.unknown), few)]) {
		lines += "\n\t" + c.describe()
	}
	return lines
}
