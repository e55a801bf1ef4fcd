package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/local"
)

// newSecretFile makes a secret and returns its file and its cipher.
func newSecretFile(t *testing.T) (string, *randflake.Cipher) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	succeed(t, "", "secret", "new", "-o", file)
	secret, err := local.ReadSecret(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, randflake.NewCipher(secret)
}

// sample returns an ID with known fields whose decimal form is negative, and has as many digits as
// any text form of an ID can't have.
func sample(t *testing.T, cipher *randflake.Cipher) (randflake.ID, randflake.Fields) {
	t.Helper()
	for sequence := range uint32(10000) {
		f := randflake.Fields{Time: time.Date(2025, 1, 31, 12, 0, 0, 0, time.UTC), Node: 70000, Sequence: sequence}
		id, err := cipher.Compose(f)
		if err != nil {
			t.Fatal(err)
		}
		if id < -1e15 && !isDecimal(id.String()) {
			return id, f
		}
	}
	t.Fatal("no such ID")
	return 0, randflake.Fields{}
}

func TestInspectForms(t *testing.T) {
	file, cipher := newSecretFile(t)
	id, f := sample(t, cipher)
	want := fmt.Sprintf("%-13s  2025-01-31T12:00:00Z  node  70000  sequence %6d\n", id, f.Sequence)
	text, decimal, hex := id.String(), strconv.FormatInt(int64(id), 10), fmt.Sprintf("%016x", uint64(id))
	for _, args := range [][]string{
		{text}, {"--from", "text", text}, {`"` + text + `"`},
		{"--kind=randflake", decimal}, {"--kind=randflake", "--from", "int", decimal}, {"--kind=randflake", "--", decimal},
		{"--kind=randflake", "0x" + hex}, {"--kind=randflake", "0X" + strings.ToUpper(hex)}, {"--kind=randflake", "--from", "hex", hex}, {"--kind=randflake", "--from=hex", "0x" + hex},
	} {
		if got := succeed(t, "", append([]string{"inspect", "--secret-file", file}, args...)...); got != want {
			t.Errorf("inspect %q: %q, want %q", args, got, want)
		}
		if len(args) > 1 && args[1] == "--" {
			continue
		}
		if got := succeed(t, "", append([]string{"inspect"}, append(args, "--secret-file", file)...)...); got != want {
			t.Errorf("inspect %q --secret-file: %q, want %q", args, got, want)
		}
	}
	if got := succeed(t, " "+text+"\r\n\n"+decimal, "inspect", "--kind", "randflake", "--secret-file", file); got != want+want {
		t.Errorf("from standard input: %q, want %q twice", got, want)
	}
}

func TestInspectRefuses(t *testing.T) {
	file, _ := newSecretFile(t)
	for _, c := range []struct {
		id, from, want string
	}{
		{"abcw", "auto", "character 4 is not a base32hex digit"},
		{"é", "auto", "not a base32hex digit"},
		{"", "auto", "want 1 to 13 base32hex digits"},
		{"1234567890abcd", "auto", "want 1 to 13 base32hex digits, got 14 characters"},
		{"g000000000000", "auto", "more than 64 bits"},
		{"12A", "auto", "lower case"},
		{"007", "auto", "no leading zeros"},
		{"12", "auto", "--from text or --from int"},
		{"1234567890123", "auto", "--from text or --from int"},
		{"0012", "auto", "--from text or --from int"},
		{"18446744073709551616", "auto", "more than 64 bits"},
		{"-9223372036854775809", "auto", "more than 64 bits"},
		{"--5", "int", "not a decimal number"},
		{"5a", "int", "not a decimal number"},
		{"0x", "auto", "not a hexadecimal number"},
		{"0xg", "auto", "not a hexadecimal number"},
		{"0x-5", "auto", "not a hexadecimal number"},
		{"0x10000000000000000", "auto", "more than 64 bits"},
		{"0x00000000000000001", "auto", "more than 64 bits"},
		{"abcx", "hex", "not a hexadecimal number"},
		{strings.Repeat("a", 5000), "auto", "got 5000 characters"},
	} {
		wantFailure(t, call(t, "", "inspect", "--secret-file", file, "--from", c.from, "--", c.id), exitFailed, c.want)
	}
}

