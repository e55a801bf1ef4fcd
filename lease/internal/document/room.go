package document

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/entry"
)

// checkRoom returns an error if next has more entries than before, and could grow too large with them:
// there must be room for each entry to grow, such as when a loss of data is noted.
func (e *Engine) checkRoom(before, next content) error {
	if len(next.Entries) <= len(before.Entries) {
		return nil
	}
	spaces, size := before.grown()
	_, after := next.grown()
	if after <= max(size, e.maxBytes) {
		return nil
	}
	return fmt.Errorf("%w: %s: full: its %d spaces, with their counters, can grow to %d of %d bytes: "+
		"keep further ones in another store",
		lease.ErrStore, e, spaces, size, e.maxBytes)
}

// grown returns how many spaces the content has, and how many bytes it would have if each entry were
// as large as it can become. A space has two entries from birth, meta and leases. If there is only one,
// as where a move has announced the space, both count.
func (c *content) grown() (spaces, size int) {
	values := map[string]int{} // the bytes that they can have, by the names of entries
	for name, value := range c.Entries {
		space, record, _ := strings.Cut(name, "/")
		meta := space + "/" + entry.Meta
		leases := space + "/" + entry.Leases
		if values[meta] == 0 {
			spaces++
			values[meta] = max(entry.MaxMeta, len(c.Entries[meta])) // one with keys of a newer program is larger
			values[leases] = max(entry.MaxLeases, len(c.Entries[leases]))
		}
		if record != entry.Meta && record != entry.Leases {
			values[name] = len(value) + entry.Growth
		}
	}
	for name, value := range values {
		size += len(name) + base64.StdEncoding.EncodedLen(value) + len(`"":"",`)
	}
	return spaces, size
}
