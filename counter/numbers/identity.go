package numbers

import (
	"crypto/aes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// checkValue returns a hash of what must stay the same under a name, as texts could repeat
// otherwise: the secret, and the identity of the pattern.
func (f *Format) checkValue() string {
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
// Of the literal before the first field only characters that touch the field count, and these only
// if texts can have any length.
func (p *pattern) identity() string {
	text := ""
	characters := p.alphabet.characters + digits // digits are in dates and check characters
	for i, part := range p.parts {
		switch part {
		case dateField:
			text += "{date:" + strings.Map(ungrouped, p.layout) + "}"
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
