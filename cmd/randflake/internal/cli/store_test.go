package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/file"
	"github.com/randflake/randflake/lease/url"
)

const password = "hunter2"

// A failing writer writes nothing.
type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

// TestStores has what people do with spaces, secrets and counters, each step after the other in an empty directory.
func TestStores(t *testing.T) {
	isolate(t)
	t.Chdir(t.TempDir())
	write(t, "broken.db", strings.Repeat("this is no database ", 100))
	for i, step := range []struct {
		args string
		code int
		want string // in what it prints or says
	}{
		{"store info", 1, "the first randflake new makes it"},
		{"store info missing", 1, "no such space"},
		{"next a --store missing", 1, "randflake store init missing"},
		{"store init --never-used ids", 0, "made a new secret in ids/secret\nmade space \"default\" in "},
		{"sql --dialect postgres --default --node 131071 --store ids", 1,
			"leases all nodes, and can't give one up: in a space that was made with --nodes 131071, node 131071 is free"},
		{"store init --never-used --nodes 131071 --secret-file ids/secret spare", 0, "leases begin at once\n"},
		{"store info spare --secret-file ids/secret", 0,
			"ok     65535 nodes are leased while no data was lost, and 64 times 1024 are a reserve for the minutes after a loss\n"},
		{"sql --dialect postgres --default --node 131071 --store spare", 0, "node randflake_default_node DEFAULT 131071,"},
		{"sql --dialect mysql --default --node 131070 --store spare", 1, "leases node 131070: want one that is not of 0 to 131070"},
		{"store init --never-used ids", 1, "never replaced"},
		{"store init --if-missing ids", 0, "exists"},
		{"store init --if-missing --part 0-131071 ids", 0, "exists"},
		{"store init --if-missing --part 0-65535 ids", 1,
			"has limits {FirstNode:0 Nodes:131072 Window:1m0s Ahead:5 MaxSkew:1m0s Reserve:1024}, and {FirstNode:0 Nodes:65536 "},
		{"store init --if-missing --window 1m --ahead 5 --max-skew 60s --reserve 1024 ids", 0, "exists\n"},
		{"store init --if-missing --window 10s ids", 1, " are wanted"},
		{"store init --if-missing --ahead 4 ids", 1, " are wanted"},
		{"store init --if-missing --max-skew 5s ids", 1, " are wanted"},
		{"store init --if-missing --reserve 512 ids", 1, " are wanted"},
		{"store init --if-missing --reserve 0 ids", 1, " are wanted"},
		{"store info ids", 0, "ok     the secret is that of the space\n"},
		{"new -n 3 --store ids", 0, ""},
		{"store info ids", 0, "ok     nodes of the present window that are leased: 1\n"},
		{"next orders --store ids", 1, "randflake counter create orders --store ids"},
		{"next orders --store ids --create -n 2", 0, "1\n2\n"},
		{"counter create orders --store ids", 1, "never replaced"},
		{"counter create orders --if-missing --store ids", 0, "there is a counter orders: its next number is 3"},
		{"counter create a/b --start 5 --step 2 --last 9 --store ids", 0, "its next number is 5"},
		{"counter create a/b --if-missing --step 2 --last 99 --store ids", 1, "a/b: it is from 5 by 2 to 9, and from 5 by 2 to 99 is wanted"},
		{"next a/b --store ids -n 4", 1, "ends at 9"},
		{"counter create last --start 9 --last 9 --store ids", 0, "its next number is 9"},
		{"counter list --json a/ --store ids", 0, `"state":"ended","next":null,"start":"5","step":"2","last":"9",`},
		{"counter list last --store ids", 0, "ready"},
		{"counter list --store ids", 0,
			"a/b     -     5      2     9     -       ended\nlast    9     9      1     9     -       ready\norders  3     1      1     -     -       ready\n"},
		{"counter list --json or --store ids", 0, `{"name":"orders","state":"ready","next":"3","start":"1","step":"1","last":"9223372036854775807","periods":"","period":"","series":""}`},
		{"counter set orders 2 --store ids", 2, "want 3 or more"},
		{"counter set orders 10 --store ids", 0, "its next number is 10"},
		{"store info ids", 0, "ok     65536 nodes are leased while no data was lost, and 64 times 1024 are a reserve"},
		{"store report-loss ids", 0, "noted: leases are granted from "},
		{"store info ids", 3, "leased: 0\nok     leases that the store has forgotten may also be in use\n"},
		{"store info ids", 3, "wrong  no lease is granted before "},
		{"store info ids", 3, "wrong  3 counters give no number until they are set, as data was lost: a/b, last, orders"},
		{"store info ids", 3, "ok     the floor was set last, for this reason: reported by hand\n"},
		{"new --store ids", 1, "wait until "},
		{"next orders --store ids", 1,
			"no number above 9 is known to be taken: set the counter beyond all that were: randflake counter set orders NUMBER --store ids"},
		{"counter set orders 12 --store ids", 0, ""},
		{"next orders --store ids", 0, "12\n"},
		{"counter create c --store ids", 0, "it waits until it is set"},
		{"secret new -o other", 0, ""},
		{"secret derive orders --secret-file other -o derived", 0, ""},
		{"secret derive orders", 2, "--secret-file is missing"},
		{"secret derive orders --version 0", 2, "want a whole number of 1 or more"},
		{"store info ids --secret-file other", 3, "is it the secret of another environment?"},
		{"store init --if-missing ids --secret-file other", 1, "is it the secret of another environment?"},
		{"store init --if-missing ids --secret-file gone", 1, "name the right file with --secret-file"},
		{"new --store ids --secret-file derived", 1, "is it the secret of another environment?"},
		{"store init late --secret-file other", 0,
			"if it had other limits than nodes 0 to 131071, --window 1m0s --ahead 5 --max-skew 1m0s --reserve 1024, make this one with those"},
		{"store info late --secret-file other", 3, "wrong  no lease begins before "},
		{"store info late --secret-file other", 3, "ok     the floor was set last, for this reason: created for IDs that were in use\n"},
		{"store init --never-used --window 10s --ahead 3 --max-skew 5s --nodes 16 few", 0,
			"it has no reserve: after a loss of data programs make no IDs for up to 35s\n"},
		{"store info few", 0, "has 16 nodes, 0 to 15, in windows of 10s, of which 3 may be leased ahead; clocks may differ by 5s\n"},
		{"store report-loss few", 0, "noted: leases begin at "},
		{"store init --never-used --nodes 131071 --secret-file derived fewer", 0, "leases begin at once\n"},
		{"new --store fewer --secret-file other", 1, "is it the secret of another environment?"},
		{"store init --never-used --reserve 0 without", 0, "no IDs for up to 5m0s\n"},
		{"store init --never-used --window 10s short", 0, "for up to 23s: take a larger --window or --ahead\n"},
		{"store move without without", 1, "are the same space"},
		{"store move without file:./without", 1, "are the same space, or one is a copy of the other: take another name or store"},
		{"store info without", 0, "nodes, 0 to 131071, in windows of 1m0s, of which 5 may be leased ahead; clocks may differ by 1m0s\nok     nodes of the present window that are leased: 0"},
		{"store init --never-used --nodes 1000 --reserve 16 some", 2, "a reserve of 16: want at most 15"},
		{"store init sqlite:ids.db --never-used --secret-file derived", 0, "leases begin at once"},
		{"new --store sqlite:ids.db --secret-file derived", 0, ""},
		{"store init --if-missing sqlite:ids.db", 0, " exists\n"},
		{"store info sqlite:ids.db?space=b", 1, "randflake store init 'sqlite:ids.db?space=b'"},
		{"store init sqlite:ids.db?space=b --never-used --secret-file derived", 0, "made space \"b\" in "},
		{"next a --store sqlite:ids.db?space=b", 1, "randflake counter create a --store 'sqlite:ids.db?space=b'"},
		{"store info ids?space=b", 1, "randflake store init 'ids?space=b'"},
		{"store init --never-used ids?space=b", 0, "made a new secret in ids/b.secret\nmade space \"b\" in "},
		{"store info file:ids?space=b", 0, "ok     the secret is that of the space\n"},
		{"store info ids?space=b --secret-file ids/secret", 3, "is it the secret of another environment?"},
		{"new --store ids?space=b", 0, ""},
		{"next a --store ids?space=b", 1, "randflake counter create a --store 'ids?space=b'"},
		{"store move ids?space=b file:ids?space=d", 0, "3. Keep ids/b.secret: programs need the secret."},
		{"store init --never-used ids?spcae=e", 1, "store: a name with '?' in it that is no URL"},
		{"store init --never-used file:ids?spcae=e", 1, "want file:DIR?space=NAME"},
		{"store init --never-used file:what??space=default", 0, "made a new secret in what?/secret\n"},
		{"store init --never-used --window 1500ms odd", 2, "want whole seconds, 1s to 24h"},
		{"store init --never-used odd?space=B", 1, "want a name of 1 to 40 of a-z"},
		{"new --store odd?space=B", 1, "want a name of 1 to 40 of a-z"},
		{"store move without odd?space=B", 1, "NEW: lease: invalid argument: space \"B\": want a name of 1 to 40 of a-z"},
		{"store init sqlite:odd/ids.db", 1, "want a file in a directory that is there"}, // they made none
		{"store init --never-used sqlite:broken.db --secret-file none", 1, "not a database"},
		{"secret derive orders --secret-file none", 1, "no such file"}, // it made none
		{"store init --never-used broken.db/ids", 1, "not a directory"},
		{"store init --never-used sqlite:any.db", 0, "for IDs of any secret: make another one with --secret-file"},
		{"store info sqlite:any.db --secret-file derived", 0, "ok     it is for IDs of any secret\n"},
		{"store info sqlite:any.db --secret-file broken.db", 3, "wrong  secret file broken.db: invalid secret"},
		{"store info sqlite:any.db --secret-file none", 0, "has 131072 nodes"},
		{"next a --store sqlite:any.db", 1, "randflake counter create a --store sqlite:any.db\n"},
		{"counter list --store sqlite:missing.db", 1, "randflake store init sqlite:missing.db\n"},
		{"counter create a --store sqlite:missing.db", 1, "no such space"},
		{"secret derive orders --secret-file other --version 4294967295", 0, "\n"},
		{"secret derive orders --secret-file other --version 4294967296", 2, "want at most 4294967295"},
		{"secret new -o other", 1, "other"},
		{"secret new -o -5", 0, ""},
		{"secret new -o ./-5", 1, "./-5"}, // which is there
		{"store ddl", 0, `"randflake".entries`},
		{"store ddl postgres://h/d?schema=s", 0, `"s".entries`},
		{"store ddl postgres://h/d?schema=a%00b", 1, "want up to 63 letters"},
		{"store ddl redis://h", 1, "want postgres://"},
		{"store move few more/few", 0, "have run for 15s have leases until "},
		{"store move few more/few", 0, "The old space was retired before"},
		{"store move few else/few", 1, "for space \"default\" in "},
		{"store init --if-missing few", 1, "is retired: space \"default\" in "},
		{"store move few few", 1, "take another name or store"},
		{"store move missing few", 1, "randflake store init missing"},
		{"store move few redis:/x", 1, "NEW: store redis: want redis://HOST"},
		{"store move few kubernetes:a/b", 1, "NEW: kubernetes: "},
		{"store move few else/few", 1, "and set its counters\n"},
		{"store info few", 3, "if that is not there, run the same randflake store move again\n"},
		{"store info few", 3, "wrong  it is retired, and grants nothing any more: use space \"default\" in "},
		{"store info more/few", 3, "moved from space \"default\" in "},
		{"store move ids sqlite:ids.db?space=c", 0, "3. Keep ids/secret: programs need the secret."},
		{"counter list --store sqlite:ids.db?space=c", 0, "orders  13    1      1     -     -       ready\n"},
		{"next orders --store ids", 1, "the space is retired"},
		{"new --store ids", 1, "the space is retired"},
		{"store retire fewer", 0, "is retired: the last lease that it has granted ends before "},
		{"store report-loss fewer", 0, "stays retired, and grants nothing any more\n"},
		{"store info fewer", 3, "move it with randflake store move fewer NEW"},
		{"inspect ord_jvgoe12ccb8gh", 1, "no such file"},
		{"store init --never-used", 0, "made a new secret in "},
		{"store init", 1, "never replaced"},
		{"store trust ids restart", 2, "there is nothing to trust in such a store: it is for PostgreSQL and Redis"},
		{"store trust ids none", 0, "trust is none, as before\n"},
		{"store trust spare none", 0, "trust is none, as before\n"},
		{"store trust", 2, "WORD is missing: want promotion, restart or none"},
		{"store init --never-used --trust promotion trusting", 2, "there is nothing to trust in such a store"},
		{"store init --never-used --trust promotion redis://127.0.0.1:1", 2, "want restart or none for such a store"},
		{"store init --never-used --trust all postgres://127.0.0.1:1/x", 2, "want promotion, restart or none"},
		{"store init --never-used --part 0-65535 --secret-file derived east", 0,
			"leases begin at once\nit has nodes 0 to 65535, of which no other space of the same secret or layout may have one, in any store: compare all with randflake store info STORE STORE...\n"},
		{"store info east", 0, "64 times 512 are a reserve"},
		{"store init --never-used --part 65536-131071 --secret-file derived west", 0, "it has nodes 65536 to 131071, of which no other"},
		{"store info west", 0, "west has 65536 nodes, 65536 to 131071, in windows"},
		{"store info east west", 0, "west has nodes 65536 to 131071; check value of its secret: "},
		{"store init --never-used --part 65535-65535 --secret-file derived north", 0, "nodes 65535 to 65535"},
		{"store init --never-used --part 65000-66000 --secret-file other south", 0, "nodes 65000 to 66000"},
		{"store init --never-used --part 512-1023 --nodes 1024 half", 0, "nodes 512 to 1023"},
		{"store init --if-missing --part 512-1023 --nodes 1024 half", 0, "exists\n"},
		{"store init --if-missing --part 512-1023 --secret-file derived half", 1, "is for IDs of any secret"},
		{"store init --if-missing --nodes 512 half", 1, "has limits {FirstNode:512 Nodes:512 "},
		{"store init --if-missing --part 0-511 half", 1, "and {FirstNode:0 Nodes:512 "},
		{"new --layout twitter --store half", 0, ""},
		{"store info half", 0, "nodes of the present window that are leased: 1"},
		{"store info east west south half", 0,
			"half has nodes 512 to 1023; check value of its secret: none, so whether another space has these nodes is unknown\n"},
		{"store info west north east", 3, "north has nodes 65535 to 65535; check value of its secret: "},
		{"store info west north east", 3, "north and east both have nodes 65535 to 65535: their IDs can repeat: retire one\n"},
		{"store info east missing", 1, "no such space"},
		{"store move north east?space=b", 1,
			"the space of default/meta there has nodes 0 to 65535 of this secret: take another store, or retire that space"},
		{"store move north west?space=b", 0, "took the place of"},
		{"store info west north east", 0, "east has nodes 0 to 65535"},
		{"store info west?space=b north east", 3, "both have nodes 65535 to 65535"},
		{"store info east west --store north", 2, "unexpected argument \"east\" beside --store"},
		{"sql --dialect postgres --default --node 65535 --store west", 0, "DEFAULT 65535,"},
		{"sql --dialect postgres --default --node 65536 --store west", 1, "leases node 65536: want one that is not of 65536 to 131071"},
		{"store init --never-used --part 512-1024 --nodes 1024 wrong", 2, "--part: want nodes of 0 to 1023"},
		{"new --layout twitter --store west", 1, "has room for 1024 workers, and "},
		{"store init --never-used --part 0-131072 wrong", 2, "131073 nodes from node 0 on: want 1 or more, up to node 131071"},
		{"store init --never-used --part 0-4294967295 wrong", 2, "want the first and the last node, such as 65536-131071"},
		{"store init --never-used --part 9-8 wrong", 2, "want the first and the last node, such as 65536-131071"},
		{"store init --never-used --part 9 wrong", 2, "want the first and the last node"},
		{"store init --never-used --part -1-9 wrong", 2, "want the first and the last node"},
		{"convert ord_tqi0vcvoqd1fq", 0, "ord_tqi0vcvoqd1fq  -"},
		{"convert ord_tqi0vcvoqd1fq --to hex", 0, "0x"},
		{"convert a_tqi0vcvoqd1fq z_tqi0vcvoqd1fq", 0, "a_tqi0vcvoqd1fq  -"},
		{"convert ord_", 1, "want 13 digits of base32hex"},
		{"convert 0x00000000000000001", 1, "is more than 64 bits"},
		{"convert Ord_jvgoe12ccb8gh", 1, "randflake: invalid ID"},
	} {
		r := call(t, "", strings.Fields(step.args)...)
		require.That(t, r.code == step.code && strings.Contains(r.out+r.err, step.want),
			"step %d, %s: exit status %d, %s%s, want %d, %q", i, step.args, r.code, r.out, r.err, step.code, step.want)
	}
}

