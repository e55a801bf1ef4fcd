package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/randflake/randflake"
	gosuda "github.com/randflake/randflake/compat/v2"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/snowflake"
)

// newSecretFile makes a secret and returns its file and its cipher.
func newSecretFile(t *testing.T) (string, *randflake.Cipher) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	succeed(t, "", "secret", "new", "-o", file)
	secret, err := local.ReadSecret(file)
	check(t, err)
	return file, randflake.NewCipher(secret)
}

// sample returns an ID of a time, whose decimal form is negative or not.
func sample(t *testing.T, cipher *randflake.Cipher, made time.Time, negative bool) (randflake.ID, randflake.Fields) {
	t.Helper()
	for sequence := range uint32(10000) {
		f := randflake.Fields{Time: made, Node: 70000, Sequence: sequence}
		id, err := cipher.Compose(f)
		check(t, err)
		if (id < 0) == negative {
			return id, f
		}
	}
	t.Fatal("no such ID")
	return 0, randflake.Fields{}
}

// january is when most samples are made.
var january = time.Date(2025, 1, 31, 12, 0, 0, 0, time.UTC)

func TestInspectForms(t *testing.T) {
	file, cipher := newSecretFile(t)
	id, f := sample(t, cipher, january, true)
	want := fmt.Sprintf("%s  2025-01-31T12:00:00Z  node  70000  sequence %6d\n", id, f.Sequence)
	text, decimal, hex := id.String(), strconv.FormatInt(int64(id), 10), fmt.Sprintf("%016x", uint64(id))
	for _, args := range [][]string{
		{text}, {"--from", "text", text}, {`"` + text + `"`},
		{"--kind=randflake", decimal}, {"--kind=randflake", "--from", "number", decimal}, {"--kind=randflake", "--", decimal},
		{"--kind=randflake", "0x" + hex}, {"--kind=randflake", "0X" + strings.ToUpper(hex)}, {"--kind=randflake", "--from", "hex",
			hex}, {"--kind=randflake", "--from=hex", "0x" + hex},
	} {
		require.Equal(t, succeed(t, "", append([]string{"inspect", "--secret-file", file}, args...)...), want, "inspect %q", args)
		if len(args) > 1 && args[1] == "--" {
			continue
		}
		got := succeed(t, "", append([]string{"inspect"}, append(args, "--secret-file", file)...)...)
		require.That(t, got == want, "inspect %q --secret-file: %q, want %q", args, got, want)
	}
	got := succeed(t, " "+text+"\r\n\n"+decimal, "inspect", "--kind", "randflake", "--secret-file", file)
	require.That(t, got == want+want, "from standard input: %q, want %q twice", got, want)
	other := gosuda.EncodeString(int64(id))
	want = strings.Replace(want, "\n", "  format gosuda\n", 1)
	for _, from := range []string{"auto", "gosuda"} {
		require.Equal(t, succeed(t, "", "inspect", "--secret-file", file, "--from", from, other), want, "--from %s %s", from, other)
	}
	got = succeed(t, "", "inspect", "--secret-file", file, "--json", other)
	require.That(t, strings.Contains(got, `"id":"`+text+`"`) && strings.Contains(got, `"format":"gosuda"`),
		"%s: %s, want %s and its form", other, got, text)
}

func TestInspectRefuses(t *testing.T) {
	file, _ := newSecretFile(t)
	for _, c := range []struct {
		id, from, want string
	}{
		{"jvgoe12ccb8gw", "auto", "want 13 digits of base32hex"},
		{"é", "auto", "want 13 digits of base32hex"},
		{"", "auto", "got 0 bytes; numbers, 0x and hexadecimal digits, ULIDs and UUIDs are read, too"},
		{"1234567890abcd", "auto", "got 14 bytes"},
		{"jvgoe12ccb8gH", "auto", "has capitals: want lower case"},
		{"3VGOE12CCB8GH", "auto", "has capitals: want lower case"},
		{"null", "auto", "want 13 digits of base32hex"},
		{"12", "text", "a decimal number"},
		{"3vgoe12ccb8gh", "text", "as gosuda/randflake prints it"},
		{"jvgoe12ccb8g", "text", "got 12 bytes\n"},
		{"gvgoe12ccb8g", "auto", "got 12 bytes; if gosuda/randflake printed it, say --from gosuda"},
		{"ord_3vgoe12ccb8gh", "auto", "say --from gosuda"},
		{"ord__jvgoe12ccb8gh", "auto", "want 13 digits of base32hex"},
		{strings.Repeat("a", 64) + "_jvgoe12ccb8gh", "auto", "want 13 digits of base32hex"},
		{"jvgoe12ccb8gh", "gosuda", "at most 64 bits"},
		{"3VGOE12CCB8GH", "gosuda", "in lower case"},
		{"03vgoe12ccb8", "gosuda", "without leading zeros"},
		{"", "gosuda", "want 1 to 13 digits"},
		{"18446744073709551616", "auto", "more than 64 bits"},
		{"-9223372036854775809", "auto", "more than 64 bits"},
		{"--5", "number", "not a decimal number"},
		{"5a", "number", "not a decimal number"},
		{"0x", "auto", "not a hexadecimal number"},
		{"0xg", "auto", "not a hexadecimal number"},
		{"0x-5", "auto", "not a hexadecimal number"},
		{"0x10000000000000000", "auto", "more than 64 bits"},
		{"0x00000000000000001", "auto", "more than 64 bits"},
		{"abcx", "hex", "not a hexadecimal number"},
		{strings.Repeat("a", 5000), "auto", "got 5000 bytes"},
	} {
		wantFailure(t, call(t, "", "inspect", "--secret-file", file, "--from", c.from, "--", c.id), exitFailed, c.want)
	}
}