// TestDigitsAlone: what can be text or decimal is what the others are, before it or else after it, in any kind of batch.
func TestDigitsAlone(t *testing.T) {
	for input, want := range map[string]string{
		"v 12": "31 34", "12 v": "34 31", "12 0x1 x v": "34 1 31", "-5 12": "-5 12", "12 7 -5": "12 7 -5",
		"v -5 12": "31 -5", "12": "", "12 13": "",
		"12" + strings.Repeat(" 12", longestBatch-1) + " v": "31", // it does not wait for ever
		"v" + strings.Repeat(" 7", 2*longestBatch) + " 12":  "31" + strings.Repeat(" 7", 2*longestBatch) + " 34",
	} {
		lines := strings.ReplaceAll(input, " ", "\n")
		for _, r := range []io.Reader{strings.NewReader(lines), iotest.OneByteReader(strings.NewReader(lines))} {
			var out, errs bytes.Buffer
			(&tool{stdin: r, stdout: &out, stderr: &errs}).run(t.Context(), []string{"convert", "--to", "signed"})
			got := strings.Fields(out.String())
			if strings.Join(got, " ") != want || len(got)+strings.Count(errs.String(), "\n") != len(strings.Fields(input)) {
				t.Errorf("%.40q: %.40q, %.200q, want %.40q", input, got, &errs, want)
			}
		}
	}
	file, cipher := newSecretFile(t)
	id, err := randflake.Parse("1157662651464")
	if err != nil {
		t.Fatal(err)
	}
	want := cipher.Inspect(id).Time.Format(time.RFC3339)
	for _, input := range []string{"v\n1157662651464\n", "1157662651464\nv\n"} {
		if r := call(t, input, "inspect", "--secret-file", file); !strings.Contains("\n"+r.out, "\n1157662651464  "+want) {
			t.Errorf("%+v, want %s", r, want)
		}
	}
}

// TestInspectGoesOn has bad lines among good ones.
func TestInspectGoesOn(t *testing.T) {
	file, cipher := newSecretFile(t)
	id, _ := sample(t, cipher)
	input := fmt.Sprintf("%v\nabcw\n\n%v\n%s\n%s\n%v", id, id, strings.Repeat("a", 10000), strings.Repeat(" ", 10000), id)
	r := call(t, input, "inspect", "--secret-file", file)
	if r.code != exitFailed || strings.Count(r.out, id.String()) != 3 || strings.Count(r.out, "\n") != 3 {
		t.Errorf("exit status %d, output %q: want 1 and the good ID three times", r.code, r.out)
	}
	lines := strings.Split(strings.TrimSuffix(r.err, "\n"), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "randflake: line 2: ") || !strings.HasPrefix(lines[1], "randflake: line 5: ") || !strings.HasPrefix(lines[2], "randflake: line 6: ") {
		t.Errorf("standard error %q, want a line each for 2, 5 and 6", lines)
	}
}

// TestInspectImplausible shows what an ID of the future holds, and fails.
func TestInspectImplausible(t *testing.T) {
	file, cipher := newSecretFile(t)
	good, _ := sample(t, cipher)
	bad, err := cipher.Compose(randflake.Fields{Time: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"inspect", "--secret-file", file, "--from", "text", "--json", good.String(), bad.String(), "x!", good.String()}
	r := call(t, "", args...)
	if r.code != exitFailed || strings.Count(r.out, `"plausible":true`) != 2 || strings.Count(r.out, `"plausible":false`) != 1 {
		t.Errorf("%+v: want two plausible and one implausible ID", r)
	}
	if strings.Count(r.err, "\n") != 2 || !strings.Contains(r.err, bad.String()+" contains a time in the future") || !strings.Contains(r.err, "not a base32hex digit") {
		t.Errorf("%q: want a word on both that are bad", r.err)
	}
	r = call(t, "", "inspect", "--secret-file", file, "ord_"+good.String(), "ord_"+bad.String())
	if r.code != exitFailed || !strings.HasPrefix(r.out, "ord_"+good.String()+" ") || !strings.Contains(r.err, "ord_"+bad.String()+" contains a time in the future") {
		t.Errorf("typed: %+v", r)
	}
}

// TestInspectDoesNotHoldBack reads the answer to a line before it writes the next one.
func TestInspectDoesNotHoldBack(t *testing.T) {
	file, cipher := newSecretFile(t)
	id, _ := sample(t, cipher)
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
		if err != nil || !bytes.HasPrefix(got[:n], []byte(id.String())) {
			t.Fatalf("answer %q, %v", got[:n], err)
		}
	}
	ask.Close()
	if code := <-done; code != exitOK {
		t.Errorf("exit status %d", code)
	}
}

func TestInspectReportsFailedInput(t *testing.T) {
	file, _ := newSecretFile(t)
	var out, errs bytes.Buffer
	in := io.MultiReader(strings.NewReader("v\nv"), failingReader{})
	code := (&tool{stdin: in, stdout: &out, stderr: &errs}).run(t.Context(), []string{"inspect", "--secret-file", file})
	if code != exitFailed || strings.Count(out.String(), "\n") != 1 || !strings.Contains(errs.String(), "standard input: torn cable") {
		t.Errorf("exit status %d, output %q, %q", code, &out, &errs)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("torn cable") }
