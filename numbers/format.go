package numbers

import (
	"fmt"
	"math"
	"regexp"
	"time"

	"github.com/randflake/randflake/numbers/ff1"
)

// A Number is one number of a series. Numbers of one format are equal if their texts are. The zero Number is none.
type Number struct {
	// Period is the one that N is counted in: "2026-11-22", "2026-11", "2026", or "" where there is one for all.
	Period string

	// N is the number as it is counted, from 1 on, also where the text shows it encrypted.
	N int64

	text string
}

// String returns the text of the number.
func (n Number) String() string { return n.text }

// MarshalText returns the text of the number. Format.Parse reads it.
func (n Number) MarshalText() ([]byte, error) { return []byte(n.text), nil }

// A Format prints and reads the numbers of one name. It is safe for concurrent use, and needs no store.
type Format struct {
	name     string
	text     string
	settings settings
	pattern  *pattern
	last     int64
}

// seriesName leaves room for the longest period in the name of a counter.
var seriesName = regexp.MustCompile(`^[a-z0-9]([a-z0-9/_.-]{0,37}[a-z0-9])?$`)

// NewFormat returns the format of the numbers called name, up to 39 small letters, digits, and "/", "-", "_" and "."
// between them. The package's documentation tells what a pattern is. The error wraps [ErrInvalidPattern] or
// [ErrInvalidOption], and, where there are too few numbers to encrypt, [ff1.ErrInvalidDomain].
func NewFormat(name, pattern string, options ...Option) (*Format, error) {
	if !seriesName.MatchString(name) {
		return nil, fmt.Errorf("%w: name %q: want up to 39 of a-z, 0-9, /, -, _ and ., first and last a letter or digit", ErrInvalidOption, name)
	}
	p, err := parsePattern(pattern)
	if err != nil {
		return nil, err
	}
	f := &Format{name: name, text: pattern, pattern: p, last: p.last(), settings: settings{period: p.shows, zone: time.UTC}}
	for i, option := range options {
		if option.set == nil {
			return nil, fmt.Errorf("%w: option %d is the zero Option: leave it out", ErrInvalidOption, i+1)
		}
		if err := option.set(&f.settings); err != nil {
			return nil, err
		}
	}
	if f.settings.period > p.shows {
		return nil, fmt.Errorf("%w: %q: it shows less than the %v, so that texts would repeat: want {date:20060102} or such",
			ErrInvalidPattern, pattern, f.settings.period)
	}
	if f.settings.block != nil && p.width == 0 {
		return nil, fmt.Errorf("%w: %q: encrypted: want a number with a width, such as {n:6}", ErrInvalidPattern, pattern)
	}
	if _, err := f.permutation(""); err != nil {
		return nil, fmt.Errorf("%w: %q: encrypted: %w", ErrInvalidPattern, pattern, err)
	}
	return f, nil
}

// Last returns the greatest N of a number.
func (f *Format) Last() int64 { return f.last }

// Number returns the number n of the period that t falls into, with the date of t, to print again what is kept in
// columns. It does not count: Series does.
func (f *Format) Number(t time.Time, n int64) (Number, error) {
	d, err := f.dateOf(t)
	if err != nil {
		return Number{}, err
	}
	permutation, err := f.permutation(d.period)
	if err != nil {
		return Number{}, err
	}
	return f.number(d, permutation, n)
}

// A date is what a time tells of numbers.
type date struct {
	day           time.Time // some time of it
	shown, period string
}

// dateOf returns the date of t. Two digits for a year tell apart those from 1969 to 2068, as in package time.
func (f *Format) dateOf(t time.Time) (date, error) {
	t = t.In(f.settings.zone)
	d := date{t, t.Format(f.pattern.layout), f.settings.period.key(t)}
	if read, err := time.Parse(f.pattern.layout, d.shown); err != nil || f.pattern.shows.key(read) != f.pattern.shows.key(t) {
		return date{}, fmt.Errorf("%w: {date:%s} can't show %s: want a year that its digits can tell", ErrInvalidNumber, f.pattern.layout, t.Format(time.RFC3339))
	}
	return d, nil
}

// number returns the number n, encrypted unless permutation is nil.
func (f *Format) number(d date, permutation *ff1.Cipher, n int64) (Number, error) {
	if n < 1 || n > f.last {
		return Number{}, fmt.Errorf("%w: %d: want 1 to %d, which %q has room for", ErrInvalidNumber, n, f.last, f.text)
	}
	shown := uint64(n)
	if permutation != nil {
		shown = permutation.Encrypt(shown)
	}
	return Number{Period: d.period, N: n, text: f.pattern.text(d.shown, shown)}, nil
}

// Parse reads the text of a number, the very text that String returned. Everything else is an error that wraps
// [ErrInvalidNumber]. So is one text of an encrypted series in each period, whose number would be 0.
//
// A text is not a proof: whoever knows the pattern can make one up that Parse reads, if not which number it
// stands for where it is encrypted.
func (f *Format) Parse(text string) (Number, error) {
	shown, n, want, at := f.pattern.parse(text)
	if want != "" {
		return Number{}, fmt.Errorf("%w: %.80q: at byte %d: want %s, as in %q", ErrInvalidNumber, text, at, want, f.text)
	}
	t, err := time.Parse(f.pattern.layout, shown)
	if err != nil || t.Format(f.pattern.layout) != shown {
		return Number{}, fmt.Errorf("%w: %.80q: date %q: want a day of the calendar, as in %q", ErrInvalidNumber, text, shown, f.text)
	}
	period := f.settings.period.key(t)
	permutation, err := f.permutation(period)
	if err != nil {
		return Number{}, err
	}
	if permutation != nil {
		n = permutation.Decrypt(n)
	}
	if n < 1 || n > math.MaxInt64 {
		return Number{}, fmt.Errorf("%w: %.80q: want the text of a number from 1 on", ErrInvalidNumber, text)
	}
	return Number{Period: period, N: int64(n), text: text}, nil
}

// permutation returns the permutation of the numbers of a period, or nil where they are not encrypted. No name has a zero byte.
func (f *Format) permutation(period string) (*ff1.Cipher, error) {
	if f.settings.block == nil {
		return nil, nil
	}
	return ff1.New(f.settings.block, len(f.pattern.alphabet.characters), f.pattern.width, []byte(f.name+"\x00"+period))
}
