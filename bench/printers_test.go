package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/davecgh/go-spew/spew"

	"github.com/randflake/randflake"
)

// TestPrintersShowNoSecret: a printer that follows pointers, into unexported fields too, and calls
// no methods, as debuggers and assertions do, shows neither a secret nor its first round keys,
// which are words of it, each twice.
func TestPrintersShowNoSecret(t *testing.T) {
	printer := spew.ConfigState{Indent: " ", DisableMethods: true, DisablePointerMethods: true, SpewKeys: true}
	shown := [16]byte{0xdf, 0xfd, 0x60, 0x21, 0xbb, 0x2b, 0xd5, 0xb0, 0xaf, 0x67, 0x62, 0x90, 0x80, 0x9e, 0xc3, 0xa5}
	roundKey := func(i int) uint32 { return 0x10001 * uint32(binary.BigEndian.Uint16(shown[2*i:])) }
	shows := func(value any) (parts []string) {
		text := printer.Sdump(value)
		for i := range 4 {
			word := shown[4*i : 4*i+4]
			for _, part := range []string{fmt.Sprintf("% x", word), fmt.Sprintf("%x", word), fmt.Sprint(roundKey(i))} {
				if strings.Contains(text, part) {
					parts = append(parts, part)
				}
			}
		}
		return parts
	}
	if shows(&shown) == nil || shows(&[]uint32{roundKey(0)}) == nil { // the negative control
		t.Error("what is not hidden is not found")
	}
	secret := must(randflake.SecretFromBytes(shown[:]))
	start := time.Unix(randflake.Epoch, 0)
	g := must(randflake.New(secret, randflake.Lease{Start: start, End: start.Add(time.Minute)}))
	for _, value := range []any{secret, &secret, g, g.Cipher()} {
		if parts := shows(value); parts != nil {
			t.Errorf("a dump of a %T shows %q", value, parts)
		}
	}
}
