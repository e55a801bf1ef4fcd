package numbers

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A pattern is the shape of the texts of a format. All parts have a fixed length, except a number without a width. So
// each text can be split in only one way, whatever its literals are.
type pattern struct {
	parts    []string // literals, and the fields named below
	fixed    int      // length of all parts but the number, in bytes
	layout   string
	shows    Period // what the layout shows
	period   int    // length of the period's name, or 0 if the texts don't have it
	named    string // a period's name, which shows where it has a hyphen
	alphabet *alphabet
	width    int // of the number in characters, or 0 for as many as it needs
	check    *checkSystem
}

const (
	dateField   = "{date}"
	periodField = "{period}"
	numberField = "{n}"
	checkField  = "{check}"
)

func parsePattern(text string) (*pattern, error) {
	p := &pattern{}
	for rest := text; rest != ""; {
		literal, after, open := strings.Cut(rest, "{")
		if err := p.addLiteral(literal); err != nil {
			return nil, err
		}
		if !open {
			break
		}
		field, next, closed := strings.Cut(after, "}")
		if !closed {
			return nil, fmt.Errorf("%+q: want a closing }", "{"+field)
		}
		if err := p.addField(field); err != nil {
			return nil, fmt.Errorf("%+q: %w", "{"+field+"}", err)
		}
		rest = next
	}
	return p, p.complete()
}

func (p *pattern) addLiteral(literal string) error {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) || r == '}' }
	if !utf8.ValidString(literal) || strings.ContainsFunc(literal, unprintable) {
		return fmt.Errorf("literal %+q: want printable characters, and { and } around fields alone", literal)
	}
	p.parts = append(p.parts, literal)
	p.fixed += len(literal)
	return nil
}

func (p *pattern) addField(field string) (err error) {
	kind, argument, _ := strings.Cut(field, ":")
	if slices.Contains(p.parts, "{"+kind+"}") {
		return fmt.Errorf("want one {%s} only", kind)
	}
	if p.check != nil {
		return fmt.Errorf("want it before {check}, which covers what is before it")
	}
	switch kind {
	case "date":
		p.layout = argument
		p.shows, err = parseLayout(argument)
		p.fixed += len(argument)
	case "period":
		if argument != "" {
			err = fmt.Errorf("want {period}, and WithPeriod")
		}
	case "n":
		err = p.setNumber(argument)
	case "check":
		err = p.setCheck(argument)
	default:
		err = fmt.Errorf("want {date:20060102}, {period}, {n:6} or {check:mod97-10}, with a layout, a width or a system of yours")
	}
	p.parts = append(p.parts, "{"+kind+"}")
	return err
}

// setNumber parses the text after the first colon of {n:WIDTH} or {n:WIDTH:ALPHABET}. For {n}, argument is "".
func (p *pattern) setNumber(argument string) (err error) {
	width, characters, given := strings.Cut(argument, ":")
	if !given {
		characters = digits
	}
	if p.alphabet, err = parseAlphabet(characters); err != nil || width == "" {
		return err
	}
	p.width, err = strconv.Atoi(width)
	if _, ok := p.alphabet.last(p.width); err != nil || p.width < 1 || !ok {
		return fmt.Errorf("width %+q: want a number from 1 on, and no numbers beyond 2^63-1: at most 18 decimal digits", width)
	}
	return nil
}

func (p *pattern) setCheck(name string) error {
	if p.check = findCheckSystem(name); p.check == nil {
		return fmt.Errorf("want one of mod11-2, mod37-2, mod97-10")
	}
	p.fixed += p.check.length
	return nil
}

// setPeriod returns an error unless texts tell the period.
func (p *pattern) setPeriod(period Period) error {
	named := slices.Contains(p.parts, periodField)
	if named {
		p.named = period.key(time.Unix(0, 0))
		p.period = len(p.named)
		p.fixed += p.period
		if p.period == 0 {
			return fmt.Errorf("{period}: want WithPeriod, which says what that is")
		}
	}
	if period.shownBy() > p.shows && !(named && p.layout == "") {
		return fmt.Errorf("its date shows less than the %v: want {date:20060102} or such, or {period} and no date", period)
	}
	return nil
}

// fields returns what tells texts apart: the fields in their order, without what separates the parts of a date, and the characters
// of literals that could be a number's. Before the first field these only matter where they touch it and texts have any length.
func (p *pattern) fields() string {
	text := ""
	characters := p.alphabet.characters + digits
	for i, part := range p.parts {
		switch part {
		case dateField:
			text += "{date:" + strings.NewReplacer("-", "", ".", "", "/", "", "_", "", " ", "").Replace(p.layout) + "}"
		case periodField:
			text += part
		case numberField:
			text += fmt.Sprintf("{n:%d:%s}", p.width, p.alphabet.characters)
		case checkField:
			text += fmt.Sprintf("{check:%d}", p.check.length)
		default:
			switch {
			case i > 0:
				text += only(part, characters)
			case p.width == 0:
				text += part[len(strings.TrimRight(part, characters)):]
			}
		}
	}
	return text
}

// only returns the characters of text that are among others.
func only(text, characters string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(characters, r) {
			return r
		}
		return -1
	}, text)
}

