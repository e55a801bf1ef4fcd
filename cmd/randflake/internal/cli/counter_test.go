package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/counter"
)

// counters returns what counter list --json says.
func counters(t *testing.T, args ...string) (all []counter.Info) {
	t.Helper()
	lines := json.NewDecoder(strings.NewReader(succeed(t, "", append([]string{"counter", "list", "--json"}, args...)...)))
	lines.DisallowUnknownFields()
	for lines.More() {
		var info counter.Info
		if err := lines.Decode(&info); err != nil {
			t.Fatal(err)
		}
		all = append(all, info)
	}
	return all
}

// TestNext takes numbers in the user's own directory, where the first call makes all that there has to be.
func TestNext(t *testing.T) {
	dir := isolate(t)
	if out := succeed(t, "", "next", "orders", "-n", "0"); out != "" || !isVacant(dir) {
		t.Errorf("no numbers: %q, or a directory", out)
	}
	if r := call(t, "", "next", "orders"); r.code != exitOK || r.out != "1\n" || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, dir) {
		t.Fatalf("first use: %+v, want 1 and one line about %s", r, dir)
	}
	for n := 2; n <= 5; n++ {
		if out := succeed(t, "", "next", "orders"); out != fmt.Sprintln(n) {
			t.Errorf("%q, want %d", out, n)
		}
	}
	if out := succeed(t, "", "next", "orders", "-n", "3"); out != "6\n7\n8\n" {
		t.Errorf("three numbers: %q", out)
	}
	if out := succeed(t, "", "next", "tickets", "--count", "50000"); !strings.HasPrefix(out, "1\n2\n") || !strings.HasSuffix(out, "\n50000\n") {
		t.Errorf("many numbers: %d bytes", len(out))
	}
	if all := counters(t); len(all) != 2 || all[0].Taken != 8 || all[0].Returned != 0 || all[1].Next != 50001 {
		t.Errorf("counter list: %+v", all)
	}
	succeed(t, "", "new")
	succeed(t, "", "lease", "list")
}

// TestNextInOtherStores makes no counter unless it is told to.
func TestNextInOtherStores(t *testing.T) {
	isolate(t)
	m := make(memory)
	const shown = "redis://user:xxxxx@host/0?prefix=a"
	wantFailure(t, m.call(t, "next", "orders", "--store", memoryURL), exitFailed, "no store in "+shown, "randflake lease init --store "+shown)
	m.succeed(t, "lease", "init", "--new-secret", "--secret-file", filepath.Join(t.TempDir(), "secret"), "--store", memoryURL)
	wantFailure(t, m.call(t, "next", "orders", "--store", memoryURL), exitFailed, "no counter orders in "+shown,
		"--create", "randflake counter create orders --store "+shown)
	t.Setenv(storeVariable, memoryURL)
	wantFailure(t, m.call(t, "next", "orders"), exitFailed, "no counter orders in "+shown)
	if out := m.succeed(t, "next", "orders", "--create"); out != "1\n" {
		t.Errorf("%q, want 1", out)
	}
	if out := m.succeed(t, "next", "orders", "--store", memoryURL); out != "2\n" {
		t.Errorf("%q, want 2", out)
	}
}

// TestNextThatFallsShort prints what there is, and says why that is not all.
func TestNextThatFallsShort(t *testing.T) {
	dir := newHome(t)
	succeed(t, "", "counter", "create", "few", "--start", "10", "--stride", "5", "--end", "20", "--store", dir)
	succeed(t, "", "counter", "create", "slow", "--rate", "1", "--store", dir)
	for name, want := range map[string][]string{"few": {"10\n15\n20\n", "its end, 20"}, "slow": {"1\n2\n", "rate, 1 a second"}} {
		r := call(t, "", "next", name, "-n", "1000", "--store", dir)
		if !strings.HasPrefix(r.out, want[0]) {
			t.Errorf("%s: %q, want %q at first", name, r.out, want[0])
		}
		r.out = ""
		wantFailure(t, r, exitFailed, want[1])
	}
	table := succeed(t, "", "counter", "list", "--store", dir)
	for _, want := range []string{"NAME ", "\nfew   -     5       20   -     3 ", " ended\n", "\nslow ", " 1       -    1 ", " ready\n"} {
		if !strings.Contains(table, want) {
			t.Errorf("list:\n%swant %q in it", table, want)
		}
	}
}