// stopping is an engine that changes one thing, and then fails.
type stopping struct {
	lease.Engine
	swaps int
}

func (s *stopping) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	if s.swaps++; s.swaps > 1 {
		return lease.Answer{}, errors.New("stopped")
	}
	return s.Engine.Swap(ctx, expect, put)
}

// TestStoreMoveStopped: where a move has stopped, no command makes another space, or proposes to.
func TestStoreMoveStopped(t *testing.T) {
	isolate(t)
	t.Chdir(t.TempDir())
	call(t, "", "store", "init", "--never-used", "old")
	call(t, "", "counter", "create", "orders", "--store", "old")
	old, err := url.Open(t.Context(), "file:old", lease.Config{})
	require.NoError(t, err)
	at, err := file.New("new")
	require.NoError(t, err)
	engine := &stopping{Engine: at}
	if _, err := lease.Move(t.Context(), old, engine, lease.Config{}); engine.swaps != 2 {
		t.Fatalf("%d swaps, %v", engine.swaps, err)
	}
	for _, args := range []string{
		"store info new",
		"store retire new",
		"store move new elsewhere",
		"store init new --secret-file old/secret",
		"store init new --secret-file old/secret --if-missing",
	} {
		r := call(t, "", strings.Fields(args)...)
		require.That(t, r.code == 1 && strings.Contains(r.err, "a move to it has not ended") && !strings.Contains(r.err, "store init"),
			"%s: exit status %d, %s", args, r.code, r.err)
	}
	if r := call(t, "", "store", "move", "old", "new"); r.code != 0 {
		t.Errorf("moved again: %s", r.err)
	}
}

