package cli

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/randflake/randflake"
	compat "github.com/randflake/randflake/compat/v2"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A table can have hundreds of millions of IDs. What is kept of a line is its ID and how the text is written, from which
// the text can be made again. Texts that are written in no usual way are kept themselves.

// An entry is an ID of a table and the line that it is from.
type entry struct {
	id ulid.ID // one of 64 bits is in the last 8 bytes
	at place
}

func (e entry) bits64() uint64 { return binary.BigEndian.Uint64(e.id[8:]) }

// A place is a line and, in the last byte, how its text is written.
type place uint64

func (p place) line() int    { return int(p >> 8) }
func (p place) writing() int { return int(p & 0xff) }

// writings are the texts of most IDs, by their form. They need not be kept, as the ID tells them.
var writings = []struct {
	form  string
	write func(b []byte, e entry) []byte
}{
	{formNumber, func(b []byte, e entry) []byte { return strconv.AppendInt(b, int64(e.bits64()), 10) }},
	{formNumber, func(b []byte, e entry) []byte { return strconv.AppendUint(b, e.bits64(), 10) }},
	{formText, func(b []byte, e entry) []byte { return inText(b, randflake.ID(e.bits64())) }},
	{formGosuda, func(b []byte, e entry) []byte { return append(b, compat.EncodeString(int64(e.bits64()))...) }},
	{formHex, func(b []byte, e entry) []byte { return inHex(b, randflake.ID(e.bits64())) }},
	{formTSID, func(b []byte, e entry) []byte { return append(b, e.id.String()[13:]...) }},
	{formBase32, func(b []byte, e entry) []byte { return base32.append(b, snowflake.ID(e.bits64())) }},
	{formBase58, func(b []byte, e entry) []byte { return base58.append(b, snowflake.ID(e.bits64())) }},
	{formBase62, func(b []byte, e entry) []byte { return base62.append(b, snowflake.ID(e.bits64())) }},
	{formULID, func(b []byte, e entry) []byte { return inText(b, e.id) }},
	{formUUID, func(b []byte, e entry) []byte { return append(b, ulid.FormatUUID(e.id)...) }},
	{formUUID, func(b []byte, e entry) []byte { return append(b, strings.ToLower(e.id.String())...) }}, // a TypeID
}

const (
	prefixed = 1 << 7       // added to a writing that comes after the prefix of the table
	unusual  = prefixed - 1 // in place of a writing: the text is kept
)

// A narrow entry has an ID of 64 bits. There can be very many: it has no pointers and no gaps.
type narrow struct {
	id uint64
	at place
}

func (n narrow) wide() (e entry) {
	binary.BigEndian.PutUint64(e.id[8:], n.id)
	e.at = n.at
	return e
}

// entries are those of a table, sorted by ID, then by line, once sort was called. Narrow ones come first.
type entries struct {
	narrow  list[narrow]
	wide    list[entry]
	prefix  string      // of the first ID that has one: a column seldom has more than one
	kept    list[byte]  // the texts that are written in an unusual way, each with a newline
	keptAt  map[int]int // where they begin, by line
	writing int         // of the last entry: most have that of the one before
	scratch []byte
}

func (s *entries) len() int { return s.narrow.n + s.wide.n }

// add adds the ID that was parsed of the text of a line.
func (s *entries) add(p parsed, line int, text string) {
	if s.prefix == "" {
		s.prefix = prefixOf(text)
	}
	e := entry{id: p.wide}
	if !p.isWide() {
		binary.BigEndian.PutUint64(e.id[8:], uint64(p.id))
	}
	if !s.isWritten(s.writing, e, text) {
		s.writing = s.writingOf(p.form, e, text)
	}
	e.at = place(line)<<8 | place(s.writing) // an int may have 32 bits
	if s.writing == unusual {
		s.keep(text, line)
	}
	fits64 := binary.BigEndian.Uint64(e.id[:8]) == 0 // as a UUID of a small value does, which may repeat a number
	if fits64 {
		s.narrow.add(narrow{e.bits64(), e.at})
	} else {
		s.wide.add(e)
	}
}

// keep keeps a text without a pointer, so that the collector need not look at it.
func (s *entries) keep(text string, line int) {
	if s.keptAt == nil {
		s.keptAt = map[int]int{}
	}
	s.keptAt[line] = s.kept.n
	for i := range len(text) {
		s.kept.add(text[i])
	}
	s.kept.add('\n')
}

func (s *entries) keptText(line int) string {
	var text []byte
	for i := s.keptAt[line]; *s.kept.at(i) != '\n'; i++ {
		text = append(text, *s.kept.at(i))
	}
	return string(text)
}

func (s *entries) writingOf(form string, e entry, text string) int {
	for w := range writings {
		switch {
		case writings[w].form != form:
			continue
		case s.isWritten(w, e, text):
			return w
		case s.isWritten(w|prefixed, e, text):
			return w | prefixed
		}
	}
	return unusual
}

// isWritten reports whether text is what a writing makes of e.
func (s *entries) isWritten(writing int, e entry, text string) bool {
	if writing == unusual {
		return false
	}
	s.scratch = s.write(s.scratch[:0], writing, e)
	return string(s.scratch) == text
}

func (s *entries) write(b []byte, writing int, e entry) []byte {
	if writing&prefixed != 0 {
		b = append(b, s.prefix...)
	}
	return writings[writing&^prefixed].write(b, e)
}

// text returns the text of an entry, as it is in its line.
func (s *entries) text(e entry) string {
	if e.at.writing() == unusual {
		return s.keptText(e.at.line())
	}
	return string(s.write(nil, e.at.writing(), e))
}

func (s *entries) at(i int) entry {
	if i < s.narrow.n {
		return s.narrow.at(i).wide()
	}
	return *s.wide.at(i - s.narrow.n)
}

func (s *entries) sort() {
	s.narrow.sort(func(x, y *narrow) bool { return cmp.Or(cmp.Compare(x.id, y.id), cmp.Compare(x.at, y.at)) < 0 })
	s.wide.sort(func(x, y *entry) bool { return cmp.Or(bytes.Compare(x.id[:], y.id[:]), cmp.Compare(x.at, y.at)) < 0 })
}
