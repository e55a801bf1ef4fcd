package cli

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/mask"
)

// A testSpace is what a service has: its cipher is set once, by the test that uses it.
type testSpace struct{}

var testSpaceMasker *mask.Masker[int64]

func (testSpace) Masker() *mask.Masker[int64] { return testSpaceMasker }
func (testSpace) IDPrefix() string            { return "" }

// TestMaskAsThePackage masks and opens the same as package mask does.
func TestMaskAsThePackage(t *testing.T) {
	file, cipher := newSecretFile(t)
	testSpaceMasker = &mask.Masker[int64]{Cipher: cipher}
	t.Cleanup(func() { testSpaceMasker = nil })
	for _, inner := range []int64{0, 1, 42, 1541815603606036480, math.MaxInt64} {
		want := mask.Of[testSpace](inner).String()
		if got := succeed(t, "", "mask", "--secret-file", file, fmt.Sprint(inner)); got != want+"\n" {
			t.Errorf("mask %d: %q, want %q", inner, got, want)
		}
		if got := succeed(t, "", "unmask", "--secret-file", file, want); got != fmt.Sprintln(inner) {
			t.Errorf("open %q: %q, want %d", want, got, inner)
		}
	}
	// What one refuses the other does, for texts of every kind.
	for _, text := range []string{"", "0", "v", "V", "0v", "w", "g000000000000", "00000000000000", "fvvvvvvvvvvvv", "3vgoe12ccb8gh", "é"} {
		id, err := mask.Parse[testSpace, int64](text)
		r := call(t, "", "unmask", "--secret-file", file, "--", text)
		if err == nil && r.out != fmt.Sprintln(id.Inner()) || (err == nil) != (r.code == exitOK) {
			t.Errorf("open %q: %+v, while package mask has %v, %v", text, r, id.Inner(), err)
		}
	}
}

// TestMaskThroughPipes sends many IDs there and back.
func TestMaskThroughPipes(t *testing.T) {
	file, _ := newSecretFile(t)
	t.Setenv(secretFileVariable, file)
	var in strings.Builder
	for i := range int64(1000) {
		fmt.Fprintln(&in, i*i*1_000_003)
	}
	out := succeed(t, in.String(), "mask")
	if lines := strings.Fields(out); len(lines) != 1000 || strings.Contains(out, "1000003") {
		t.Errorf("%d lines, %.100q", len(lines), out)
	}
	if back := succeed(t, out, "unmask"); back != in.String() {
		t.Errorf("%.100q, want %.100q", back, in.String())
	}
}

func TestMaskRefuses(t *testing.T) {
	file, cipher := newSecretFile(t)
	negative := cipher.Encrypt(1 << 63)
	for _, c := range []struct {
		args   string
		wanted []string
	}{
		{"mask -- -1", []string{"decimal digits"}},
		{"mask 12a", []string{`"12a"`, "decimal digits"}},
		{"mask 007", []string{"no leading zeros"}},
		{"mask 9223372036854775808", []string{"at most 9223372036854775807"}},
		{"unmask " + strings.ToUpper(negative.String()), []string{"lower case"}},
		{"unmask " + negative.String(), []string{"another secret", "--secret-file"}},
		{"unmask 5w", []string{"not a base32hex digit"}},
	} {
		wantFailure(t, call(t, "", append([]string{strings.Fields(c.args)[0], "--secret-file", file}, strings.Fields(c.args)[1:]...)...), exitFailed, c.wanted...)
	}
	missing := filepath.Join(t.TempDir(), "none")
	wantFailure(t, call(t, "", "mask", "--secret-file", missing, "5"), exitFailed, missing, "no such file", "randflake secret new -o")
	t.Setenv(secretFileVariable, "")
	wantFailure(t, call(t, "", "mask", "5"), exitFailed, secretFileVariable+" is empty")
}

// FuzzUnmask opens whatever text there is: it is refused, or masks to the same text again.
func FuzzUnmask(f *testing.F) {
	cipher := randflake.NewCipher(randflake.NewSecret())
	f.Add("0")
	f.Add("3vgoe12ccb8gh")
	f.Add("FVVVVVVVVVVVV")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := unmaskText(cipher, text)
		if err != nil {
			return
		}
		back, err := maskText(cipher, strconv.FormatInt(p.inner, 10))
		if err != nil || back != p || back.masked.String() != text {
			t.Errorf("%q opens to %d, which masks to %v, %v", text, p.inner, back.masked, err)
		}
	})
}