// TestInspectGoesOn has bad lines among good ones.
func TestInspectGoesOn(t *testing.T) {
	file, cipher := newSecretFile(t)
	id, _ := sample(t, cipher, january, true)
	input := fmt.Sprintf("%v\nabcw\n\n%v\n%s\n%s\n%v", id, id, strings.Repeat("a", 10000), strings.Repeat(" ", 10000), id)
	r := call(t, input, "inspect", "--secret-file", file)
	require.That(t, r.code == exitFailed && strings.Count(r.out, id.String()) == 3 && strings.Count(r.out, "\n") == 3,
		"exit status %d, output %q: want 1 and the good ID three times", r.code, r.out)
	lines := strings.Split(strings.TrimSuffix(r.err, "\n"), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "randflake: line 2: ") ||
		!strings.HasPrefix(lines[1], "randflake: line 5: ") || !strings.HasPrefix(lines[2], "randflake: line 6: ") {
		t.Errorf("standard error %q, want a line each for 2, 5 and 6", lines)
	}
}

// TestInspectImplausible shows what an ID of the future holds, and fails.
func TestInspectImplausible(t *testing.T) {
	file, cipher := newSecretFile(t)
	good, _ := sample(t, cipher, january, true)
	bad, err := cipher.Compose(randflake.Fields{Time: time.Now().Add(time.Hour)})
	check(t, err)
	args := []string{"inspect", "--secret-file", file, "--from", "text", "--json", good.String(), bad.String(), "x!", good.String()}
	r := call(t, "", args...)
	require.That(t, r.code == exitFailed && strings.Count(r.out, `"plausible":true`) == 2 && strings.Count(r.out, `"plausible":false`) == 1,
		"%+v: want two plausible and one implausible ID", r)
	if strings.Count(r.err, "\n") != 2 || !strings.Contains(r.err, bad.String()+" contains a time in the future") ||
		!strings.Contains(r.err, `"x!": want 13 digits`) {
		t.Errorf("%q: want a word on both that are bad", r.err)
	}
	r = call(t, "", "inspect", "--secret-file", file, "ord_"+good.String(), "ord_"+bad.String())
	if r.code != exitNo || !strings.HasPrefix(r.out, "ord_"+good.String()+" ") ||
		!strings.Contains(r.err, "ord_"+bad.String()+" contains a time in the future") {
		t.Errorf("typed: %+v", r)
	}
}

// TestInspectDoesNotHoldBack reads the answer to a line before it writes the next one.
func TestInspectDoesNotHoldBack(t *testing.T) {
	file, cipher := newSecretFile(t)
	id, _ := sample(t, cipher, january, true)
	in, ask := io.Pipe()
	answer, out := io.Pipe()
	done := make(chan int)
	go func() {
		done <- (&tool{stdin: in, stdout: out, stderr: io.Discard}).run(t.Context(), []string{"inspect", "--secret-file", file})
	}()
	for range 3 {
		fmt.Fprintln(ask, id)
		got := make([]byte, 100)
		n, err := answer.Read(got)
		require.Must(t, err == nil && bytes.HasPrefix(got[:n], []byte(id.String())), "answer %q, %v", got[:n], err)
	}
	ask.Close()
	require.Equal(t, <-done, exitOK, "exit status")
}

// A late reader has what a function returns once it is read.
type late struct {
	text func() string
	r    io.Reader
}

func (l *late) Read(b []byte) (int, error) {
	if l.r == nil {
		l.r = strings.NewReader(l.text())
	}
	return l.r.Read(b)
}

// TestNewPipedIntoInspect: the first new makes the secret while inspect already waits for its output.
func TestNewPipedIntoInspect(t *testing.T) {
	isolate(t)
	var id string
	pipe := &late{text: func() string {
		id = call(t, "", "new").out
		return id
	}}
	var out, errs bytes.Buffer
	code := (&tool{stdin: pipe, stdout: &out, stderr: &errs}).run(t.Context(), []string{"inspect"})
	require.That(t, code == exitOK && strings.HasPrefix(out.String(), strings.TrimSpace(id)+" "),
		"exit status %d, %s%s", code, &out, &errs)
}

func TestFailedInput(t *testing.T) {
	file, _ := newSecretFile(t)
	for command, lines := range map[string]int{"inspect": 1, "analyze": 0} {
		var out, errs bytes.Buffer
		in := io.MultiReader(strings.NewReader("jvgoe12ccb8gh\nv"), iotest.ErrReader(errors.New("torn cable")))
		code := (&tool{stdin: in, stdout: &out, stderr: &errs}).run(t.Context(), []string{command, "--secret-file", file})
		failed := code == exitFailed && strings.Contains(errs.String(), "standard input: torn cable")
		require.That(t, failed && strings.Count(out.String(), "\n") == lines,
			"%s: exit status %d, output %q, %q", command, code, &out, &errs)
	}
}

