package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

// views returns what lease list --json says.
func views(t *testing.T, dir string) (all []leaseView) {
	t.Helper()
	lines := json.NewDecoder(strings.NewReader(succeed(t, "", "lease", "list", "--json", "--store", dir)))
	lines.DisallowUnknownFields()
	for lines.More() {
		var v leaseView
		if err := lines.Decode(&v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

func acquire(t *testing.T, dir string, args ...string) leaseView {
	t.Helper()
	out := succeed(t, "", append([]string{"lease", "acquire", "--store", dir}, args...)...)
	var v leaseView
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return v
}

// leaseOf returns what lease list --json says of the range that begins with a node.
func leaseOf(t *testing.T, dir string, first uint32) leaseView {
	t.Helper()
	for _, v := range views(t, dir) {
		if v.FirstNode == first {
			return v
		}
	}
	t.Fatalf("no lease from node %d on", first)
	return leaseView{}
}

func TestLeaseLife(t *testing.T) {
	dir := newHome(t)
	t.Setenv("RANDFLAKE_LABEL", "web-7")
	if all := views(t, dir); len(all) != 0 {
		t.Fatalf("a new store has leases: %v", all)
	}
	a := acquire(t, dir, "--nodes", "4", "--ttl", "5m")
	if a.LastNode-a.FirstNode != 3 || a.State != "leased" || a.Owner == (lease.Token{}) || a.Until.Sub(a.Start) != 5*time.Minute {
		t.Errorf("acquired %+v", a)
	}
	b := acquire(t, dir)
	if b.FirstNode != b.LastNode || a.FirstNode <= b.FirstNode && b.FirstNode <= a.LastNode || b.Until.Sub(b.Start) != time.Minute {
		t.Errorf("acquired %+v, and %+v before", b, a)
	}
	if all := views(t, dir); len(all) != 2 || leaseOf(t, dir, a.FirstNode) != a || leaseOf(t, dir, b.FirstNode) != b {
		t.Errorf("list: %+v, want %+v and %+v", all, a, b)
	}
	table := succeed(t, "", "lease", "list", "--store", dir)
	for _, want := range []string{"NODES", fmt.Sprintf("\n%d-%d ", a.FirstNode, a.LastNode), fmt.Sprintf("\n%d ", b.FirstNode),
		a.Owner.String(), a.Until.Format(time.RFC3339), "leased  " + lease.DefaultLabel() + "\n"} {
		if !strings.Contains(table, want) {
			t.Errorf("list:\n%swant %q in it", table, want)
		}
	}

	used := a.Start.Add(time.Second)
	succeed(t, "", "lease", "release", "--store", dir, "--owner", a.Owner.String(), "--last-used", used.Format(time.RFC3339))
	succeed(t, "", "lease", "release", "--store", dir, "--owner", b.Owner.String())
	if v := leaseOf(t, dir, a.FirstNode); v.State != "released" || v.Owner != (lease.Token{}) || !v.Until.Equal(used.Add(time.Second)) {
		t.Errorf("released up to %v: %+v", used, v)
	}
	if v := leaseOf(t, dir, b.FirstNode); v.State != "released" || !v.Until.Equal(b.Until) {
		t.Errorf("released without --last-used: %+v, want the end of %+v", v, b)
	}

	c := acquire(t, dir)
	succeed(t, "", "lease", "release", "--store", dir, "--owner", c.Owner.String(), "--last-used", "unused")
	if v := leaseOf(t, dir, c.FirstNode); !v.Until.Equal(v.Start) {
		t.Errorf("released unused: %+v", v)
	}
}

func TestLeaseReleaseRefuses(t *testing.T) {
	dir := newHome(t)
	v := acquire(t, dir)
	before := snapshot(t, dir)
	owner := v.Owner.String()
	for _, c := range []struct {
		owner, used, want string
	}{
		{strings.Repeat("ab", 16), "unused", "no lease of owner " + strings.Repeat("ab", 16)},
		{owner, v.Start.Add(-time.Second).Format(time.RFC3339), "outside the lease"},
		{owner, v.Until.Format(time.RFC3339), "outside the lease"},
	} {
		wantFailure(t, call(t, "", "lease", "release", "--store", dir, "--owner", c.owner, "--last-used", c.used), exitFailed, c.want)
	}
	if !maps.Equal(before, snapshot(t, dir)) {
		t.Error("a failure changed the store")
	}
	succeed(t, "", "lease", "release", "--store", dir, "--owner", owner)
	wantFailure(t, call(t, "", "lease", "release", "--store", dir, "--owner", owner), exitFailed, "no lease of owner")
}

func TestLeaseStates(t *testing.T) {
	const now = randflake.Epoch + 1_000_000
	owner := lease.Token{1}
	for _, c := range []struct {
		rec  lease.Record
		want string
	}{
		{lease.Record{Owner: owner, Start: now - 10, HighWater: now}, "leased"},
		{lease.Record{Owner: owner, Start: now - 10, HighWater: now - 1}, "free"},
		{lease.Record{Start: now - 10, HighWater: now - 1}, "released"},
		{lease.Record{Start: now - 10, HighWater: now}, "released"},
		{lease.Record{Owner: owner, Start: now + 60, HighWater: now + 660}, "leased"}, // by a clock that is a minute ahead
		{lease.Record{Owner: owner, Start: now + 61, HighWater: now + 661}, "poisoned"},
		{lease.Record{Owner: owner, Start: now + 86400, HighWater: now + 86500}, "poisoned"},
		{lease.Record{Start: now + 86400, HighWater: now + 86500}, "poisoned"},
	} {
		v := &store.View{Now: now, Meta: &store.Meta{MaxTTL: 600, MaxSkew: 60}}
		if got := stateOf(c.rec, v); got != c.want {
			t.Errorf("%+v: %s, want %s", c.rec, got, c.want)
		}
	}
}

func TestLeaseInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "down")
	out := succeed(t, "", "lease", "init", "--store", dir)
	if !strings.Contains(out, dir) || !strings.Contains(out, "first lease starts at") {
		t.Errorf("lease init: %q", out)
	}
	wantFailure(t, call(t, "", "lease", "acquire", "--store", dir), exitFailed, "no lease may start before", "the store is new or has lost data", "try again from")
	if listed := succeed(t, "", "lease", "list", "--store", dir); !strings.Contains(listed, "\nno lease starts before 20") {
		t.Errorf("lease list: %s", listed)
	}
	before := snapshot(t, dir)
	for _, args := range [][]string{{"--store", dir}, {"--store", dir, "--new-secret"}} {
		wantFailure(t, call(t, "", append([]string{"lease", "init"}, args...)...), exitFailed, "never replaced")
	}
	if !maps.Equal(before, snapshot(t, dir)) {
		t.Error("a refused init changed the store")
	}
	wantFailure(t, call(t, "", "new", "--store", dir), exitFailed, "no such file")
	write(t, filepath.Join(dir, "secret"), strings.Repeat("0f", 16))
	wantFailure(t, call(t, "", "new", "--store", dir), exitFailed, "no lease may start before", "the store is new or has lost data", "try again from")
}

func TestLeaseInitWithNewSecret(t *testing.T) {
	base := t.TempDir()
	secret, dir := filepath.Join(base, "key"), filepath.Join(base, "store")
	succeed(t, "", "lease", "init", "--new-secret", "--store", dir, "--secret-file", secret)
	succeed(t, "", "new", "--store", dir, "--secret-file", secret)

	other := filepath.Join(base, "other")
	wantFailure(t, call(t, "", "lease", "init", "--new-secret", "--store", other, "--secret-file", secret), exitFailed, secret, "leave out --new-secret")
	wantFailure(t, call(t, "", "new", "--store", other, "--secret-file", secret), exitFailed, "no store")
	wantFailure(t, call(t, "", "lease", "init", "--store", other, "--secret-file", filepath.Join(base, "none")), exitFailed, "no such file")
	wantFailure(t, call(t, "", "new", "--store", other, "--secret-file", secret), exitFailed, "no store")
}

// TestWrongSecret has a secret that is not the one which a store was made with, or for.
func TestWrongSecret(t *testing.T) {
	base := t.TempDir()
	ours, others := filepath.Join(base, "ours"), filepath.Join(base, "others")
	for _, file := range []string{ours, others} {
		succeed(t, "", "secret", "-o", file)
	}
	named, own := filepath.Join(base, "named"), filepath.Join(base, "own")
	succeed(t, "", "lease", "init", "--store", named, "--secret-file", ours)
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(ours, filepath.Join(own, "secret")); err != nil {
		t.Fatal(err)
	}
	succeed(t, "", "lease", "init", "--store", own)
	for _, dir := range []string{newHome(t), named, own} {
		before := snapshot(t, dir)
		wantFailure(t, call(t, "", "new", "--store", dir, "--secret-file", others), exitFailed, "space of another secret", dir)
		if !maps.Equal(before, snapshot(t, dir)) {
			t.Error("the store was changed")
		}
		succeed(t, "", "lease", "list", "--store", dir)
	}
	wantFailure(t, call(t, "", "new", "--store", named, "--secret-file", filepath.Join(own, "secret")), exitFailed, "no lease may start before")
}

// TestLeaseForgiveClock is how one goes on whose clock was ahead for a while.
func TestLeaseForgiveClock(t *testing.T) {
	dir := newHome(t)
	now := time.Now()
	ahead := testStore(t, dir, store.WithClock(func() time.Time { return now.AddDate(3, 0, 0) }))
	if _, err := lease.On(ahead).Acquire(t.Context(), lease.Request{Nodes: 131072, TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if listed := succeed(t, "", "lease", "list", "--store", dir); !strings.Contains(listed, "poisoned  -\n") {
		t.Errorf("lease list:\n%s", listed)
	}
	for _, args := range []string{"new", "lease acquire", "lease report-loss"} {
		wantFailure(t, call(t, "", append(strings.Fields(args), "--store", dir)...), exitFailed, "randflake lease forgive-clock")
	}
	forgive := func(from time.Time) []string {
		return []string{"lease", "forgive-clock", "--store", dir, "--from", from.Format(time.RFC3339)}
	}
	for _, from := range []time.Time{now.AddDate(-1, 0, 0), now, now.AddDate(4, 0, 0)} {
		wantFailure(t, call(t, "", forgive(from)...), exitFailed, from.UTC().Format(time.RFC3339))
	}
	from := now.AddDate(2, 0, 0)
	out := succeed(t, "", forgive(from)...)
	listed := succeed(t, "", "lease", "list", "--store", dir)
	for _, want := range []string{"no lease of " + dir + " starts before 20", " from " + from.UTC().Format(time.RFC3339) + " until before "} {
		if !strings.Contains(out, want) {
			t.Errorf("lease forgive-clock: %q, want %q in it", out, want)
		}
	}
	for _, want := range []string{"\nno lease starts before 20", "\nno lease contains a second from " + from.UTC().Format(time.RFC3339) + " until before "} {
		if !strings.Contains(listed, want) || strings.Contains(listed, "poisoned") {
			t.Errorf("lease list:\n%swant %q in it, and nothing poisoned", listed, want)
		}
	}
	wantFailure(t, call(t, "", "new", "--store", dir), exitFailed, "no lease may start before", "the store is new or has lost data", "try again from")
}

// TestLeaseAcquireThatNobodyHearsOf gives back what could not be printed.
func TestLeaseAcquireThatNobodyHearsOf(t *testing.T) {
	dir := newHome(t)
	var errs bytes.Buffer
	code := (&tool{stdout: failingWriter{}, stderr: &errs}).run(t.Context(), []string{"lease", "acquire", "--store", dir})
	if code != exitFailed || !strings.Contains(errs.String(), "disk on fire") {
		t.Errorf("exit status %d, %q", code, &errs)
	}
	if all := views(t, dir); len(all) != 1 || all[0].State != "released" {
		t.Errorf("list: %+v, want a released lease", all)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestLeaseMove(t *testing.T) {
	dir, other := newHome(t), filepath.Join(t.TempDir(), "other")
	held := acquire(t, dir, "--nodes", "7")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"move", exitUsage, "--to is missing"},
		{"move --to " + dir, exitFailed, "exists"},
		{"plan-failover --window 0s", exitUsage, "--window"},
		{"plan-failover --window 25h", exitUsage, "1s to 24h"},
	} {
		wantFailure(t, call(t, "", append([]string{"lease", "--store", dir}, strings.Fields(c.args)...)...), c.code, c.want)
	}
	succeed(t, "", "lease", "plan-failover", "--store", dir, "--window", "1h")
	if list := succeed(t, "", "lease", "list", "--store", dir); !strings.Contains(list, "a failover is planned") {
		t.Errorf("lease list: %q", list)
	}
	succeed(t, "", "lease", "move", "--store", dir, "--to", other)
	wantFailure(t, call(t, "", "lease", "acquire", "--store", dir), exitFailed, "moved", other)
	if moved := leaseOf(t, other, held.FirstNode); moved != held {
		t.Errorf("%+v, want %+v", moved, held)
	}
}
