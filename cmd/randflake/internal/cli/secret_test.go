package cli

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/mask"
)

// TestMaskAsThePackage: what the commands show is what package mask masks and opens.
func TestMaskAsThePackage(t *testing.T) {
	file, cipher := newSecretFile(t)
	m := mask.MaskerOf[int64](cipher, nil)
	for _, inner := range []int64{0, 1, 42, 1541815603606036480, math.MaxInt64} {
		want, err := m.Mask(inner)
		check(t, err)
		got := succeed(t, "", "mask", "--secret-file", file, fmt.Sprint(inner))
		require.That(t, got == want.String()+"\n", "mask %d: %q, want %v", inner, got, want)
		if got := succeed(t, "", "unmask", "--secret-file", file, "ord_"+want.String()); got != fmt.Sprintln(inner) {
			t.Errorf("open %v: %q, want %d", want, got, inner)
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
	lines := strings.Fields(out)
	require.That(t, len(lines) == 1000 && !strings.Contains(out, "1000003"), "%d lines, %.100q", len(lines), out)
	require.Equal(t, succeed(t, out, "unmask"), in.String(), "unmasked")
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
		{"unmask " + negative.String(), []string{"not masked under this secret", "--secret-file"}},
		{"unmask 5w", []string{"want 13 digits of base32hex"}},
		{"unmask 4711", []string{"a decimal number"}},
		{"unmask 3vgoe12ccb8gh", []string{"as gosuda/randflake prints it"}},
	} {
		wantFailure(t, call(t, "", append([]string{strings.Fields(c.args)[0], "--secret-file", file},
			strings.Fields(c.args)[1:]...)...), exitFailed, c.wanted...)
	}
	missing := filepath.Join(t.TempDir(), "none")
	wantFailure(t, call(t, "", "mask", "--secret-file", missing, "5"), exitFailed, missing, "no such file", "randflake secret new -o")
	t.Setenv(secretFileVariable, "")
	wantFailure(t, call(t, "", "mask", "5"), exitFailed, secretFileVariable+" is empty")
}
