package numbers

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/randflake/randflake/internal/idtext"
)

// A pattern is the shape of the texts of a format. All parts have a fixed length, except a number
// without a width. So each text can be split in only one way, whatever the literals are.
type pattern struct {
	parts []string // the first is a literal, perhaps ""
	fixed int      // length of all parts but the number, in bytes

	layout    string  // of the date, or ""
	dateShows Periods // the shortest period that the layout tells

	somePeriod string // the name of one, as all have the same length and hyphens; "" without {period}

	alphabet *idtext.Alphabet // of the number
	width    int              // of the number in characters, or 0 for as many as it needs
	last     int64            // the greatest number

	check     *checkSystem // or nil
	checkName string       // of the system
}

// Parts that are fields. The other parts are literals, which can't have braces.
const (
	dateField   = "{date}"
	periodField = "{period}"
	numberField = "{n}"
	checkField  = "{check}"
)

// parsePattern returns the pattern that a user wrote as text. It lacks what complete sets.
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
	if p.alphabet == nil {
		return nil, errors.New("want a field for the number, such as {n:6}")
	}
	if p.check != nil && !p.check.covers(p.alphabet) {
		return nil, fmt.Errorf("{check:%s} has no value for all characters of the number: "+
			"want an alphabet out of %s",
			p.checkName, p.check.characters)
	}
	return p, nil
}

func (p *pattern) addLiteral(literal string) error {
	refused := func(r rune) bool { return !unicode.IsPrint(r) || r == '}' }
	if !utf8.ValidString(literal) || strings.ContainsFunc(literal, refused) {
		return fmt.Errorf("literal %+q: want printable characters, and { and } around fields alone", literal)
	}
	p.parts = append(p.parts, literal)
	return nil
}

func (p *pattern) addField(field string) (err error) {
	name, argument, _ := strings.Cut(field, ":")
	if slices.Contains(p.parts, "{"+name+"}") {
		return fmt.Errorf("want one {%s} only", name)
	}
	if p.check != nil {
		return errors.New("want it before {check}, which covers what is before it")
	}
	switch name {
	case "date":
		p.layout = argument
		p.dateShows, err = parseLayout(argument)
	case "period":
		if argument != "" {
			err = errors.New("want {period}, and WithPeriods")
		}
	case "n":
		err = p.setNumber(argument)
	case "check":
		err = p.setCheck(argument)
	default:
		err = errors.New("want {date:20060102}, {period}, {n:6} or {check:mod97-10}, " +
			"with a layout, a width or a system of yours")
	}
	p.parts = append(p.parts, "{"+name+"}")
	return err
}

// setNumber parses what {n:WIDTH} or {n:WIDTH:ALPHABET} has after the first colon. For {n} that is
// "".
func (p *pattern) setNumber(argument string) error {
	width, characters, _ := strings.Cut(argument, ":")
	var err error
	p.alphabet, err = findAlphabet(characters)
	p.last = math.MaxInt64
	if err != nil || width == "" {
		return err
	}
	var fits bool
	p.width, err = strconv.Atoi(width)
	p.last, fits = last(p.alphabet, p.width)
	if err != nil || !fits {
		return fmt.Errorf("width %+q: "+
			"want a number from 1 on, and no numbers beyond 2^63-1: at most 18 decimal digits",
			width)
	}
	return nil
}

func (p *pattern) setCheck(name string) error {
	p.check = checkSystems[name]
	p.checkName = name
	if p.check == nil {
		return fmt.Errorf("want one of %s", strings.Join(slices.Sorted(maps.Keys(checkSystems)), ", "))
	}
	return nil
}

// complete sets what depends on the period of the numbers. It returns an error unless texts tell the period, by
// their date or by {period}.
func (p *pattern) complete(period Periods) error {
	isNamed := slices.Contains(p.parts, periodField)
	if isNamed {
		p.somePeriod = period.key(time.Unix(0, 0))
		if p.somePeriod == "" {
			return errors.New("{period}: want WithPeriods, which says what that is")
		}
	}
	isShown := p.dateShows >= period.shownBy()
	isNamedAlone := isNamed && p.layout == ""
	if !isShown && !isNamedAlone {
		return fmt.Errorf("its date shows less than the %v: "+
			"want {date:20060102} or such, or {period} and no date",
			period)
	}
	for _, part := range p.parts {
		p.fixed += p.length(part, 0)
	}
	return nil
}

// length returns how many bytes a part has in texts whose number has width characters.
func (p *pattern) length(part string, width int) int {
	switch part {
	case dateField:
		return len(p.layout) // as long as its dates
	case periodField:
		return len(p.somePeriod)
	case numberField:
		return width
	case checkField:
		return p.check.length
	}
	return len(part)
}
