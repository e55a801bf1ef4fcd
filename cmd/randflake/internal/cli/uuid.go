package cli

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/randflake/randflake/ulid"
)

// readUUID reads a UUID by its variant and version (RFC 9562). A ULID in the form of a UUID can have any of them: where
// the time of a ULID is possible, it is a second reading, or the only one if the time of the UUID is not.
func readUUID(p parsed, now time.Time) []reading {
	id := p.wide
	r := reading{kind: kindUUID, id: ulid.FormatUUID(id), typeID: strings.TrimSuffix(p.prefix, "_")}
	if id == (ulid.ID{}) || id == ulid.ID([]byte(strings.Repeat("\xff", 16))) {
		return []reading{r} // the nil UUID and the max UUID
	}
	asULID := readULID(id)
	version := uint32(id[6] >> 4)
	if id[8]>>6 != 0b10 || version > 8 {
		version = 0 // of another variant, which has no versions
	}
	if version > 0 {
		r.fields = []field{numberField("version", version)}
	}
	// The fields of 32, 16 and 12 bits that versions 1 and 6 make a time of.
	first := uint64(binary.BigEndian.Uint32(id[:]))
	second := uint64(binary.BigEndian.Uint16(id[4:]))
	third := uint64(binary.BigEndian.Uint16(id[6:]) & 0xfff)
	switch version {
	case 1:
		r.time = gregorian(third<<48 | second<<32 | first)
	case 6:
		r.time = gregorian(first<<28 | second<<12 | third)
	case 7:
		r.time = asULID.time
		return []reading{r}
	}
	if asULID.isFuture(now) {
		return []reading{r}
	}
	asULID.note = textField("format", kindUUID)
	if r.isFuture(now) {
		return []reading{asULID}
	}
	return []reading{r, asULID}
}

// gregorian returns the time of a UUID of version 1 or 6, in 100 nanoseconds since 1582-10-15.
func gregorian(ticks uint64) time.Time {
	const unix = 0x01b21dd213814000 // RFC 9562, appendix A
	since := int64(ticks) - unix
	return time.Unix(since/1e7, since%1e7*100).UTC()
}
