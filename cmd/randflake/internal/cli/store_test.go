package cli

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const password = "hunter2"

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk on fire") }

// TestStores has what people do with spaces, secrets and counters, each step after the other in an empty directory.
func TestStores(t *testing.T) {
	isolate(t)
	t.Chdir(t.TempDir())
	for i, step := range []struct {
		args string
		code int
		want string // in what it prints or says
	}{
		{"store info", 1, "the first randflake new makes it"},
		{"store info missing", 1, "no such space"},
		{"next a --store missing", 1, "randflake store init missing"},
		{"store init --new ids", 0, "made a new secret in ids/secret\nmade space \"default\" in "},
		{"store init --new ids", 1, "never replaced"},
		{"store init --if-missing ids", 0, "exists"},
		{"store info ids", 0, "ok     the secret is that of the space\n"},
		{"new -n 3 --store ids", 0, ""},
		{"store info ids", 0, "ok     1 nodes of the present window are leased\n"},
		{"next orders --store ids", 1, "randflake counter create orders --store ids"},
		{"next orders --store ids --create -n 2", 0, "1\n2\n"},
		{"counter create orders --store ids", 1, "never replaced"},
		{"counter create orders --if-missing --store ids", 0, "there is a counter orders: its next number is 3"},
		{"counter create a/b --start 5 --step 2 --end 9 --store ids", 0, "its next number is 5"},
		{"next a/b --store ids -n 4", 1, "ends at 9"},
		{"counter list --store ids", 0, "a/b     -     5      2     9    -       ended\norders  3     1      1     -    -       ready\n"},
		{"counter list --json or --store ids", 0, `{"name":"orders","next":3,"start":1,"step":1,"end":9223372036854775807,"id":"`},
		{"counter set orders 2 --store ids", 2, "want 3 or more"},
		{"counter set orders 10 --store ids", 0, "its next number is 10"},
		{"store report-loss ids", 0, "leases begin at "},
		{"store info ids", 1, "wrong  2 counters give no number until they are set, as data was lost: a/b, orders"},
		{"new --store ids", 1, "wait until "},
		{"next orders --store ids", 1, "9 is the highest number that is known to be taken: set the counter beyond all that were: randflake counter set orders NUMBER --store ids"},
		{"counter set orders 12 --store ids", 0, ""},
		{"next orders --store ids", 0, "12\n"},
		{"counter create c --store ids", 0, "it waits until it is set"},
		{"secret new -o other", 0, ""},
		{"secret derive orders --secret-file other -o derived", 0, ""},
		{"secret derive orders", 2, "--secret-file is missing"},
		{"secret derive orders --version 0", 2, "want a whole number of 1 or more"},
		{"store info ids --secret-file other", 1, "is it the secret of another environment?"},
		{"store init --if-missing ids --secret-file other", 1, "is it the secret of another environment?"},
		{"new --store ids --secret-file derived", 1, "is it the secret of another environment?"},
		{"store init late --secret-file other", 0, "leases begin at "},
		{"store info late --secret-file other", 1, "wrong  nothing is leased before "},
		{"store init --new --window 10s --ahead 3 --max-skew 5s --nodes 16 few", 0, "leases begin at once"},
		{"store info few", 0, "has 16 nodes, in windows of 10s, of which 3 may be leased ahead; clocks may differ by 5s\n"},
		{"store init sqlite:ids.db --new --secret-file derived", 0, "leases begin at once"},
		{"new --store sqlite:ids.db --secret-file derived", 0, ""},
		{"store info sqlite:ids.db?space=b", 1, "randflake store init 'sqlite:ids.db?space=b'"},
		{"store init sqlite:ids.db?space=b --new --secret-file derived", 0, "made space \"b\" in "},
		{"next a --store sqlite:ids.db?space=b", 1, "randflake counter create a --store 'sqlite:ids.db?space=b'"},
		{"store init --new --window 1500ms odd", 2, "want whole seconds, 1s to 24h: the new secret is in odd/secret"},
		{"store ddl postgres://h/d?schema=s", 0, `"s".entries`},
		{"store ddl redis://h", 1, "want postgres://"},
		{"inspect ord_7", 1, "no such file"},
		{"convert ord_dqi0vcvoqd1fq", 0, "ord_dqi0vcvoqd1fq  -"},
		{"convert ord_dqi0vcvoqd1fq --to hex", 0, "0x"},
		{"convert 1p --to int", 0, "57\n"},
		{"convert Ord_7", 1, "invalid ID"},
	} {
		r := call(t, "", strings.Fields(step.args)...)
		if r.code != step.code || !strings.Contains(r.out+r.err, step.want) {
			t.Errorf("step %d, %s: exit status %d, %s%s, want %d, %q", i, step.args, r.code, r.out, r.err, step.code, step.want)
		}
	}
}

// TestSignals stops a process that prints for ever, and one that nobody reads.
func TestSignals(t *testing.T) {
	isolate(t)
	for name, end := range map[string]func(cmd *exec.Cmd, out io.ReadCloser){
		"SIGINT": func(cmd *exec.Cmd, out io.ReadCloser) { cmd.Process.Signal(syscall.SIGINT); io.Copy(io.Discard, out) },
		"reader": func(_ *exec.Cmd, out io.ReadCloser) { out.Close() },
	} {
		cmd := process(t, "program", "new", "-n", fmt.Sprint(int64(1e15)))
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		io.ReadFull(out, make([]byte, 1000))
		end(cmd, out)
		err = cmd.Wait()
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if name == "SIGINT" && (status.Signal() != syscall.SIGINT || !strings.Contains(said.String(), "stopped after ")) || name == "reader" && err != nil {
			t.Errorf("%s: %v, %s", name, err, &said)
		}
	}
}