// TestConvert has each form of an ID become each other.
func TestConvert(t *testing.T) {
	for _, id := range []randflake.ID{0, 1, -1, -5, -4699162222527489228, math.MinInt64, math.MaxInt64, 175928847299117063} {
		written := map[string]string{
			"text": id.String(), "number": fmt.Sprint(int64(id)), "unsigned": fmt.Sprint(uint64(id)), "hex": fmt.Sprintf("0x%016x", uint64(id)),
		}
		from := map[string]string{"text": "text", "number": "number", "unsigned": "number", "hex": "hex"}
		for form, text := range written {
			for to, want := range written {
				got := succeed(t, "", "convert", "--from", from[form], "--to", to, text)
				require.That(t, got == want+"\n", "%s %s to %s: %q, want %q", form, text, to, got, want)
			}
		}
		table := succeed(t, written["hex"]+"\n"+written["hex"]+"\n", "convert")
		row := []string{written["text"], written["number"], written["unsigned"], written["hex"]}
		if lines := strings.Split(table, "\n"); len(lines) != 3 || fmt.Sprint(strings.Fields(lines[1])) != fmt.Sprint(row) || len(lines[1]) > 80 {
			t.Errorf("%q, want %q twice, and no head in a pipe", table, row)
		}
	}
}

// TestConvertGosuda: standard error says how many IDs were read as gosuda/randflake prints them, but
// not where --from does.
func TestConvertGosuda(t *testing.T) {
	for _, c := range []struct{ args, out, err string }{
		{"3vgoe12ccb8gh", "jvgoe12ccb8gh\n",
			"randflake: 1 of 1 IDs read as gosuda/randflake prints them, 3vgoe12ccb8gh first; a text that lost its first digits looks so, too"},
		{"2ccb8gh", "g000002ccb8gh\n", "1 of 1 IDs"},
		{"fvvvvvvvvvvvv jvgoe12ccb8gh 12 1e3", "vvvvvvvvvvvvv\njvgoe12ccb8gh\ng00000000000c\ng0000000001e3\n",
			"2 of 4 IDs read as gosuda/randflake prints them, fvvvvvvvvvvvv first"},
		{"x 1e3 0x1e3", "g0000000001e3\ng0000000000f3\n", "1 of 2 IDs"},
		{"jvgoe12ccb8gh 10 0x1e3 0AWG1PRQQFZ8D", "jvgoe12ccb8gh\ng00000000000a\ng0000000000f3\ngasg1monnfv8d\n", ""},
		{"--from gosuda fvvvvvvvvvvvv tot934enhmen null 10", "vvvvvvvvvvvvv\ngtot934enhmen\ng00000000null\ng000000000010\n", ""},
	} {
		r := call(t, "", append([]string{"convert", "--to", "text"}, strings.Fields(c.args)...)...)
		if r.out != c.out || !strings.Contains(r.err, c.err) || c.err == "" && r.err != "" {
			t.Errorf("%s: %+v, want %q and %q", c.args, r, c.out, c.err)
		}
	}
	var texts, gosudas string
	for _, v := range idtest.Vectors(t, "../../../../testdata/randflake.json") {
		texts += v.Text + "\n"
		gosudas += v.GosudaText + "\n"
	}
	require.Equal(t, succeed(t, gosudas, "convert", "--from", "gosuda", "--to", "text"), texts, "the vectors")
}

// TestConvertBoundsLines: a line without end is refused, and the others are answered.
func TestConvertBoundsLines(t *testing.T) {
	for _, filling := range []string{" ", "0"} {
		r := call(t, "0x20\n"+strings.Repeat(filling, 3*longestLine)+"0x21\n0x22\n", "convert", "--to", "text")
		if r.code != exitFailed || r.out != "g000000000010\ng000000000012\n" ||
			!strings.Contains(r.err, "line 2: ") || len(r.err) > 2*longestLine {
			t.Errorf("%d, %q, %q", r.code, r.out, r.err)
		}
	}
	if r := call(t, strings.Repeat(" ", longestLine-6)+"0x20\n", "convert", "--to", "text"); r.code != exitOK || r.out != "g000000000010\n" {
		t.Errorf("%d, %q, %q", r.code, r.out, r.err)
	}
}

// at returns an inspector at some time.
func at(now time.Time) *inspector {
	return &inspector{tool: &tool{}, parser: parser{from: "auto"}, now: func() time.Time { return now }}
}

func labels(readings []reading) (all []string) {
	for _, r := range readings {
		all = append(all, strings.TrimSpace(r.kind+" "+r.layout))
	}
	return all
}

// TestReadingsOfANumber has an ID whose times in the layouts come one after the other.
func TestReadingsOfANumber(t *testing.T) {
	const tweet = "1541815603606036480"
	made := time.Date(2022, 6, 28, 16, 7, 40, 105e6, time.UTC)
	in := at(made)
	readings, err := in.readingsOf(in.parse(tweet))
	want := []string{"snowflake twitter", "snowflake worker10", "snowflake instagram", "snowflake unix", "snowflake baidu"}
	got := labels(readings)
	require.That(t, err == nil && slices.Equal(got, want), "when it was made: %q, %v, want %q", got, err, want)
	require.That(t, readings[0].time.Equal(made), "made at %v, want %v", readings[0].time, made)
	in.now = func() time.Time { return made.AddDate(5, 0, 0) }
	readings, err = in.readingsOf(in.parse(tweet))
	if got := labels(readings); err != nil || got[0] != "snowflake discord" || got[1] != "snowflake twitter" {
		t.Errorf("when it has been in another layout: %q, %v", got, err)
	}
	in.now = func() time.Time { return made.Add(-2 * clockSkew) }
	if readings, err = in.readingsOf(in.parse(tweet)); err != nil || slices.Contains(labels(readings), "snowflake twitter") {
		t.Errorf("before it was made: %q, %v", labels(readings), err)
	}
	in.now = func() time.Time { return made.Add(-clockSkew / 2) }
	if readings, err = in.readingsOf(in.parse(tweet)); err != nil || labels(readings)[0] != "snowflake twitter" {
		t.Errorf("by a clock that is behind: %q, %v", labels(readings), err)
	}
	in.now = func() time.Time { return time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC) }
	if _, err = in.readingsOf(in.parse(tweet)); err == nil || !strings.Contains(err.Error(), "--kind or --layout") {
		t.Errorf("long before: %v, want advice", err)
	}
}

