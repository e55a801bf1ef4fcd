package cli

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/randflake/randflake/ulid"
)

// readUUID reads a UUID by its variant and version (RFC 9562). A ULID in this form can look like
// any.
func readUUID(p parsed, now time.Time) []reading {
	id := p.wide
	r := reading{kind: kindUUID, id: ulid.FormatUUID(id), typeID: strings.TrimSuffix(p.prefix, "_")}
	if id == (ulid.ID{}) || id == ulid.ID([]byte(strings.Repeat("\xff", 16))) {
		return []reading{r} // that of no thing, and the last one
	}
	asULID := readULID(id)
	version := uint32(id[6] >> 4)
	if id[8]>>6 != 0b10 || version > 8 {
		version = 0 // of an older variant
	}
	if version > 0 {
		r.fields = []field{number("version", version)}
	}
	low, middle, high := uint64(binary.BigEndian.Uint32(id[:])), uint64(binary.BigEndian.Uint16(id[4:])), uint64(binary.BigEndian.Uint16(id[6:])&0xfff)
	switch version {
	case 1:
		r.time, r.timeForm = gregorian(high<<48|middle<<32|low), milliseconds
	case 6:
		r.time, r.timeForm = gregorian(low<<28|middle<<12|high), milliseconds
	case 7:
		r.time, r.timeForm = asULID.time, milliseconds
		return []reading{r}
	}
	if asULID.isFuture(now) {
		return []reading{r}
	}
	asULID.fields = append(asULID.fields, field{"if", "a ULID", true})
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
