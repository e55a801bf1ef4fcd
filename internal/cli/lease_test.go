package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// views returns what lease list -json says.
func views(t *testing.T, dir string) (all []leaseView) {
	t.Helper()
	lines := json.NewDecoder(strings.NewReader(succeed(t, "", "lease", "list", "-json", "-store", dir)))
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
	out := succeed(t, "", append([]string{"lease", "acquire", "-store", dir}, args...)...)
	var v leaseView
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return v
}

func TestLeaseLife(t *testing.T) {
	dir := newHome(t)
	if all := views(t, dir); len(all) != 0 {
		t.Fatalf("a new store has leases: %v", all)
	}
	a := acquire(t, dir, "-nodes", "4", "-ttl", "5m")
	if a.FirstNode != 0 || a.LastNode != 3 || a.State != "leased" || a.Owner == (lease.Owner{}) || a.Until.Sub(a.Start) != 5*time.Minute {
		t.Errorf("acquired %+v", a)
	}
	b := acquire(t, dir)
	if b.FirstNode != 4 || b.LastNode != 4 || b.Until.Sub(b.Start) != time.Minute {
		t.Errorf("acquired %+v", b)
	}
	if all := views(t, dir); len(all) != 2 || all[0] != a || all[1] != b {
		t.Errorf("list: %+v, want %+v and %+v", all, a, b)
	}
	table := succeed(t, "", "lease", "list", "-store", dir)
	for _, want := range []string{"NODES", "0-3 ", "\n4 ", a.Owner.String(), a.Until.Format(time.RFC3339), "leased\n"} {
		if !strings.Contains(table, want) {
			t.Errorf("list:\n%swant %q in it", table, want)
		}
	}

	used := a.Start.Add(time.Second)
	succeed(t, "", "lease", "release", "-store", dir, "-owner", a.Owner.String(), "-last-used", used.Format(time.RFC3339))
	succeed(t, "", "lease", "release", "-store", dir, "-owner", b.Owner.String())
	all := views(t, dir)
	if all[0].State != "released" || all[0].Owner != (lease.Owner{}) || !all[0].Until.Equal(used.Add(time.Second)) {
		t.Errorf("released up to %v: %+v", used, all[0])
	}
	if all[1].State != "released" || !all[1].Until.Equal(b.Until) {
		t.Errorf("released without -last-used: %+v, want the end of %+v", all[1], b)
	}

	c := acquire(t, dir)
	succeed(t, "", "lease", "release", "-store", dir, "-owner", c.Owner.String(), "-last-used", "unused")
	if v := views(t, dir)[c.FirstNode-a.LastNode]; !v.Until.Equal(v.Start) {
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
		wantFailure(t, call(t, "", "lease", "release", "-store", dir, "-owner", c.owner, "-last-used", c.used), exitFailed, c.want)
	}
	if !maps.Equal(before, snapshot(t, dir)) {
		t.Error("a failure changed the store")
	}
	succeed(t, "", "lease", "release", "-store", dir, "-owner", owner)
	wantFailure(t, call(t, "", "lease", "release", "-store", dir, "-owner", owner), exitFailed, "no lease of owner")
}

func TestLeaseStates(t *testing.T) {
	const now = randflake.Epoch + 1_000_000
	owner := lease.Owner{1}
	for _, c := range []struct {
		rec  lease.Record
		want string
	}{
		{lease.Record{Owner: owner, Start: now - 10, HighWater: now}, "leased"},
		{lease.Record{Owner: owner, Start: now - 10, HighWater: now - 1}, "free"},
		{lease.Record{Start: now - 10, HighWater: now - 1}, "released"},
		{lease.Record{Start: now - 10, HighWater: now}, "released"},
		{lease.Record{Owner: owner, Start: now + 660, HighWater: now + 660 + 599}, "leased"}, // in a new store
		{lease.Record{Owner: owner, Start: now + 86400, HighWater: now + 86500}, "poisoned"},
		{lease.Record{Start: now + 86400, HighWater: now + 86500}, "poisoned"},
	} {
		states := assessor{lease.DefaultRules(), now, now + 660}
		if got := states.state(c.rec); got != c.want {
			t.Errorf("%+v: %s, want %s", c.rec, got, c.want)
		}
	}
}

func TestLeaseInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "down")
	out := succeed(t, "", "lease", "init", "-store", dir)
	if !strings.Contains(out, dir) || !strings.Contains(out, "first lease starts at") {
		t.Errorf("lease init: %q", out)
	}
	wantFailure(t, call(t, "", "lease", "acquire", "-store", dir), exitFailed, "no lease may start before", "try again from")
	before := snapshot(t, dir)
	for _, args := range [][]string{{"-store", dir}, {"-store", dir, "-new-secret"}} {
		wantFailure(t, call(t, "", append([]string{"lease", "init"}, args...)...), exitFailed, "never replaced")
	}
	if !maps.Equal(before, snapshot(t, dir)) {
		t.Error("a refused init changed the store")
	}
	wantFailure(t, call(t, "", "new", "-store", dir), exitFailed, "does not exist")
	write(t, filepath.Join(dir, "secret"), strings.Repeat("0f", 16))
	wantFailure(t, call(t, "", "new", "-store", dir), exitFailed, "no lease may start before", "try again from")
}

func TestLeaseInitWithNewSecret(t *testing.T) {
	base := t.TempDir()
	secret, dir := filepath.Join(base, "key"), filepath.Join(base, "store")
	succeed(t, "", "lease", "init", "-new-secret", "-store", dir, "-secret-file", secret)
	succeed(t, "", "new", "-store", dir, "-secret-file", secret)

	other := filepath.Join(base, "other")
	wantFailure(t, call(t, "", "lease", "init", "-new-secret", "-store", other, "-secret-file", secret), exitFailed, secret, "without -new-secret")
	wantFailure(t, call(t, "", "new", "-store", other, "-secret-file", secret), exitFailed, "no lease store")
}

// TestLeaseDistrust is how one goes on who restored a backup.
func TestLeaseDistrust(t *testing.T) {
	dir := newHome(t)
	held := acquire(t, dir)
	before := time.Now().Truncate(time.Second)
	out := succeed(t, "", "lease", "distrust", "-store", dir)
	text, found := strings.CutPrefix(out, "no lease of "+dir+" starts before ")
	start, err := time.Parse(time.RFC3339, strings.TrimSpace(text))
	if rules := lease.DefaultRules(); !found || err != nil || start.Before(before.Add(rules.MaxTTL+rules.MaxSkew)) {
		t.Errorf("lease distrust at %v: %q, %v", before, out, err)
	}
	wantFailure(t, call(t, "", "new", "-store", dir), exitFailed, "no lease may start before "+start.Format(time.RFC3339))
	if all := views(t, dir); len(all) != 1 || all[0] != held {
		t.Errorf("list: %+v, want %+v", all, held)
	}
}

func TestLeaseCommandsWithoutStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for _, args := range []string{"list", "acquire", "distrust", "release -owner 00000000000000000000000000000001"} {
		wantFailure(t, call(t, "", append(append([]string{"lease"}, strings.Fields(args)...), "-store", dir)...), exitFailed, "no lease store in "+dir)
	}
}

// TestLeaseAcquireThatNobodyHearsOf gives back what could not be printed.
func TestLeaseAcquireThatNobodyHearsOf(t *testing.T) {
	dir := newHome(t)
	var errs bytes.Buffer
	code := (&tool{Extras{}, nil, failingWriter{}, &errs}).run(t.Context(), []string{"lease", "acquire", "-store", dir})
	if code != exitFailed || !strings.Contains(errs.String(), "disk on fire") {
		t.Errorf("exit status %d, %q", code, &errs)
	}
	if all := views(t, dir); len(all) != 1 || all[0].State != "released" {
		t.Errorf("list: %+v, want a released lease", all)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk on fire") }