// damage puts a value in the place of an entry of a directory.
func damage(t *testing.T, dir, name, value string) {
	t.Helper()
	engine, err := file.New(dir)
	check(t, err)
	defer engine.Close()
	found, err := engine.Read(t.Context(), name)
	check(t, err)
	answer, err := engine.Swap(t.Context(), found.Entries, []lease.Entry{{Name: name, Value: []byte(value)}})
	require.Must(t, err == nil && answer.Swapped, "%+v, %v", answer, err)
}

// TestInfoOfDamagedSpace: what is wrong does not hide what is good.
func TestInfoOfDamagedSpace(t *testing.T) {
	for entry, want := range map[string]string{
		"default/leases":   "wrong  lease: data is corrupt",
		"default/c/orders": "wrong  lease: data is corrupt: counter orders",
	} {
		dir := newHome(t)
		damage(t, dir, entry, "sand")
		r := call(t, "", "store", "info", dir)
		if r.code != exitNo || r.err != "" || !strings.Contains(r.out, want) ||
			!strings.Contains(r.out, "ok     the secret is that of the space\n") {
			t.Errorf("%s: %+v, want %s", entry, r, want)
		}
		if entry == "default/c/orders" {
			wantFailure(t, call(t, "", "counter", "list", "--store", dir), exitFailed, "counter orders")
		}
	}
	dir := newHome(t)
	damage(t, dir, "default/meta", "sand")
	wantFailure(t, call(t, "", "store", "info", dir), exitFailed, "data is corrupt")
}