// TestReadingAsRandflake has a number that is a Randflake ID, with its secret and with another one.
func TestReadingAsRandflake(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	cipher := fixedCipher()
	id, fields := sample(t, cipher, now.Add(-time.Second), false)
	text := fmt.Sprint(int64(id))
	in := at(now)
	in.cipher = cipher
	readings, err := in.readingsOf(in.parse(text))
	require.That(t, err == nil && len(readings) != 0 && readings[0].kind == kindRandflake && readings[0].time.Equal(fields.Time),
		"%+v, %v, want the Randflake ID first", readings, err)
	in.now = func() time.Time { return fields.Time.Add(-2 * clockSkew) }
	if readings, _ := in.readingsOf(in.parse(text)); slices.Contains(labels(readings), kindRandflake) {
		t.Errorf("in the future: %q", labels(readings))
	}
	in.now, in.cipher = func() time.Time { return now }, nil
	if readings, _ := in.readingsOf(in.parse(text)); slices.Contains(labels(readings), kindRandflake) {
		t.Errorf("without a secret: %q", labels(readings))
	}
}

// fixedCipher returns the same cipher every time: what else a number can be depends on the number.
func fixedCipher() *randflake.Cipher {
	secret, err := randflake.SecretFromBytes([]byte{7, 15: 0})
	if err != nil {
		panic(err)
	}
	return randflake.NewCipher(secret)
}

// TestInspectNumber is what the program prints of a number: a line for each reading.
func TestInspectNumber(t *testing.T) {
	file, cipher := newSecretFile(t)
	id, f := sample(t, cipher, january, false)
	text := fmt.Sprint(int64(id))
	out := succeed(t, "", "inspect", "--secret-file", file, text)
	want := fmt.Sprintf("%-19s  %-22s  2025-01-31T12:00:00Z  node  70000  sequence %6d\n", id, "randflake", f.Sequence)
	require.Contains(t, out, want, "the output")
	for _, from := range []string{"auto", "number"} {
		require.Equal(t, succeed(t, "", "inspect", "--secret-file", file, "--from", from, text), out, "--from %s", from)
	}
	plain := fmt.Sprintf("%s  2025-01-31T12:00:00Z  node  70000  sequence %6d\n", id, f.Sequence)
	require.Equal(t, succeed(t, "", "inspect", "--secret-file", file, "--kind", "randflake", text), plain, "--kind randflake")
	object := fmt.Sprintf(`{"kind":"randflake","id":"%s","number":"%s","time":"2025-01-31T12:00:00Z","fields":{"node":70000,"sequence":%d},"plausible":true}`+"\n", id, text, f.Sequence)
	require.Contains(t, succeed(t, "", "inspect", "--secret-file", file, "--json", text), object, "--json")
}

// Discord's documentation has this ID, made at 2016-04-30 11:18:25.796 UTC by worker 1.
const documented = "175928847299117063"

func TestInspectSnowflake(t *testing.T) {
	isolate(t)
	want := "175928847299117063   snowflake discord       2016-04-30T11:18:25.796Z  worker      1  process      0  sequence      7\n"
	id, err := snowflake.Parse(documented)
	check(t, err)
	for _, args := range [][]string{
		{documented}, {`"` + documented + `"`}, {"--kind", "snowflake", documented}, {"--from", "number", documented}, {"--from", "text",
			documented},
		{fmt.Sprintf("0x%016x", int64(id))}, {"--from", "hex", fmt.Sprintf("%x", int64(id))},
		{"--from", "base32", string(base32.append(nil, id))}, {"--from", "base58", string(base58.append(nil, id))}, {"--from=base62",
			string(base62.append(nil, id))},
	} {
		require.Equal(t, succeed(t, "", append([]string{"inspect", "--layout", "discord"}, args...)...), want, "inspect %q", args)
	}
	// Without the layout it is one line of several.
	for _, args := range [][]string{{documented}, {"--kind", "snowflake", documented}, {"--from", "base58", string(base58.append(nil, id))}} {
		if got := succeed(t, "", append([]string{"inspect"}, args...)...); !strings.Contains(got, want) ||
			!strings.Contains(got, "snowflake twitter") {
			t.Errorf("inspect %q: %q, want %q in it", args, got, want)
		}
	}
	object := `{"kind":"snowflake","layout":"discord","id":"175928847299117063","number":"175928847299117063","time":"2016-04-30T11:18:25.796Z","fields":{"worker":1,"process":0,"sequence":7},"plausible":true}` + "\n"
	require.Equal(t, succeed(t, "", "inspect", "--json", "--layout", "discord", documented), object, "as JSON")
}

