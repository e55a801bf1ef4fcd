package languages

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
)

// A line is one of the service's audit, on a lease that was granted or given back.
type line struct {
	What      string `json:"msg"`
	Principal string `json:"principal"`
	Lease     string `json:"lease"`
	FirstNode uint32 `json:"first_node"`
	LastNode  uint32 `json:"last_node"`
	Start     int64  `json:"start"`
	LastUsed  int64  `json:"last_used"`
}

// auditAgrees finds IDs that were made by another principal than the audit of both replicas says.
func (w *town) auditAgrees(all []*process) {
	w.Helper()
	var text []byte
	for _, r := range w.replicas {
		part, err := os.ReadFile(r.audit)
		if err != nil {
			w.Fatal(err)
		}
		text = append(text, part...)
	}
	var grants []line
	released := map[string]int64{} // the last second that was used, by lease
	for one := range bytes.Lines(text) {
		var l line
		if err := json.Unmarshal(one, &l); err != nil {
			w.Fatalf("audit: %s: %v", one, err)
		}
		switch l.What {
		case "grant":
			grants = append(grants, l)
		case "release":
			released[l.Lease] = l.LastUsed
		}
	}
	slices.SortFunc(grants, func(a, b line) int { return int(b.Start - a.Start) })
	for _, p := range all {
		for s := range p.spots {
			i := slices.IndexFunc(grants, func(g line) bool { return g.FirstNode <= s.node && s.node <= g.LastNode && g.Start <= s.second })
			if i < 0 {
				w.Fatalf("%s made IDs of node %d at %d, and the audit knows of no lease", p.name, s.node, s.second)
			}
			last, over := released[grants[i].Lease]
			if grants[i].Principal != p.name || over && last < s.second {
				w.Errorf("%s made IDs of node %d at %d, and the audit says %+v, released %v after %d", p.name, s.node, s.second, grants[i], over, last)
			}
		}
	}
}
