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
	n := 0
	isExact := true   // all have no more than 53 bits before zeros,
	mostBits := 0     // or as many,
	var odd, even int // and how many have each value in the last of these,
	isShown := true   // or all have the digits with which JavaScript and Excel write such a number,
	mostDigits := 0   // as many before zeros
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
		n++
		last := bits.Len64(value) - exactBits
		isExact = isExact && bits.TrailingZeros64(value) >= last
		mostBits = max(mostBits, bits.Len64(value)-bits.TrailingZeros64(value))
		if value>>last&1 == 1 {
			odd++
		} else {
			even++
		}
		isShown = isShown && strconv.FormatFloat(float64(value), 'f', -1, 64) == digits
		if len(digits) > 17 {
			mostDigits = max(mostDigits, len(strings.TrimRight(digits, "0")))
		}
		if !isExact && !isShown {
			return notRounded
		}
	}
	switch {
	case n < fewestRounded:
		return notRounded
	case isExact && min(odd, even) > 0, mostBits <= singleBits, isShown && (mostDigits == 17 || mostDigits == 15):
		return isRounded
	}
	return perhapsRounded
}