func TestInspectRefusesKinds(t *testing.T) {
	isolate(t)
	for args, want := range map[string]string{
		"--layout twitter -- -5":                      "63 bits of layout twitter",
		"--layout twitter 05":                         "no leading zeros",
		"--layout twitter 9223372036854775808":        "63 bits of layout twitter",
		"--layout twitter 0xffffffffffffffff":         "63 bits of layout twitter",
		"--layout twitter abc":                        "decimal digits",
		"--layout javascript53 9223372036854775807":   "53 bits of layout javascript53",
		"--from base32 5":                             "13 digits of base 32",
		"--from base58 0qm6nKp8qFC":                   "digit of base 58",
		"--from base58 é":                             "2 bytes: want 11",
		"--from base62 zzzzzzzzzzz":                   "at most LygHa16AHYF",
		"--kind snowflake 0":                          "choose one with --kind or --layout",
		"--kind ulid 5":                               "26 digits of a ULID",
		"--from number 5":                             "--secret-file",
		"8ZZZZZZZZZZZZZZZZZZZZZZZZZ":                  "ULIDs and UUIDs",
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398g":        "26 digits of a ULID",
		"--from hex 017f22e279b07cc398c4dc0c0c07398f": "more than 64 bits",
		"as_long_as_a_uuid_is_b_jvgoe12ccb8gh":        "default/secret: no such file",
		"3vgoe12ccb8gh":                               "default/secret: no such file",
	} {
		wantFailure(t, call(t, "", append([]string{"inspect"}, strings.Fields(args)...)...), exitFailed, want)
	}
}

// TestInspectWithBrokenSecret wants an answer about the secret, for a number that may need it.
func TestInspectWithBrokenSecret(t *testing.T) {
	isolate(t)
	wantFailure(t, call(t, "", "inspect", "--secret-file", "/nowhere/secret", documented), exitFailed, "/nowhere/secret", "no such file")
	t.Setenv(secretFileVariable, "/nowhere/secret")
	wantFailure(t, call(t, "", "inspect", documented), exitFailed, "/nowhere/secret", "no such file")
	os.Unsetenv(secretFileVariable)
	for _, name := range []string{"XDG_STATE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, "") // nowhere to look for a secret
	}
	succeed(t, "", "inspect", documented)
	wantFailure(t, call(t, "", "inspect", "jvgoe12ccb8gh"), exitFailed, "no directory for secret and space", "--store")
	t.Setenv(secretFileVariable, "/nowhere/secret")
	succeed(t, "", "inspect", "--layout", "discord", documented)
	succeed(t, "", "inspect", "--kind", "ulid", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
}

// TestSnowflakesNeedNoSecret: whatever store the environment names, numbers are read. A Randflake ID needs its secret.
func TestSnowflakesNeedNoSecret(t *testing.T) {
	isolate(t)
	empty := t.TempDir()
	for store, says := range map[string]string{
		"postgres://user@127.0.0.1:1/none":      "no secret: postgres://user@127.0.0.1:1/none is not a directory",
		"redis://127.0.0.1:1?space=orders":      "no secret: redis://127.0.0.1:1 is not a directory",
		"sqlite:" + filepath.Join(empty, "ids"): "is not a directory",
		empty:                                   "no such file",
		filepath.Join(empty, "not-mounted"):     "no such file",
	} {
		t.Setenv(storeVariable, store)
		require.Contains(t, succeed(t, "", "inspect", documented), "snowflake discord", "%s", store)
		require.Contains(t, succeed(t, "", "inspect", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), "2016-07-30T23:54:10.259Z", "%s", store)
		require.Contains(t, succeed(t, documented+"\n", "analyze"), "kind     snowflake node8", "%s", store)
		wantFailure(t, call(t, "", "inspect", "jvgoe12ccb8gh"), exitFailed, says)
		wantFailure(t, call(t, "", "inspect", "--kind", "randflake", documented), exitFailed, says)
		wantFailure(t, call(t, "", "inspect", "--store", store, documented), exitFailed, says)
	}

	t.Setenv(storeVariable, " broken")
	succeed(t, "", "new", "--kind", "ulid")
	succeed(t, "", "inspect", "--kind", "snowflake", documented)
	wantFailure(t, call(t, "", "inspect", documented), exitFailed, "RANDFLAKE_STORE")
}

// TestImplausible has times in the future, of IDs whose kind is known.
func TestImplausible(t *testing.T) {
	for kind, want := range map[string]string{
		kindRandflake: "another secret", kindSnowflake: "another layout", kindULID: "a clock that was ahead",
	} {
		now := time.Now()
		for ahead, implausible := range map[time.Duration]bool{0: false, clockSkew: false, clockSkew + 1: true} {
			err := reading{kind: kind, id: "x", time: now.Add(ahead)}.checkTime(now)
			if (err != nil) != implausible || implausible && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %v ahead: %v", kind, ahead, err)
			}
		}
	}
}

