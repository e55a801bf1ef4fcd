package numbers

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/randflake/randflake/internal/coarse"
	"github.com/randflake/randflake/internal/ff1"
)

// A Number is one number of a series. Numbers of one format are equal if their texts are. The zero
// Number is not a valid number.
type Number struct {
	// Period names the period of the number: "2026-11-22", "2026-W47", "2026-11", "2026-Q4", "2026" or
	// "FY2027". It is "" if the series has no periods.
	Period string

	// N counts the numbers, from 1 on. It is not encrypted, even if the text is.
	N int64

	text string
}

// String returns the text of the number.
func (n Number) String() string { return n.text }

// MarshalText returns the text of the number. [Format.Parse] reads it.
func (n Number) MarshalText() ([]byte, error) { return []byte(n.text), nil }

// A Format prints and reads the numbers of one name. It is safe for concurrent use, and needs no
// store.
type Format struct {
	name        string
	patternText string
	pattern     *pattern
	settings    settings
}

// seriesName matches the names that a counter can have.
var seriesName = regexp.MustCompile(`^[a-z0-9]([a-z0-9/_.-]{0,55}[a-z0-9])?$`)

const longestPattern = 1000 // bytes

// NewFormat returns the format of the numbers called name. A name has up to 57 lower-case letters,
// digits, and "/", "-", "_" and "." between them, as that of a counter. A pattern is as the package
// documentation describes, and has up to 1,000 bytes. The error wraps [ErrInvalidPattern], as where
// the width is too small for encryption, or randflake.ErrInvalidOption.
func NewFormat(name, pattern string, options ...Option) (*Format, error) {
	if !seriesName.MatchString(name) {
		return nil, fmt.Errorf("%w: name %.80q: "+
			"want up to 57 of a-z, 0-9, /, -, _ and ., first and last a letter or digit",
			errInvalidOption, name)
	}
	if len(pattern) > longestPattern {
		return nil, fmt.Errorf("%w: %+.40q and more: want at most %d bytes",
			ErrInvalidPattern, pattern, longestPattern)
	}
	p, err := parsePattern(pattern)
	if err != nil {
		return nil, fmt.Errorf("%w: %+q: %w", ErrInvalidPattern, pattern, err)
	}
	f := &Format{
		name:        name,
		patternText: pattern,
		pattern:     p,
		settings:    settings{period: p.dateShows, zone: time.UTC, clock: coarse.SourceOf(&coarse.Seconds)},
	}
	for i, option := range options {
		if option.set == nil {
			return nil, fmt.Errorf("%w: option %d is the zero Option: leave it out", errInvalidOption, i+1)
		}
		if err := option.set(&f.settings); err != nil {
			return nil, err
		}
	}
	if err := p.complete(f.settings.period); err != nil {
		return nil, fmt.Errorf("%w: %+q: %w", ErrInvalidPattern, pattern, err)
	}
	if err := f.checkEncryption(); err != nil {
		return nil, fmt.Errorf("%w: %+q: encrypted: %w", ErrInvalidPattern, pattern, err)
	}
	return f, nil
}

// checkEncryption returns why the numbers can't be encrypted, if they should be.
func (f *Format) checkEncryption() error {
	block, p := f.settings.block, f.pattern
	switch {
	case block == nil:
		return nil
	case p.width == 0:
		return errors.New("want a number with a width, such as {n:6}")
	}
	_, err := ff1.New(block, len(p.alphabet.Digits), p.width, nil)
	return err
}

// Last returns the greatest N that a number can have.
func (f *Format) Last() int64 {
	f.mustBeMade()
	return f.pattern.last
}

// mustBeMade panics unless NewFormat made f: each format has a pattern.
func (f *Format) mustBeMade() {
	if f == nil || f.pattern == nil {
		panic("numbers: no Format, or the zero one: make one with NewFormat")
	}
}

// Number returns the number n of the period that contains t, with the date of t. Use it to print a
// number whose time and N are stored in columns. It does not count; a [Series] does.
func (f *Format) Number(t time.Time, n int64) (Number, error) {
	f.mustBeMade()
	d, err := f.dateOf(t)
	if err != nil {
		return Number{}, err
	}
	return f.number(d, f.permutation(d.period), n)
}