func TestCounterCreate(t *testing.T) {
	dir := newHome(t)
	create := func(args string) []string {
		return append([]string{"counter", "create", "--store", dir}, strings.Fields(args)...)
	}
	before := time.Now().Add(-time.Minute)
	if out := succeed(t, "", create("a --start 1000 --stride 10 --end 9999 --rate 7")...); out != "made a counter a in "+dir+": its next number is 1000\n" {
		t.Errorf("create: %q", out)
	}
	want := counter.Info{Name: "a", Start: 1000, Stride: 10, End: 9999, Rate: 7, Next: 1000, Left: 900}
	all := counters(t, "--store", dir)
	if len(all) != 1 || all[0].Changed.Before(before) {
		t.Fatalf("%+v", all)
	}
	if all[0].Changed = (time.Time{}); all[0] != want {
		t.Errorf("%+v, want %+v", all[0], want)
	}
	wantFailure(t, call(t, "", create("a")...), exitFailed, "never replaced")
	for _, args := range []string{"a", "a --end 9999 --rate 7"} {
		if out := succeed(t, "", create("--if-missing "+args)...); out != dir+" has a counter a already: its next number is 1000\n" {
			t.Errorf("create %s: %q", args, out)
		}
	}
	wantFailure(t, call(t, "", create("--if-missing a --stride 5")...), exitFailed, "its stride is 10, not 5")
	succeed(t, "", create("--if-missing ab")...)
	succeed(t, "", create("b")...)
	if all := counters(t, "--store", dir, "a"); len(all) != 2 || all[1].Name != "ab" {
		t.Errorf("list a: %+v", all)
	}
	if all := counters(t, "--store", dir, "c"); len(all) != 0 {
		t.Errorf("list c: %+v", all)
	}
}

