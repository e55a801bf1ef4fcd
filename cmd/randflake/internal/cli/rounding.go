package cli

import (
	"math/bits"
	"regexp"
	"strconv"
	"strings"
)

// Programs that take IDs for floating-point numbers, as JavaScript, pandas and Excel do, leave 53 bits of each. They
// write what is left as an integer, all its digits or the 17 or 15 that they know, or as 1.5418156036060365e+18.

// A rounding says whether the numbers of a table were rounded.
type rounding int

const (
	notRounded rounding = iota
	perhapsRounded
	isRounded
)

// fewestRounded is how many numbers must look rounded: one in 100 or more of others looks so.
const fewestRounded = 10

// The bits of a floating-point number and of one of 32 bits. All smaller integers are exact.
const exactBits, singleBits = 53, 24

// floatingPoint is a number as 1.5418156036060365e+18 and 1541815603606036480.0, or 1,54182E+18 of a German Excel.
var floatingPoint = regexp.MustCompile(`^-?([0-9]+(\.[0-9]+)?([eE]\+?[0-9]+)?|[0-9],[0-9]+[eE]\+[0-9]+)$`)

// isFloat reports whether a text that is no ID is a floating-point number, and too large to be exact.
func isFloat(text string) bool {
	if !floatingPoint.MatchString(text) || isDecimal(strings.TrimPrefix(text, "-")) {
		return false
	}
	value, _ := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	return max(value, -value) > 1<<exactBits
}

// rounding looks at the decimal numbers that are too long to be exact. Others can also be exact, as the IDs of a
// Snowflake whose sequence number is always 0. But then they don't use the lowest bit or digit that rounding leaves.
func (s *entries) rounding() rounding {
	long := longNumbers{isExact: true, isShown: true}
	for i := range s.narrow.n {
		e := s.at(i)
		writing := e.at.writing() &^ typed
		if writing != other && writings[writing].form != formInt {
			continue
		}
		digits := strings.TrimPrefix(plainNumber(s.text(e)), "-") // other may be 1,541,815,603,606,036,480
		value, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || value <= 1<<exactBits {
			continue
		}
		long.add(digits, value)
		if !long.isExact && !long.isShown {
			return notRounded
		}
	}
	return long.rounding()
}

// longNumbers are what numbers of more than 53 bits have in common.
type longNumbers struct {
	n          int
	isExact    bool // each has at most 53 bits before zeros
	mostBits   int  // that one has before zeros
	odd, even  int  // how many have 1, and 0, as the last of the 53 bits
	isShown    bool // each has the digits with which JavaScript and Excel write such a number
	mostDigits int  // that one of more than 17 digits has before zeros
}

func (l *longNumbers) add(digits string, value uint64) {
	l.n++
	last := bits.Len64(value) - exactBits
	l.isExact = l.isExact && bits.TrailingZeros64(value) >= last
	l.mostBits = max(l.mostBits, bits.Len64(value)-bits.TrailingZeros64(value))
	if value>>last&1 == 1 {
		l.odd++
	} else {
		l.even++
	}
	l.isShown = l.isShown && strconv.FormatFloat(float64(value), 'f', -1, 64) == digits
	if len(digits) > 17 {
		l.mostDigits = max(l.mostDigits, len(strings.TrimRight(digits, "0")))
	}
}

func (l *longNumbers) rounding() rounding {
	usesLastBit := l.isExact && min(l.odd, l.even) > 0
	usesLastDigit := l.isShown && (l.mostDigits == 17 || l.mostDigits == 15)
	switch {
	case l.n < fewestRounded:
		return notRounded
	case usesLastBit, l.mostBits <= singleBits, usesLastDigit:
		return isRounded
	}
	return perhapsRounded
}
