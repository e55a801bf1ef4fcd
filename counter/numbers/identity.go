package numbers

import (
	"crypto/aes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// hash returns a hash of what must stay the same under a name, as texts could repeat
// otherwise: the secret, and the identity of the pattern.
func (f *Format) hash() string {
	h := sha256.New()
	io.WriteString(h, f.pattern.identity())
	if block := f.settings.block; block != nil {
		var zero [aes.BlockSize]byte
		block.Encrypt(zero[:], zero[:])
		h.Write(zero[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// identity returns what of a pattern tells texts apart: the fields in their order, with width and
// alphabet, and those characters of literals that a number could have too. Other characters of
// literals may change, and so may what separates the parts of a date.
//
// Before the first field only characters next to it count, and only if the number has no width:
// ORD1 with the number 23 and ORD12 with 3 would be one text.
func (p *pattern) identity() string {
	confusable := p.alphabet.Digits + digits // digits are in dates and check characters
	text := ""
	if p.width == 0 {
		first := p.parts[0]
		text = first[len(strings.TrimRight(first, confusable)):]
	}
	for _, part := range p.parts[1:] {
		switch part {
		case dateField:
			text += "{date:" + strings.Map(ungrouped, p.layout) + "}"
		case periodField:
			text += part
		case numberField:
			text += fmt.Sprintf("{n:%d:%s}", p.width, p.alphabet.Digits)
		case checkField:
			text += fmt.Sprintf("{check:%d}", p.check.length)
		default:
			text += only(part, confusable)
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
