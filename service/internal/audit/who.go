package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// A Maker is who held the lease under which an ID was made.
type Maker struct {
	Principal string
	Granted   time.Time // the first second of the lease
	FirstNode uint32
	LastNode  uint32
	Lease     string
}

// line is what matters of a line here.
type line struct {
	What      string `json:"msg"`
	Principal string `json:"principal"`
	Space     string `json:"space"`
	Lease     string `json:"lease"`
	FirstNode uint32 `json:"first_node"`
	LastNode  uint32 `json:"last_node"`
	Start     int64  `json:"start"`
	LastUsed  int64  `json:"last_used"`
}

// longestLine is more than the longest line of any log, even one with damaged lines.
const longestLine = 64 << 20

// Who returns who held a node of a space at a second, by the lines that it reads: whoever was granted it last before
// that, and did not give it back before. It reports false where that is nobody. Lines of several replicas may be put
// together in any order. It passes over damaged lines and counts them: with one of them, the answer may be another.
func Who(lines io.Reader, space string, node uint32, second int64) (maker Maker, found bool, damaged int, err error) {
	var last line
	released := map[string]int64{} // the last second used, by lease
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, longestLine)
	for scanner.Scan() {
		var l line
		err := json.Unmarshal(scanner.Bytes(), &l)
		if ours := l.What == "" || l.What == Grant || l.What == Release; err != nil && ours && len(scanner.Bytes()) > 0 {
			damaged++
			continue
		}
		switch {
		case l.Space != space || node < l.FirstNode || node > l.LastNode:
		case l.What == Release:
			released[l.Lease] = l.LastUsed
		case l.What == Grant && l.Start <= second && (!found || l.Start > last.Start):
			last, found = l, true
		}
	}
	if err := scanner.Err(); err != nil {
		return Maker{}, false, damaged, fmt.Errorf("audit: %w", err)
	}
	if used, gone := released[last.Lease]; !found || gone && used < second {
		return Maker{}, false, damaged, nil
	}
	return Maker{last.Principal, time.Unix(last.Start, 0).UTC(), last.FirstNode, last.LastNode, last.Lease}, true, damaged, nil
}
