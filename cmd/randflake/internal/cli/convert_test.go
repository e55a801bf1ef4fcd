package cli

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/randflake/randflake"
)

// TestConvert has each form of an ID become each other.
func TestConvert(t *testing.T) {
	for _, id := range []randflake.ID{0, 1, -1, -5, -4699162222527489228, math.MinInt64, math.MaxInt64, 175928847299117063} {
		written := map[string]string{
			"text": id.String(), "signed": fmt.Sprint(int64(id)), "unsigned": fmt.Sprint(uint64(id)), "hex": fmt.Sprintf("0x%016x", uint64(id)),
		}
		from := map[string]string{"text": "text", "signed": "int", "unsigned": "int", "hex": "hex"}
		for form, text := range written {
			for to, want := range written {
				if got := succeed(t, "", "convert", "--from", from[form], "--to", to, text); got != want+"\n" {
					t.Errorf("%s %s to %s: %q, want %q", form, text, to, got, want)
				}
			}
		}
		table := succeed(t, written["hex"]+"\n"+written["hex"]+"\n", "convert")
		row := []string{written["text"], written["signed"], written["unsigned"], written["hex"]}
		if lines := strings.Split(table, "\n"); len(lines) != 3 || fmt.Sprint(strings.Fields(lines[1])) != fmt.Sprint(row) || len(lines[1]) > 80 {
			t.Errorf("%q, want %q twice, and no head in a pipe", table, row)
		}
	}
}

// TestConvertBoundsLines: a line without end is refused, and the others are answered.
func TestConvertBoundsLines(t *testing.T) {
	for _, filling := range []string{" ", "0"} {
		r := call(t, "0x20\n"+strings.Repeat(filling, 3*longestLine)+"0x21\n0x22\n", "convert", "--to", "text")
		if r.code != exitFailed || r.out != "10\n12\n" || !strings.Contains(r.err, "line 2: ") || len(r.err) > 2*longestLine {
			t.Errorf("%d, %q, %q", r.code, r.out, r.err)
		}
	}
	if r := call(t, strings.Repeat(" ", longestLine-6)+"0x20\n", "convert", "--to", "text"); r.code != exitOK || r.out != "10\n" {
		t.Errorf("%d, %q, %q", r.code, r.out, r.err)
	}
}