func (p *pattern) complete() error {
	if p.alphabet == nil {
		return fmt.Errorf("want a field for the number, such as {n:6}")
	}
	if p.check != nil && !p.check.covers(p.alphabet) {
		return fmt.Errorf("{check:%s} has no value for all characters of the number: want an alphabet out of %s", p.check.name, p.check.characters)
	}
	return nil
}

// last returns the greatest number that the pattern has room for.
func (p *pattern) last() int64 {
	if p.width == 0 {
		return math.MaxInt64
	}
	last, _ := p.alphabet.last(p.width)
	return last
}

// text returns the text with the given date and period, and the given number, which is already encrypted if it needs to be.
func (p *pattern) text(date, period string, n uint64) string {
	var room [64]byte // for most texts
	b := room[:0]
	for _, part := range p.parts {
		switch part {
		case dateField:
			b = append(b, date...)
		case periodField:
			b = append(b, strings.ToUpper(period)...)
		case numberField:
			b = p.alphabet.append(b, n, p.width)
		case checkField:
			b = p.check.append(b)
		default:
			b = append(b, part...)
		}
	}
	return string(b)
}

// parse splits a text into its date, its period and its number. If the text doesn't match the pattern, want says what was expected
// at byte at; otherwise want is empty.
func (p *pattern) parse(text string) (date, period string, n uint64, want string, at int) {
	width := p.width
	if width == 0 {
		width = len(text) - p.fixed
	}
	if len(text) != p.fixed+width || width < 1 {
		return "", "", 0, p.wantLength(), min(len(text), p.fixed+max(width, 1))
	}
	for _, part := range p.parts {
		rest := text[at:]
		switch part {
		case dateField:
			date = rest[:len(p.layout)]
			at += len(date)
		case periodField:
			period = strings.ToLower(rest[:p.period])
			if rest[:p.period] != strings.ToUpper(period) {
				return "", "", 0, "a period in capitals", at
			}
			at += p.period
		case numberField:
			value, bad := p.alphabet.parse(rest[:width])
			if bad >= 0 {
				return "", "", 0, "a digit out of " + p.alphabet.characters + ", and no number beyond 2^63-1", at + bad
			}
			if p.width == 0 && rest[0] == p.alphabet.characters[0] {
				return "", "", 0, "no leading " + p.alphabet.characters[:1], at
			}
			n = value
			at += width
		case checkField:
			if check := p.check.append([]byte(text[:at]))[at:]; rest[:len(check)] != string(check) {
				return "", "", 0, "another check character of " + p.check.name + ": it was mistyped", at
			}
			at += p.check.length
		default:
			if !strings.HasPrefix(rest, part) {
				return "", "", 0, strconv.Quote(part), at
			}
			at += len(part)
		}
	}
	return date, period, n, "", 0
}

// grouping separates what people write, and is a part of literals, dates and periods.
const grouping = " -./_"

// tidied returns what a text is meant to be, as far as that is without doubt. Without a width only the grouping tells where the
// number begins, and a digit that was mistyped as a hyphen would just be missing.
func (p *pattern) tidied(text string) string {
	if p.width == 0 || strings.ContainsAny(p.alphabet.characters, grouping) {
		return text
	}
	rest := strings.Map(func(r rune) rune {
		if strings.ContainsRune(grouping, r) {
			return -1
		}
		return r
	}, text)
	var b []byte
	like := func(shape string, fold func(c byte) byte) {
		for i := range len(shape) {
			switch {
			case strings.IndexByte(grouping, shape[i]) >= 0:
				b = append(b, shape[i])
			case rest != "":
				b, rest = append(b, fold(rest[0])), rest[1:]
			}
		}
	}
	upper := func(c byte) byte { return strings.ToUpper(string(rune(c)))[0] }
	for _, part := range p.parts {
		switch part {
		case dateField:
			like(p.layout, decimal.fold)
		case periodField:
			like(p.named, upper)
		case numberField:
			fold := p.alphabet.fold
			if p.check != nil && p.check.characters != digits { // an O that was exchanged with its neighbor is no 0
				fold = p.alphabet.cased
			}
			like(strings.Repeat("0", p.width), fold)
		case checkField:
			like(strings.Repeat("0", p.check.length), (&alphabet{characters: p.check.checks}).fold)
		default:
			at := len(b)
			like(part, func(c byte) byte { return c })
			if strings.EqualFold(string(b[at:]), part) {
				b = append(b[:at], part...)
			}
		}
	}
	return string(b) + rest
}

// fold returns the character that one stands for.
func (a *alphabet) fold(c byte) byte {
	found := a.cased(c)
	switch {
	case strings.IndexByte(a.characters, found) >= 0:
		return found
	case c == 'o' || c == 'O':
		return '0'
	case strings.IndexByte("iIlL", c) >= 0:
		return '1'
	}
	return c
}

// cased returns the character in the case that the alphabet has.
func (a *alphabet) cased(c byte) byte {
	for _, one := range []byte{c, strings.ToLower(string(rune(c)))[0], strings.ToUpper(string(rune(c)))[0]} {
		if strings.IndexByte(a.characters, one) >= 0 {
			return one
		}
	}
	return c
}

func (p *pattern) wantLength() string {
	if p.width == 0 {
		return fmt.Sprintf("at least %d bytes", p.fixed+1)
	}
	return fmt.Sprintf("%d bytes", p.fixed+p.width)
}
