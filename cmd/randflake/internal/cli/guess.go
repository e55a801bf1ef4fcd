package cli

import (
	"cmp"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// What a UUID is to inspect, and a text that can be of several kinds.
const (
	kindUUID = "uuid"
	kindAny  = ""
)

// guesses are the kinds that a text can be seen to have, the first that fits. Numbers and what is left are in kindOf.
var guesses = []struct {
	kind string
	fits func(text string) bool
}{
	{kindULID, isULID},
	{kindUUID, func(text string) bool { _, ok := uuidOf(text); return ok }},
	{kindULID, func(text string) bool { return len(text) == 36 && prefixOf(text) == "" }}, // refused as one
	{kindAny, func(text string) bool { _, ok := tsidOf(text); return ok }},
}

// around is what people copy with an ID: a mention or an emoji of Discord, and what may be written around a UUID.
var around = regexp.MustCompile(`^(?:<(?:@[!&]?|#|a?:\w+:)([0-9]+)>|\{([0-9A-Fa-f-]{32,36})\}|(?i:urn:uuid:)([0-9A-Fa-f-]{36}))$`)

// trimmed returns text without white space and without what is around the ID, such as the quotes and the comma that JSON has.
func trimmed(text string) string {
	text = strings.Trim(strings.TrimSpace(text), `"',`)
	if text == "" || !strings.ContainsRune("<{uU", rune(text[0])) {
		return text
	}
	return around.ReplaceAllString(text, "$1$2$3")
}

// lowered returns a text of capitals in lower case, and any other as it is.
func lowered(text string) string {
	if strings.ToUpper(text) == text {
		return strings.ToLower(text)
	}
	return text
}

// uuidOf reads a UUID, with hyphens or without, or the 26 digits behind the prefix of a TypeID.
func uuidOf(text string) (ulid.ID, bool) {
	if strings.Contains(text, "_") {
		text = lowered(text)
	}
	prefix := prefixOf(text)
	digits := text[len(prefix):]
	read := ulid.ParseUUID
	switch {
	case prefix != "" && len(digits) == 26:
		read = ulid.Parse
	case prefix == "" && len(digits) == 32:
		digits = strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
	case prefix != "":
		return ulid.ID{}, false
	}
	id, err := read(digits)
	return id, err == nil
}

// tsidOf reads a TSID: 13 digits of Crockford's base32. A text of a Randflake ID is none, nor is a decimal number.
func tsidOf(text string) (snowflake.ID, bool) {
	if len(text) != 13 || isDecimal(text) {
		return 0, false
	}
	if _, err := randflake.Parse(text); err == nil {
		return 0, false
	}
	id, err := ulid.Parse(strings.Repeat("0", 13) + text)
	return snowflake.ID(binary.BigEndian.Uint64(id[8:])), err == nil && id[7] == 0
}

// isTSID reports whether text can be a TSID, or one or an ID in capitals.
func (in *inspector) isTSID(text string) bool {
	_, ok := tsidOf(text)
	return ok && in.from != "int" && in.from != "hex"
}

// tsidReadings reads a TSID, which is p as the text of a Randflake ID in capitals, or no such text.
func (in *inspector) tsidReadings(text string, p parsed) []reading {
	id, _ := tsidOf(text)
	readings := slices.DeleteFunc(snowflakeReadings(id), func(r reading) bool { return r.layout != "tsid" })
	if p.err == nil && in.cipher != nil {
		readings = append(readings, readRandflake(in.cipher, p.id))
	}
	return readings
}

// uuidReadings reads a UUID by its variant and version (RFC 9562). A ULID in this form can look like any version.
func uuidReadings(id ulid.ID, now time.Time) []reading {
	asULID := ulidReading(id)
	r := reading{kind: kindUUID, id: ulid.FormatUUID(id)}
	version := uint32(id[6] >> 4)
	switch {
	case id == ulid.ID{} || id == ulid.ID([]byte(strings.Repeat("\xff", 16))):
		return []reading{r} // that of no thing, and the last one
	case id[8]>>6 != 0b10 || version < 1 || version > 8:
		if asULID.isFuture(now) {
			return []reading{r} // of an older variant
		}
		return []reading{asULID}
	}
	r.fields = []field{number("version", version)}
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
	asULID.fields = append(asULID.fields, field{"if", "a ULID", true})
	readings := []reading{r}
	if r.isFuture(now) {
		readings = nil
	}
	if !asULID.isFuture(now) {
		readings = append(readings, asULID)
	}
	if readings == nil {
		return []reading{r}
	}
	return readings
}

// gregorian returns the time of a UUID of version 1 or 6, in 100 nanoseconds since 1582-10-15.
func gregorian(ticks uint64) time.Time {
	const unix = 0x01b21dd213814000 // RFC 9562, appendix A
	since := int64(ticks) - unix
	return time.Unix(since/1e7, since%1e7*100).UTC()
}

// layouts are those of the presets, the most common first.
var layouts = []string{
	"discord",
	"twitter",
	"worker10",
	"mastodon",
	"instagram",
	"sonyflake",
	"sonyflake2",
	"tsid",
	"yitter",
	"unix",
	"baidu",
	"node8",
	"javascript53",
}

// likelier orders readings: first those of the last hour, as people inspect new IDs. Of the others those whose fields have small
// numbers for their widths, in eighths, as the wrong layout fills them with anything; then those of a common layout.
func likelier(now time.Time) func(a, b reading) int {
	old := func(r reading) int {
		if now.Sub(r.time) > time.Hour {
			return 1
		}
		return 0
	}
	eighths := func(r reading) int {
		if r.layout == "mastodon" {
			return 7 // its sequence is random
		}
		return int(8 * r.used)
	}
	common := func(r reading) int { return slices.Index(layouts, r.layout) }
	return func(a, b reading) int {
		return cmp.Or(old(a)-old(b), eighths(a)-eighths(b), common(a)-common(b))
	}
}
