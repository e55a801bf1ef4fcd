package leaktest_test

import (
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/testing/leaktest"
)

var secret = [16]byte{0xdf, 0xfd, 0x60, 0x21, 0xbb, 0x2b, 0xd5, 0xb0, 0xaf, 0x67, 0x62, 0x90, 0x80, 0x9e, 0xc3, 0xa5}

// TestFindInSinks: what the standard library makes of an array is found. Package encoding/asn1 takes no arrays, JSON none as
// keys; types tell nothing, and some characters are shown and some escaped.
func TestFindInSinks(t *testing.T) {
	for name, sink := range leaktest.Sinks[[16]byte]() {
		if name == "encoding/asn1" || name == "JSON key" || name[0] == '%' && strings.ContainsAny(name, "Tq") {
			continue
		}
		if got := leaktest.Output(sink, secret); leaktest.Find(got, secret[:]) == "" {
			t.Errorf("%s: the secret is not found in %.400q", name, got)
		}
	}
	if form := leaktest.Find("[redacted] 0xc000012345 0x7ffc12345678 [1 2 3]", secret[:]); form != "" {
		t.Errorf("found %q, where nothing is", form)
	}
}

//go:noinline
func byValue(key [16]byte) { panic(len(key)) }

//go:noinline
func inWords(words [2]uint64) { panic(len(words)) }

// TestFindInDumps: what a traceback shows of an array is found.
func TestFindInDumps(t *testing.T) {
	for name, die := range map[string]func(){
		"bytes": func() { byValue(secret) },
		"words": func() { inWords([2]uint64{0xdffd6021bb2bd5b0, 0xaf676290809ec3a5}) },
	} {
		t.Run(name, func(t *testing.T) {
			if leaktest.Dumping() {
				die()
			}
			if dump := leaktest.Dump(t, "all"); leaktest.Find(dump, secret[:]) == "" {
				t.Errorf("the secret is not found in %s", dump)
			}
		})
	}
}
