package snowflake

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// String returns the layout as text, such as "worker10: time 41, worker 10, sequence 12; 1ms since
// 2010-11-04T01:42:54.657Z": the name, the parts from high to low with their bits, the unit as
// time.Duration prints it, and the epoch in UTC.
func (l *Layout) String() string {
	return fmt.Sprintf("%s: %s; %s since %s", l.name, textOf(l.parts), l.tick(), rfc3339(l.Epoch()))
}

// ParseLayout returns the preset that text names, such as "twitter", or the layout that text
// describes in the form of [Layout.String], to the space:
//
//	orders: time 41, region 3, worker 7, sequence 12; 1ms since 2025-01-01T00:00:00Z
//
// Its name comes first. The parts follow, with their bits, from the highest to the lowest. The
// first one is the time. After it come, in any order, one sequence, any number of static parts and
// at most one rollback. All together have at most 64 bits, and time, rollback and sequence 63. IDs
// of 63 bits or fewer fit the signed integers of databases and of other languages.
//
//   - time counts units since the epoch.
//   - rollback counts how often a generator's clock stepped back.
//   - sequence numbers the IDs of one worker in one unit.
//   - A part of another name is static, such as a worker, a datacenter or a shard: all IDs of a generator's lease have
//     the same value in it.
//
// A unit is a whole number of milliseconds, and the epoch a whole millisecond from 1970 on. The time may reach
// to the end of the year 9999. Names begin with a lower-case letter and go on with lower-case letters, digits,
// '-' and '_'; those of parts are unique. The text has at most 2,000 bytes.
//
// An error wraps ErrInvalidLayout, and says which part is wrong and why. Layouts that have ended are valid, so
// that old IDs can be read, and so are layouts with an epoch in the future: check Expires before generating.
func ParseLayout(text string) (*Layout, error) {
	if len(text) > longestText {
		return nil, fmt.Errorf("%w: text %.40q and more: want at most %d bytes", ErrInvalidLayout, text, longestText)
	}
	if !strings.Contains(text, ":") {
		return presetOf(text)
	}
	return parseLayout(text)
}

// longestText leaves room for 64 parts.
const longestText = 2000

// example is for errors.
const example = "orders: time 41, region 3, worker 7, sequence 12; 1ms since 2025-01-01T00:00:00Z"

// parseLayout reads what String writes, and nothing else. It cuts without much care, as the text must in
// the end be that of the layout.
func parseLayout(text string) (*Layout, error) {
	name, rest, _ := strings.Cut(text, ": ")
	list, rest, _ := strings.Cut(rest, "; ")
	length, moment, ok := strings.Cut(rest, " since ")
	if !ok { // also when a cut before that found nothing
		return nil, fmt.Errorf("%w: text %q: want a form like %q", ErrInvalidLayout, text, example)
	}
	var parts []Part
	for p := range strings.SplitSeq(list, ", ") {
		part, bits, _ := strings.Cut(p, " ")
		n, err := strconv.Atoi(bits)
		if err != nil {
			return nil, fmt.Errorf("%w: text %q: part %q: want a name and a number of bits", ErrInvalidLayout, text, p)
		}
		parts = append(parts, Part{part, n})
	}
	unit, err := time.ParseDuration(length)
	if err != nil {
		return nil, fmt.Errorf("%w: text %q: unit %q: want one like 1ms or 1.5s", ErrInvalidLayout, text, length)
	}
	epoch, err := time.Parse(time.RFC3339Nano, moment)
	if err != nil {
		return nil, fmt.Errorf("%w: text %q: epoch %q: want one like 2025-01-01T00:00:00Z",
			ErrInvalidLayout, text, moment)
	}
	l, err := newLayout(name, epoch, unit, parts...)
	if err == nil && l.String() != text {
		return nil, fmt.Errorf("%w: text %q: want %q", ErrInvalidLayout, text, l)
	}
	return l, err
}
