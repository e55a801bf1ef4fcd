// Package leaktest finds secrets in what programs print, for tests: in what the standard library makes of a value, and
// in the dumps of processes that die.
package leaktest

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Find tells how text shows a part of the secret bytes, or nothing where it does not. A part is small, as a traceback
// prints no more than ten values of an array: four bytes in a row, as numbers, characters or in an encoding, or a longer word.
func Find(text string, secret []byte) string {
	lower, dense := strings.ToLower(text), strings.NewReplacer(" ", "", ",", "", "'", "").Replace(text)
	for _, form := range encoded(secret) {
		if strings.Contains(text, form) || strings.Contains(dense, form) || strings.Contains(lower, strings.ToLower(form)) {
			return strconv.Quote(form)
		}
	}
	for _, base := range []int{2, 8, 10, 16} {
		all := numbers(text, base)
		for _, part := range words(secret) {
			if contains(all, part) {
				return fmt.Sprintf("%v in base %d", part, base)
			}
		}
	}
	return ""
}

// contains reports whether all has part in a row, with as many other numbers between each two: indices, for instance.
func contains(all, part []uint64) bool {
	for i, n := range all {
		if n != part[0] {
			continue
		}
		for stride := 1; stride <= 3 && i+stride*(len(part)-1) < len(all); stride++ {
			same := true
			for j := range part {
				same = same && all[i+stride*j] == part[j]
			}
			if same {
				return true
			}
		}
	}
	return false
}

// encoded returns parts of the secret in encodings of bytes.
func encoded(secret []byte) (all []string) {
	for i := range len(secret) - 5 {
		five, six := secret[i:i+5], secret[i:i+6]
		var binary, runes strings.Builder
		for _, b := range five {
			fmt.Fprintf(&binary, "%08b", b)
			runes.WriteRune(rune(b))
		}
		all = append(all, string(five), runes.String(), binary.String(), fmt.Sprintf("%x", five),
			base32.StdEncoding.EncodeToString(five), base32.HexEncoding.EncodeToString(five),
			base64.StdEncoding.EncodeToString(six), base64.URLEncoding.EncodeToString(six))
	}
	return all
}

// words returns parts of the secret as numbers in a row: bytes, and words of either byte order, which may be signed.
func words(secret []byte) (all [][]uint64) {
	for i := range secret {
		rest := secret[i:]
		if len(rest) >= 4 {
			all = append(all, []uint64{uint64(rest[0]), uint64(rest[1]), uint64(rest[2]), uint64(rest[3])})
		}
		for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
			if i%2 == 0 && len(rest) >= 6 {
				all = append(all, []uint64{uint64(order.Uint16(rest)), uint64(order.Uint16(rest[2:])), uint64(order.Uint16(rest[4:]))})
			}
			if i%4 == 0 && len(rest) >= 4 {
				word := order.Uint32(rest)
				all = append(all, []uint64{uint64(word)}, []uint64{uint64(-word)})
			}
			if i%8 == 0 && len(rest) >= 8 {
				word := order.Uint64(rest)
				all = append(all, []uint64{word}, []uint64{-word})
			}
		}
	}
	return all
}

// numbers returns the numbers of a base that text has, whatever stands between them: those of "[%!d(uint8=+1) 0x02]" in
// base 16 are 0xd, 1 and 2.
func numbers(text string, base int) (all []uint64) {
	prefix := map[int]string{2: "0bB", 8: "0oO", 16: "0xXuU"}[base]
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		digits := strings.TrimLeft(field, prefix)
		if digits == "" && field != "" {
			digits = "0"
		}
		if n, err := strconv.ParseUint(digits, base, 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}