// FuzzInspect has any text in any form: there is an answer in whole lines of JSON, or an error.
func FuzzInspect(f *testing.F) {
	for _, text := range []string{"", "3vgoe12ccb8gh", "-5", "0x1f", documented, "01ARZ3NDEKTSV4RRFFQ69G5FAV",
		`"jvgoe12ccb8gh"`, "NQm6nKp8qFC", "00000000000000", "\u017f"} {
		f.Add(text, uint8(0), uint8(0))
		f.Add(text, uint8(1), uint8(4))
		f.Add(text, uint8(2), uint8(1))
		f.Add(text, uint8(3), uint8(2))
	}
	froms := []string{"auto", "text", "number", "hex", "base32", "base58", "base62", "gosuda"}
	f.Fuzz(func(t *testing.T, text string, kind, from uint8) {
		in := at(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
		in.json, in.cipher = true, fixedCipher()
		in.from = froms[int(from)%len(froms)]
		if i := int(kind) % 4; i > 0 {
			in.kind = kindNames[i-1]
		}
		if in.settle() != nil {
			return
		}
		out, err := in.answer(nil, text)
		if err == nil && len(out) == 0 {
			t.Fatalf("%q: %q, %v", text, out, err)
		}
		for line := range bytes.Lines(out) {
			require.That(t, json.Valid(line) && bytes.HasSuffix(line, []byte("}\n")), "%q: %q", text, line)
		}
	})
}

// TestPublishedIDs reads IDs that vendors have published, each in the forms that its vendor uses.
func TestPublishedIDs(t *testing.T) {
	isolate(t)
	for _, c := range []struct{ args, want string }{
		{"7102577116159582209", "snowflake unix          2023-08-30T09:05:43.994Z  worker     42  sequence      1"},
		{"7102577116159582209n", "snowflake unix          2023-08-30T09:05:43.994Z"},
		{"7_102_577_116_159_582_209", "snowflake unix          2023-08-30T09:05:43.994Z"},
		{"7,102,577,116,159,582,209", "snowflake unix          2023-08-30T09:05:43.994Z"},
		{"7102577116159582209L", "snowflake unix          2023-08-30T09:05:43.994Z"},
		{"0x62916c418e82a001", "snowflake unix          2023-08-30T09:05:43.994Z"},
		{"--layout unix 0x62916c418e82a001", "7102577116159582209  snowflake unix"},
		{"--layout unix --from number 7102577116159582209", "2023-08-30T09:05:43.994Z"},
		{"1541815603606036480", "snowflake twitter       2022-06-28T16:07:40.105Z"},
		{"175928847299117063", "snowflake discord       2016-04-30T11:18:25.796Z"},
		{"--layout discord -- -9223372036854775808", "2084-"},
		{"110224538612341312", "snowflake mastodon      2023-"},
		{"--layout tsid 388400145978465528", "2022-"},
		{"--layout tsid -- -8057972036854775808", "in the future"},
		{"--layout yitter 420843340628037", "sequence "},
		{"--layout sonyflake2 100000000000000", "machine "},
		{"--layout sonyflake 100000000000000", "machine "},
		{"--layout instagram 1387263000000000000", "shard "},
		{"01ARZ3NDEKTSV4RRFFQ69G5FAV",
			"\n01ARZ3NDEKTSV4RRFFQ69G5FAV  ulid                    2016-07-30T23:54:10.259Z  entropy d6764c61efb99302bd5b\n"},
		{"--json 01ARZ3NDEKTSV4RRFFQ69G5FAV",
			`{"kind":"ulid","id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","time":"2016-07-30T23:54:10.259Z","fields":{"entropy":"d6764c61efb99302bd5b"},"plausible":true}`},
		{"--json --from text 01arz3ndektsv4rrffq69g5fav",
			`{"kind":"ulid","id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","time":"2016-07-30T23:54:10.259Z","fields":{"entropy":"d6764c61efb99302bd5b"},"plausible":true}`},
		{"--json --kind ulid 00000000000000000000000000", `"time":"1970-01-01T00:00:00.000Z","fields":{"entropy":"00000000000000000000"},"plausible":true}`},
		{"--json 7ZZZZZZZZZZZZZZZZZZZZZZZZZ", `"time":"10889-08-02T05:31:50.655Z","fields":{"entropy":"ffffffffffffffffffff"},"plausible":false}`},
		{"7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "in the future"},
		{"017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "2022-02-22T19:22:22.000Z"},
		{"1541815603606036480,5", "invalid ID"},

		// What has a version: the times are those of Python's uuid module, and of RFC 9562's appendix.
		{"C232AB00-9414-11EC-B3C8-9F6BDECED846",
			"c232ab00-9414-11ec-b3c8-9f6bdeced846  uuid                    2022-02-22T19:22:22.000Z  version      1\n"},
		{"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "1998-02-04T22:13:53.151Z  version      1\n"},
		{"f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "1997-02-03T17:43:12.216Z  version      1\n"},
		{"1EC9414C-232A-6B00-B3C8-9F6BDECED846", "2022-02-22T19:22:22.000Z  version      6\n"},
		{"017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "2022-02-22T19:22:22.000Z  version      7\n"},
		{"0186c1b2-52d1-4320-9bac-f847db4148a8", "uuid                    no time  version      4\n"},
		{"0186c1b2-52d1-4320-9bac-f847db4148a8", "2023-03-08T14:48:54.737Z  entropy 43209bacf847db4148a8  format   uuid\n"},
		{"919108f7-52d1-4320-9bac-f847db4148a8", "no time  version      4\n\n"},
		{"2489E9AD-2EE2-8E00-8EC9-32D5F69181C0", "no time  version      8\n\n"},
		{"5df41881-3aed-3515-88a7-2f4a814cf09e", "no time  version      3\n\n"},
		{"00000000-0000-0000-0000-000000000000", "uuid                    no time\n\n"},
		{"ffffffff-ffff-ffff-ffff-ffffffffffff", "uuid                    no time\n\n"},
		{"01563e3a-b5d3-d676-4c61-efb99302bd5b", "01ARZ3NDEKTSV4RRFFQ69G5FAV  ulid                    2016-07-30T23:54:10.259Z"},
		{"6ba7b810-9dad-11d1-c0b4-00c04fd430c8", "uuid                    no time\n\n"}, // of Microsoft's variant
		{"333a2276-0000-0000-0d00-00809c000000", "uuid                    no time\n\n"}, // of Apollo's
		{"--json f47ac10b-58cc-4372-a567-0e02b2c3d479",
			`{"kind":"uuid","id":"f47ac10b-58cc-4372-a567-0e02b2c3d479","fields":{"version":4},"plausible":true}`},
		{"--kind ulid 0186c1b2-52d1-4320-9bac-f847db4148a8", "01GV0V4MPH8CG9QB7R8ZDM2J58"},
		{"00000000-0000-0000-c000-000000000046",
			"\n00000000-0000-0000-c000-000000000046  uuid                    no time\n"}, // of COM, which has no version
		{"00020813-0000-0000-C000-000000000046",
			"  ulid                    1970-04-11T23:43:17.504Z  entropy 0000c000000000000046  format   uuid\n\n"},
		{"--json user_01h2xcejqtf2nbrexx3vqjhp41",
			`{"kind":"uuid","id":"0188bac7-4afa-78aa-bc3b-bd1eef28d881","prefix":"user","time":"2023-06-14T16:40:03.066Z","fields":{"version":7},"plausible":true}`},

		// What people paste, of a TypeID, a UUID, a TSID, JSON and a mention. The numbers are Python's.
		{"prefix_01h455vb4pex5vsknk084sn02q",
			"01890a5d-ac96-774b-bcce-b302099a8057  uuid                    2023-06-30T03:34:18.518Z  version      7\n"},
		{"user_01h2xcejqtf2nbrexx3vqjhp41", "0188bac7-4afa-78aa-bc3b-bd1eef28d881  uuid                    2023-06-14T16:40:03.066Z"},
		{"a_b_01h2e8kqvbfwea724h75qc655w", "01889c89-df6b-7f1c-a388-91396ec314bc  uuid                    2023-06-08T19:44:21.355Z"},
		{"USER_01H2XCEJQTF2NBREXX3VQJHP41", "0188bac7-4afa-78aa-bc3b-bd1eef28d881  uuid                    2023-06-14T16:40:03.066Z"},
		{"urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "2022-02-22T19:22:22.000Z  version      7"},
		{"URN:UUID:f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "1997-02-03T17:43:12.216Z  version      1"},
		{"{017F22E2-79B0-7CC3-98C4-DC0C0C07398F}", "2022-02-22T19:22:22.000Z  version      7"},
		{"{0190163d8694739baea5966c26f8ad91}", "2024-06-14T10:14:09.300Z  version      7"},
		{"017f22e279b07cc398c4dc0c0c07398f", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f  uuid"},
		{"C232AB00941411ECB3C89F6BDECED846", "2022-02-22T19:22:22.000Z  version      1"},
		{"0AWG1PRQQFZ8D", "392377999526722829   snowflake tsid          2022-12-18T18:10:05.117Z  worker    895  sequence   3341\n"},
		{"--kind snowflake 0AWG1PRQQFZ8D",
			"\n392377999526722829   snowflake tsid          2022-12-18T18:10:05.117Z  worker    895  sequence   3341\n"},
		{"--kind randflake 0AWG1PRQQFZ8D", "has capitals"},
		{"--layout tsid 1arm1prqqfe8d", "snowflake tsid          2031-08-23T04:12:04.669Z"}, // without --layout as gosuda/randflake prints an ID
		{"0aryzvzxw377r", "388400145978465528   snowflake tsid"},
		{"--layout tsid 0XG2R8Z4Q3M7K", "1062946577405038835  snowflake tsid "},
		{"0x62916c418e8", "\n6773545375976        snowflake discord "},
		{"--kind snowflake 0X62916C418E8", "\n6773545375976        snowflake discord "},
		{"0HG2R8Z4Q3M7K", "630601013177471219   snowflake tsid          2024-10-06T03:03:17.541Z  worker    797  sequence    243\n"},
		{"--layout tsid 0E7Q9W3R5T2YX",
			"513104559881391069   snowflake tsid          2023-11-16T21:34:20.097Z  worker    464  sequence   3037\n"},
		{`"1541815603606036480",`, "2022-06-28T16:07:40.105Z"},
		{`'1541815603606036480',`, "2022-06-28T16:07:40.105Z"},
		{"1541815603606036480,", "2022-06-28T16:07:40.105Z"},
		{"<@80351110224678912>",
			"\n80351110224678912    snowflake discord       2015-08-10T17:26:37.529Z  worker      0  process      1  sequence      0\n\n"},
		{"--kind snowflake <@80351110224678912>",
			"\n80351110224678912    snowflake discord       2015-08-10T17:26:37.529Z  worker      0  process      1  sequence      0\n\n"},
		{"--layout twitter <@80351110224678912>", "\n80351110224678912    snowflake twitter "},
		{"<@!80351110224678912>", "snowflake discord       2015-08-10T17:26:37.529Z"},
		{"<#41771983423143937>", "snowflake discord       2015-04-26T06:26:56.934Z"},
		{"<:name:175928847299117063>", "snowflake discord       2016-04-30T11:18:25.796Z"},
		{"<@12,5>", "invalid ID"},
		{"<@12>", "no kind or layout gives a time"},
		{"--kind ulid <@12>", "26 digits of a ULID"},
		{"--from text 1,849", "invalid ID"},
		{"what", "numbers, 0x and hexadecimal digits, ULIDs and UUIDs are read, too"},
	} {
		r := call(t, "", append([]string{"inspect"}, strings.Fields(c.args)...)...)
		require.Contains(t, "\n"+r.out+"\n"+r.err, c.want, "%s", c.args)
	}
	future := call(t, "", "inspect", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
	require.Equal(t, future.code, exitNo, "an ID of the future: exit status")
}

// TestOneReading: what could be two kinds is only that one whose time is plausible.
func TestOneReading(t *testing.T) {
	const text = "01870000-0000-1fff-8000-000000000000" // as a UUID, of the year 5236
	in := at(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	readings, err := in.readingsOf(in.parse(text))
	require.That(t, err == nil && slices.Equal(labels(readings), []string{kindULID}),
		"%s: %q, %v, want a ULID", text, labels(readings), err)
}

// TestLikeliest: of the layouts that a number can be of, the first has small numbers in its fields,
// and is common. Discord's documentation has these.
func TestLikeliest(t *testing.T) {
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		documented:           "snowflake discord",
		"80351110224678912":  "snowflake discord",
		"41771983423143937":  "snowflake discord",
		"53908099506183680":  "snowflake discord",
		"197038439483310086": "snowflake discord",
		"334385199974967042": "snowflake discord",
		"155117677105512449": "snowflake discord",
	} {
		in := at(now)
		readings, err := in.readingsOf(in.parse(text))
		require.That(t, err == nil && labels(readings)[0] == want,
			"%s: %q, %v, want %s first", text, labels(readings), err, want)
	}
}

// TestLayouts: each preset has a place in the help, and guesses know those whose sequence is random, as the page does.
func TestLayouts(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/layouts.md")
	require.NoError(t, err)
	named := regexp.MustCompile(`[a-z0-9]+`).FindAllString(succeed(t, "", "help", "kinds"), -1)
	for _, layout := range snowflake.Presets() {
		require.That(t, slices.Contains(named, layout.Name()), "randflake help kinds has no %s", layout.Name())
		_, row, _ := strings.Cut(string(page), "\n| "+layout.Name()+" |")
		row, _, _ = strings.Cut(row, "\n")
		require.Equal(t, randomSequences[layout.Name()], strings.Contains(row, "random"), "random numbers of %s:%s", layout.Name(), row)
	}
}

// TestConvertPasted: Python's int(text, 32) has the numbers, and its uuid module those of 128 bits.
func TestConvertPasted(t *testing.T) {
	for text, want := range map[string]string{
		"FVVVVVVVVVVVV":                                    "-148764065110560901",
		"--from base58 4aaW4SzAyQK":                        "1541815603606036480",
		"--to hex 017f22e279b07cc398c4dc0c0c07398f":        "0x017f22e279b07cc398c4dc0c0c07398f",
		"--to text {017F22E2-79B0-7CC3-98C4-DC0C0C07398F}": "01FWHE4YDGFK1SHH6W1G60EECF",
		"--to text prefix_01h455vb4pex5vsknk084sn02q":      "01H455VB4PEX5VSKNK084SN02Q",
		"1849n":                           "1849",
		"10":                              "10",
		"1234567890123":                   "1234567890123",
		"0000000000012":                   "12",
		"jvgoe12ccb8gh":                   "4594531474933654033",
		"ord_vvvvvvvvvvvvv":               "-1",
		"--from gosuda 10":                "32",
		"--from gosuda 1234567890123":     "1228503247364293699",
		"--from gosuda ord_3vgoe12ccb8gh": "4594531474933654033",
	} {
		got := succeed(t, "", append([]string{"convert", "--to", "number"}, strings.Fields(text)...)...)
		require.That(t, got == want+"\n", "%q: %q, want %s", text, got, want)
	}
	all := "01FWHE4YDGFK1SHH6W1G60EECF  017f22e2-79b0-7cc3-98c4-dc0c0c07398f  0x017f22e279b07cc398c4dc0c0c07398f\n"
	require.Equal(t, succeed(t, "", "convert", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), all, "without --to")
	wantFailure(t, call(t, "", "convert", "--to", "number", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), exitFailed,
		"has 128 bits: want --to text or --to hex")
}

// TestRange prints the first and the last ID of an interval.
func TestRange(t *testing.T) {
	for args, want := range map[string]string{
		"--layout discord 2024-01-01 2024-02-01":                          "1191168914227200000\n1202402938060799999\n",
		"--kind ulid 2024-01-01T00:00:00Z 2024-01-01T00:00:01Z":           "01HK153X000000000000000000\n01HK153XZ7ZZZZZZZZZZZZZZZZ\n",
		"--kind ulid 2024-01-01T00:00:00.0001Z 2024-01-01T00:00:00.0002Z": "no ULID can lie from 2024-01-01T00:00:00.0001Z to before 2024-01-01T00:00:00.0002Z",
		"--kind ulid 2024-01-01T00:00:00Z 2024-01-01T00:00:00.001Z":       "01HK153X000000000000000000\n01HK153X00ZZZZZZZZZZZZZZZZ\n",
		"--kind ulid --format uuid 2024-01-01 2024-01-02":                 "018cc251-f400-0000-0000-000000000000\n018cc778-4fff-ffff-ffff-ffffffffffff\n",
		"--layout discord --format uuid 2024-01-01 2024-01-02":            "--format uuid is for --kind ulid",
		"--kind ulid 1969-12-31 1970-01-02":                               "00000000000000000000000000\n00002JCPZZZZZZZZZZZZZZZZZZ\n",
		"--kind ulid 1969-12-30 1969-12-31":                               "want 1970 to 10889",
		"2024-01-01 2024-02-01":                                           "want --layout",
		"--layout discord 2024-02-01 2024-01-01":                          "is not before",
		"--layout discord yesterday 2024-01-01":                           "want a time such as",
		"--layout discord 2014-01-01 2014-01-02":                          "invalid ID",
	} {
		r := call(t, "", append([]string{"range"}, strings.Fields(args)...)...)
		require.Contains(t, r.out+r.err, want, "%s", args)
	}
}