// A date is what numbers have of a day, or a text of it.
type date struct {
	day    time.Time // a time of the day
	shown  string    // the day in the layout of the pattern
	period string    // the key of the period that has the day
}

// dateOf returns the date of t. A year in two digits stands for a year from 1969 to 2068, as in
// package time.
func (f *Format) dateOf(t time.Time) (date, error) {
	t = t.In(f.settings.zone)
	d := date{
		day:    t,
		shown:  t.Format(f.pattern.layout),
		period: f.settings.period.key(t),
	}
	read, err := time.Parse(f.pattern.layout, d.shown)
	sameDate := err == nil && f.pattern.dateShows.key(read) == f.pattern.dateShows.key(t)
	_, ok := f.settings.period.parse(d.period)
	if !sameDate || !ok {
		return date{}, fmt.Errorf("%w: {date:%s} can't show %s: want a year that its digits can tell",
			ErrInvalidNumber, f.pattern.layout, t.Format(time.RFC3339))
	}
	return d, nil
}

// number returns the number n, encrypted unless permutation is nil.
func (f *Format) number(d date, permutation *ff1.Cipher, n int64) (Number, error) {
	if n < 1 || n > f.pattern.last {
		return Number{}, fmt.Errorf("%w: %d: want 1 to %d, which %q has room for",
			ErrInvalidNumber, n, f.pattern.last, f.patternText)
	}
	shown := uint64(n)
	if permutation != nil {
		shown = permutation.Encrypt(shown)
	}
	text := f.pattern.print(d, shown)
	return Number{Period: d.period, N: n, text: text}, nil
}

// Parse reads the text of a number as String returned it, or as people write it where width,
// alphabet and check leave no doubt: with blanks, hyphens and the like elsewhere or left out, in
// the other case, with O for 0 and I or L for 1. For any other text the error wraps
// [ErrInvalidNumber]. In an encrypted series that includes one text in each period, the encryption
// of 0.
//
// A valid text does not prove that its number was made: people who know the pattern can make up a
// text that Parse accepts. If numbers are encrypted, they don't know which number the text stands
// for.
func (f *Format) Parse(text string) (Number, error) {
	f.mustBeMade()
	n, err := f.parse(text)
	if err == nil {
		return n, nil
	}
	meant, failed := f.parse(f.pattern.asPrinted(text))
	if failed != nil {
		return Number{}, err // of the text as it is
	}
	return meant, nil
}

// parse reads a text exactly as String returned it.
func (f *Format) parse(text string) (Number, error) {
	d, n, err := f.pattern.read(text)
	if err != nil {
		return Number{}, misread(text, "%w, as in %q", err, f.patternText)
	}
	d.day, err = time.Parse(f.pattern.layout, d.shown)
	if err != nil || d.day.Format(f.pattern.layout) != d.shown {
		return Number{}, misread(text, "date %q: want a day of the calendar, as in %q", d.shown, f.patternText)
	}
	if f.pattern.somePeriod != "" {
		day, ok := f.settings.period.parse(d.period)
		if f.pattern.layout == "" {
			d.day = day
		}
		if !ok || f.settings.period.key(d.day) != d.period {
			return Number{}, misread(text, "period %s: want a %v of the calendar, with the date in it",
				d.period, f.settings.period)
		}
	}
	period := f.settings.period.key(d.day)
	permutation := f.permutation(period)
	if permutation != nil {
		n = permutation.Decrypt(n)
	}
	if n == 0 {
		return Number{}, misread(text, "want the text of a number from 1 on")
	}
	return Number{Period: period, N: int64(n), text: text}, nil
}

// misread returns the error of a text that is not one of a number.
func misread(text, format string, args ...any) error {
	return fmt.Errorf("%w: %.80q: %w", ErrInvalidNumber, text, fmt.Errorf(format, args...))
}

// permutation returns the permutation of the numbers of a period, or nil if numbers are not
// encrypted. Names don't contain zero bytes, so no other name and period have this tweak.
func (f *Format) permutation(period string) *ff1.Cipher {
	if f.settings.block == nil {
		return nil
	}
	radix := len(f.pattern.alphabet.Digits)
	tweak := f.name + "\x00" + period
	c, _ := ff1.New(f.settings.block, radix, f.pattern.width, []byte(tweak)) // can't fail: see checkEncryption
	return c
}
