package cli

import (
	"math/bits"
	"regexp"
	"strconv"
	"strings"
)

// Programs that take IDs for floating-point numbers, as JavaScript, pandas and Excel do, keep 53 bits of each, or 24.
// They write such a number in one of three ways:
//
//	1541815603606036480     with all its digits
//	1541815603606036500     with the 17 or 15 digits that they know, and zeros
//	1.5418156036060365e+18  as what is no ID any more: see isFloat
const doubleBits, singleBits = 53, 24

// floatingPoint is a number as 1.5418156036060365e+18 and 1541815603606036480.0, or 1,54182E+18 of a German Excel.
var floatingPoint = regexp.MustCompile(`^-?([0-9]+(\.[0-9]+)?([eE]\+?[0-9]+)?|[0-9],[0-9]+[eE]\+[0-9]+)$`)

// isFloat reports whether a text that is no ID is a floating-point number, and too large to be exact.
func isFloat(text string) bool {
	if !floatingPoint.MatchString(text) || isDecimal(strings.TrimPrefix(text, "-")) {
		return false
	}
	value, _ := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	return max(value, -value) > 1<<doubleBits
}

// A verdict says whether a program rounded the numbers of a table.
type verdict int

const (
	notRounded verdict = iota
	perhapsRounded
	surelyRounded
)

// judge says whether the decimal numbers were rounded.
func (s *entries) judge() verdict {
	seen := longNumbers{areFloats: true, areShort: true}
	for i := range s.narrow.n {
		digits, value, isLong := s.longNumber(s.at(i))
		if !isLong {
			continue
		}
		seen.add(digits, value)
		if !seen.areFloats && !seen.areShort {
			return notRounded // the first few of exact numbers show it
		}
	}
	return seen.verdict()
}

// longNumber returns a decimal number of more than 53 bits without its sign. All smaller ones are exact.
func (s *entries) longNumber(e entry) (digits string, value uint64, ok bool) {
	writing := e.at.writing() &^ prefixed
	if writing != unusual && writings[writing].form != formNumber { // an unusual one may be 1,541,815,603,606,036,480
		return "", 0, false
	}
	digits = strings.TrimPrefix(plainNumber(s.text(e)), "-")
	value, err := strconv.ParseUint(digits, 10, 64)
	return digits, value, err == nil && value > 1<<doubleBits
}

// longNumbers are what all long numbers have in common. Exact ones can look rounded too, such as those of a Snowflake
// whose sequence number is always 0. But they don't use the last bit or digit that rounding leaves.
type longNumbers struct {
	n int // of numbers

	areFloats bool    // each has at most 53 bits before zeros
	mostBits  int     // that one has before zeros
	lastBits  [2]bool // whether one has 0, and one has 1, as the last of its 53 bits

	areShort   bool // each has the digits with which JavaScript and Excel write it
	mostDigits int  // that one of more than 17 digits has before zeros
}

func (l *longNumbers) add(digits string, value uint64) {
	l.n++
	zeros := bits.TrailingZeros64(value)
	last := bits.Len64(value) - doubleBits
	l.areFloats = l.areFloats && zeros >= last
	l.mostBits = max(l.mostBits, bits.Len64(value)-zeros)
	l.lastBits[value>>last&1] = true

	l.areShort = l.areShort && strconv.FormatFloat(float64(value), 'f', -1, 64) == digits
	if len(digits) > 17 {
		l.mostDigits = max(l.mostDigits, len(strings.TrimRight(digits, "0")))
	}
}

func (l *longNumbers) verdict() verdict {
	const fewest = 10 // that must look rounded: one in 100 or more of others looks so
	usesLastBit := l.areFloats && l.lastBits == [2]bool{true, true}
	usesLastDigit := l.areShort && (l.mostDigits == 17 || l.mostDigits == 15)
	switch {
	case l.n < fewest:
		return notRounded
	case usesLastBit, usesLastDigit, l.mostBits <= singleBits:
		return surelyRounded
	}
	return perhapsRounded
}