// TestInfoOfCrowdedSpace: where more than nine tenths of the nodes are leased, few programs can start.
func TestInfoOfCrowdedSpace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "small")
	succeed(t, "", "store", "init", "--never-used", "--nodes", "10", "--window", "24h", dir)
	for taken := range 11 {
		if taken > 0 {
			space, err := url.Open(t.Context(), dir, lease.Config{})
			check(t, err)
			present := space.Limits().WindowOf(time.Now())
			_, err = space.Take(t.Context(), present, present, 1)
			check(t, errors.Join(err, space.Close()))
		}
		r := call(t, "", "store", "info", dir)
		want := fmt.Sprintf("ok     nodes of the present window that are leased: %d\n", taken)
		if crowded := strings.Contains(r.out, "wrong  10 of 10 nodes are leased"); !strings.Contains(r.out, want) ||
			strings.Contains(r.out, "data was lost") || crowded != (taken == 10) || (r.code == exitOK) == crowded {
			t.Errorf("%d taken: %+v", taken, r)
		}
	}
}

// TestStop: a signal ends the work, and is remembered as the reason for the end.
func TestStop(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(s) { // as the tests' own caller has it, for instance nohup
			continue
		}
		var tl tool
		err := tl.unlessStopped(t.Context(), func(ctx context.Context) error {
			if err := syscall.Kill(os.Getpid(), s); err != nil {
				return err
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
		require.That(t, tl.stoppedBy == s && err != nil && err.Error() == s.String()+" signal received",
			"%v: stopped by %v, %v", s, tl.stoppedBy, err)
	}
	var tl tool
	failed := errors.New("no")
	if err := tl.unlessStopped(t.Context(), func(context.Context) error { return failed }); err != failed || tl.stoppedBy != nil {
		t.Errorf("without a signal: %v, %v", err, tl.stoppedBy)
	}
}

// TestOutput: a reader that goes away is no failure, whatever was to be printed, and any other
// error of the output is.
func TestOutput(t *testing.T) {
	many := strings.Repeat("jvgoe12ccb8gh\n", 20_000)
	for name, c := range map[string]struct {
		args, input string
	}{
		"one line":       {"convert jvgoe12ccb8gh", ""},
		"many lines":     {"convert", many},
		"a wrong line":   {"convert", "jvgoe12ccb8gh\n!\n"},
		"number":         {"next orders", ""},
		"counter":        {"counter create seats", ""},
		"next number":    {"counter set orders 100", ""},
		"new secret":     {"secret new", ""},
		"range":          {"range --layout discord 2024-01-01 2024-02-01", ""},
		"range of ULIDs": {"range --kind ulid 2024-01-01 2024-02-01", ""},
		"range of UUIDs": {"range --kind ulid --format uuid 2024-01-01 2024-02-01", ""},
		"list":           {"counter list", ""},
		"list in JSON":   {"counter list --json", ""},
		"version":        {"version", ""},
		"help":           {"help stores", ""},
		"SQL":            {"sql --dialect mysql", ""},
		"SQL with IDs":   {"sql --dialect mysql --default --node 5", ""},
		"ID":             {"new", ""},
		"ULID":           {"new --kind ulid", ""},
		"info":           {"store info", ""},
		"loss":           {"store report-loss", ""},
	} {
		for err, want := range map[error]result{
			syscall.EPIPE:                {code: exitOK},
			errors.New("the disk burns"): {code: exitFailed, err: "randflake: standard output: the disk burns\n"},
		} {
			isolate(t)
			call(t, "", "new")
			succeed(t, "", "next", "orders")
			var errs bytes.Buffer
			tl := &tool{stdin: strings.NewReader(c.input), stdout: failing{err}, stderr: &errs}
			code := tl.run(t.Context(), strings.Fields(c.args))
			require.That(t, code == want.code && strings.HasSuffix(errs.String(), want.err),
				"%s, %v: exit status %d, %s", name, err, code, &errs)
		}
	}
}

// TestLossNotNoted: a copy of the data is there, and no program has seen that yet.
func TestLossNotNoted(t *testing.T) {
	dir := newHome(t)
	copied := dir + "-copy"
	check(t, os.CopyFS(copied, os.DirFS(dir)))
	check(t, errors.Join(os.RemoveAll(dir), os.Rename(copied, dir)))
	r := call(t, "", "store", "info", dir)
	require.Equal(t, r.code, exitNo, "the status of store info")
	require.Contains(t, r.out, "wrong  data was lost, which is not noted yet: ", "store info")
	require.Contains(t, r.out, "leased: 0\nok     leases that the store has forgotten may also be in use\n", "store info")
}

// TestInitAtOnce: of many that make the same space and the same secret, if they are missing, none fails.
func TestInitAtOnce(t *testing.T) {
	isolate(t)
	t.Chdir(t.TempDir())
	for i := range 5 {
		var made atomic.Int64
		var all sync.WaitGroup
		store := fmt.Sprintf("sqlite:ids%d.db", i)
		for range 12 {
			all.Go(func() {
				r := call(t, "", "store", "init", "--if-missing", "--never-used", "--secret-file", fmt.Sprint("secret", i), store)
				require.Equal(t, r.code, exitOK, "%+v", r)
				if strings.Contains(r.out, "made space") {
					made.Add(1)
				}
			})
		}
		all.Wait()
		require.Equal(t, made.Load(), 1, "of them made it")
	}
	t.Setenv(secretVariable, "000102030405060708090a0b0c0d0e0f")
	slower := initRequest{home: home{secret: secretSource{inVariable: true}}}
	for range 2 { // before it makes the space, and when it uses the other one
		require.NoError(t, slower.readCheck())
	}
}

// TestSignals stops three processes: one that prints for ever, one whose output is no longer read, and
// one that stops only at the second signal.
func TestSignals(t *testing.T) {
	isolate(t)
	forever := []string{"new", "-n", fmt.Sprint(int64(1e15))}
	for name, tt := range map[string]struct {
		as   string
		args []string
		end  func(cmd *exec.Cmd, out io.ReadCloser)
	}{
		"SIGINT": {"program", forever, func(cmd *exec.Cmd, out io.ReadCloser) {
			cmd.Process.Signal(syscall.SIGINT)
			io.Copy(io.Discard, out)
		}},
		"reader": {"program", forever, func(_ *exec.Cmd, out io.ReadCloser) { out.Close() }},
		"second SIGINT": {"stuck", nil, func(cmd *exec.Cmd, _ io.ReadCloser) {
			go func() {
				for cmd.Process.Signal(syscall.SIGINT) == nil { // until Wait has seen the end
					time.Sleep(10 * time.Millisecond)
				}
			}()
		}},
	} {
		cmd := process(t, tt.as, tt.args...)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.StdoutPipe()
		check(t, err)
		check(t, cmd.Start())
		io.ReadFull(out, make([]byte, 1000))
		tt.end(cmd, out)
		err = cmd.Wait()
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		switch name {
		case "SIGINT":
			require.That(t, status.Signal() == syscall.SIGINT && strings.Contains(said.String(), "stopped after "),
				"%s: %v, %s", name, err, &said)
		case "reader":
			require.That(t, err == nil, "%s: %v, %s", name, err, &said)
		default:
			require.Equal(t, status.Signal(), syscall.SIGINT, "%s: %v, %s", name, err, &said)
		}
	}
}

// TestTrust has a space trust restarts of a real Redis, and moves it.
func TestTrust(t *testing.T) {
	isolate(t)
	t.Chdir(t.TempDir())
	server, err := servers.StartRedis(t.TempDir())
	check(t, err)
	defer server.Kill()
	at := "redis://" + server.Addr()
	for i, step := range []struct {
		args string
		code int
		want string // in what it prints or says
	}{
		{"store init --never-used --trust restart " + at, 0, "leases begin at once"},
		{"store info " + at, 0, "ok     trust is restart: that is no loss of data\n"},
		{"store trust " + at + " promotion", 2, "want restart or none for such a store"},
		{"store trust --store " + at + " restart", 0, "trust is restart, as before\n"},
		{"store move " + at + " " + at + "?space=b", 0, "Start all programs with the new store"},
		{"store info " + at + "?space=b", 3, "ok     trust is restart: that is no loss of data\n"},
		{"store move " + at + "?space=b sqlite:ids.db", 0, "The trust of the old space was in another store"},
		{"store init --never-used " + at + "?space=c", 0, "leases begin at once"},
		{"store info " + at + "?space=c", 0, "ok     trust is none: each restart is taken for a loss of data\n"},
		{"store trust " + at + "?space=c restart", 0, "trust is restart from now on; leases are granted from "},
		{"store info " + at + "?space=c", 3, "the floor was set last, for this reason: its trust was given\n"},
		{"store trust " + at + "?space=c none", 0, "trust is none from now on; leases are granted from "},
		{"store retire " + at + "?space=c", 0, "is retired: "},
		{"store trust " + at + "?space=c restart", 0, "trust is restart from now on; it stays retired, and grants nothing any more\n"},
		{"BGREWRITEAOF", 0, ""},
		{"store info " + at + "?space=c", 3, "the append-only file is rewritten"},
		{"store move " + at + "?space=b sqlite:ids.db", 0, "Start all programs with the new store"}, // as it has begun before
	} {
		if step.args == "BGREWRITEAOF" {
			_, err := server.Do("CONFIG", "SET", "rdb-key-save-delay", "20000000") // 20 s
			check(t, err)
			require.Done(t)(server.Do(step.args))
			continue
		}
		r := call(t, "", strings.Fields(step.args)...)
		require.That(t, r.code == step.code && strings.Contains(r.out+r.err, step.want),
			"step %d, %s: exit status %d, %s%s, want %d, %q", i, step.args, r.code, r.out, r.err, step.code, step.want)
	}
}
