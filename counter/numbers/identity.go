package numbers

import (
	"crypto/aes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// checkValue stands for what must stay under a name, since texts could repeat if it changed: the secret, and the fields with their
// order, width and alphabet. Literals may change, but for characters that a number could have, and what separates parts of a date.
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

// identity returns what tells texts apart: the fields in their order, without what separates the parts of a date, and the characters
// of literals that could be a number's. Before the first field these only matter where they touch it and texts have any length.
func (p *pattern) identity() string {
	text := ""
	characters := p.alphabet.characters + digits // those of dates and check characters
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