// TestCounterAfterBackup goes on with an older copy of the store: only the counter with a rate knows where to go on.
func TestCounterAfterBackup(t *testing.T) {
	dir := newHome(t)
	next := func(name string, n int) result {
		return call(t, "", "next", name, "-n", fmt.Sprint(n), "--store", dir)
	}
	succeed(t, "", "counter", "create", "rated", "--rate", "100", "--store", dir)
	succeed(t, "", "counter", "create", "orders", "--store", dir)
	next("orders", 100)
	backup := filepath.Join(t.TempDir(), "backup")
	if err := os.CopyFS(backup, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if r := next("orders", 100); !strings.HasSuffix(r.out, "\n200\n") {
		t.Fatalf("%+v", r)
	}
	next("rated", 2000)
	dir = backup

	wantFailure(t, next("orders", 1), exitFailed, "the store has lost data", "randflake counter advance", dir)
	all := counters(t, "--store", dir)
	if !all[0].Forgotten || !all[1].Forgotten || all[0].Next > 200 {
		t.Errorf("%+v, want forgotten ones", all)
	}
	if table := succeed(t, "", "counter", "list", "--store", dir); strings.Count(table, " forgotten\n") != 2 {
		t.Errorf("list:\n%s", table)
	}
	wantFailure(t, call(t, "", "counter", "advance", "orders", "100", "--store", dir), exitFailed, "never goes back", "randflake counter set-back")
	wantFailure(t, call(t, "", "counter", "advance", "order", "100", "--store", dir), exitFailed, "no counter")
	if out := succeed(t, "", "counter", "advance", "orders", "201", "--store", dir); out != "orders: its next number is 201\n" {
		t.Errorf("advance: %q", out)
	}
	if r := next("orders", 1); r.out != "201\n" {
		t.Errorf("%+v, want 201", r)
	}
	wantFailure(t, next("rated", 1), exitFailed, "at the counter's rate") // it rests
	if all := counters(t, "--store", dir); all[0].Next != 202 || all[1].Next <= 2000 || all[1].Forgotten {
		t.Errorf("%+v, want counters that went on", all)
	}
}

// TestCounterTooFar: a typing mistake that skips many numbers is asked about, and can be taken back.
func TestCounterTooFar(t *testing.T) {
	dir := newHome(t)
	move := func(args string) result {
		return call(t, "", append([]string{"counter", "--store", dir}, strings.Fields(args)...)...)
	}
	succeed(t, "", "next", "orders", "-n", "7", "--create", "--store", dir)
	succeed(t, "", "counter", "create", "few", "--end", "20", "--stride", "3", "--store", dir)
	for _, c := range []struct{ args, out, err string }{
		{"advance orders 9223372036854775807", "", "its next number is 8 and its last one is 9223372036854775807: if it is meant to skip so many, say --far"},
		{"advance orders 2000000000", "", "--far"},
		{"advance few 20", "", "its last one is 19"},
		{"advance few 19", "few: its next number is 19\n", ""},
		{"advance few 20 --far", "few: it has no number left\n", ""},
		{"advance orders 2000000000 --far", "orders: its next number is 2000000000\n", ""},
		{"set-back orders 7", "", "the numbers up to 7 may be in use"},
		{"set-back orders 8", "orders: its next number is 8\n", ""},
		{"extend few 30", "", "randflake counter set-back"},
		{"set-back few 16", "few: its next number is 16\n", ""},
		{"extend few 30", "few: its next number is 16\n", ""},
		{"extend few 29", "", "an end never goes back"},
		{"set-back orders x", "", "TO is \"x\""},
	} {
		if r := move(c.args); r.out != c.out || (r.code == exitOK) != (c.err == "") || !strings.Contains(r.err, c.err) {
			t.Errorf("%s: %+v, want %q, %q", c.args, r, c.out, c.err)
		}
	}
}

// TestLosses types what the table of losses in docs/counters.md says for a counter without a rate, and for one with a rate.
// After it, each goes on beyond the hundred numbers that were given.
func TestLosses(t *testing.T) {
	const lose, advance, back = "lease report-loss", "counter advance c 101", "counter set-back c 101"
	for _, c := range []struct {
		name        string
		none, rated []string // what a person types
	}{
		{"a server restarts", nil, nil},
		{"a backup is put back", []string{advance}, nil},
		{"all data are gone", []string{"lease init --max-skew 0s", "counter create c --new --start 101"}, []string{"lease init --max-skew 0s", "counter create c --new --start 101 --rate 1"}},
		{"nothing shows the loss", []string{lose, advance}, []string{lose}},
		{"it jumped too far", []string{back}, []string{back}},
	} {
		for rate, typed := range map[string][]string{"": c.none, " --rate 10": c.rated} {
			t.Run(c.name+rate, func(t *testing.T) {
				dir, backup := filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "backup")
				say := func(line string) string {
					return succeed(t, "", append(strings.Fields(line), "--store", dir)...)
				}
				number := func() (int, error) {
					if c.name == "all data are gone" {
						os.Setenv(secretVariable, randflake.NewSecret().Hex())
						defer os.Unsetenv(secretVariable)
					}
					for range 30 { // a counter with a rate rests
						r := call(t, "", "next", "c", "--store", dir)
						if r.code == exitOK {
							return strconv.Atoi(strings.TrimSpace(r.out))
						} else if !strings.Contains(r.err, "rate") {
							return 0, errors.New(r.err)
						}
						time.Sleep(100 * time.Millisecond)
					}
					return 0, errors.New("it rests for too long")
				}
				say("lease init --new-secret --max-skew 0s")
				say("counter create c" + rate)
				say("next c -n 50")
				if err := os.CopyFS(backup, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				say("next c -n 50")
				switch c.name {
				case "a backup is put back":
					dir = backup
				case "all data are gone":
					if err := os.RemoveAll(dir); err != nil {
						t.Fatal(err)
					}
				case "it jumped too far":
					say("counter advance c 150")
				}
				for i, line := range typed {
					if i > 0 || c.name == "a backup is put back" { // the store knows
						if n, err := number(); err == nil {
							t.Fatalf("before %s: %d", line, n)
						}
					}
					say(line)
				}
				if n, err := number(); err != nil || n <= 100 || rate == "" && n > 102 {
					t.Errorf("%d, %v, want to go on from 101", n, err)
				}
			})
		}
	}
}

// TestCounterEnds resets, deletes and prunes counters, and sees in the log who did it.
func TestCounterEnds(t *testing.T) {
	dir := newHome(t)
	say := func(args string) result { return call(t, "", append(strings.Fields(args), "--store", dir)...) }
	for _, c := range []struct{ args, out, err string }{
		{"counter create a", "made a counter a in " + dir + ": its next number is 1\n", ""},
		{"next a -n 2", "1\n2\n", ""},
		{"counter reset a 1", "", "\"next\" not set"},
		{"counter reset a 1 --next 2", "", "its next number is 3, not 2"},
		{"counter reset a 1 --next 3", "a: its next number is 1\n", ""},
		{"next a", "1\n", ""},
		{"counter delete a --next 1", "", "its next number is 2"},
		{"counter delete a --next 2", "deleted the counter a in " + dir + "\n", ""},
		{"next a --create", "", "it was deleted at"},
		{"counter create a", "", "may have given the numbers up to 1"},
		{"counter create a --new --start 2", "made a counter a in " + dir + ": its next number is 2\n", ""},
		{"counter create b/2024-02-29", "made a counter b/2024-02-29 in " + dir + ": its next number is 1\n", ""},
		{"counter prune b/ --before 2024-13-01", "", "want a date"},
		{"counter prune b/ --before 2024-02-29", "there are none\n", ""},
		{"counter prune b/ --before 2025-01-01", "", "1 counters would go, from b/2024-02-29 to b/2024-02-29: say --yes"},
		{"counter prune b/ --before 2025-01-01 --yes", "removed 1 counters from " + dir + "\n", ""},
		{"counter create b/2024-02-29 --new", "", "pruned"},
		{"counter create b/2024-02-28 --new", "", "pruned"},
	} {
		if r := say(c.args); r.out != c.out || (r.code == exitOK) != (c.err == "") || !strings.Contains(r.err, c.err) {
			t.Errorf("%s: %+v, want %q, %q", c.args, r, c.out, c.err)
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "create; reset from 3 to 1; delete at 2; create", "": `prune "b/" before 2025-01-01T00:00:00Z`} {
		var words []string
		for line := range strings.Lines(say("counter log " + name).out) {
			_, by, _ := strings.Cut(line, " ")
			who, what, _ := strings.Cut(by, ": ")
			if !strings.HasPrefix(who, me.Username+"@") {
				t.Errorf("%q, want %s", line, me.Username)
			}
			words = append(words, strings.TrimSpace(what))
		}
		if got := strings.Join(words, "; "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
