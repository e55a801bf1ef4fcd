package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/local"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storeurl"
)

// A version of the programs.
type version struct {
	programs string
	format   string // the line in which it tells the newest one that it knows
}

// build builds the programs of a tree.
func build(t *testing.T, tree string, flags ...string) version {
	t.Helper()
	v := version{programs: t.TempDir()}
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-o", v.programs+"/", "./...")...)
	cmd.Dir = tree
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build in %s: %v: %s", tree, err, out)
	}
	return v.tell(t)
}

func (v version) tell(t *testing.T) version {
	t.Helper()
	v.format = strings.Split(v.succeed(t, "version"), "\n")[1]
	return v
}

// lastRelease builds the last release before HEAD, or returns why it can't.
func lastRelease(t *testing.T) (v version, missing error) {
	t.Helper()
	tag, err := exec.Command("git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*").Output()
	if err != nil {
		return v, fmt.Errorf("this checkout has no tag of a release: git describe: %w", err)
	}
	tree := filepath.Join(t.TempDir(), "release")
	if out, err := exec.Command("git", "worktree", "add", "--detach", tree, strings.TrimSpace(string(tag))).CombinedOutput(); err != nil {
		t.Fatalf("git worktree: %v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("git", "worktree", "remove", "--force", tree).Run() })
	return build(t, filepath.Join(tree, "cmd/randflake")), nil
}

// with calls a function that calls the program.
func (v version) with(call func()) {
	defer func(before string) { programs = before }(programs)
	programs = v.programs
	call()
}

func (v version) succeed(t *testing.T, args ...string) (out string) {
	t.Helper()
	v.with(func() { out = succeed(t, args...) })
	return out
}

// TestVersions runs two versions on one store: the last release, if there is one, and this one; and this one and one that
// knows another format. They share the store until it is upgraded. From then on the older one can do nothing there.
func TestVersions(t *testing.T) {
	this := version{programs: programs}.tell(t)
	pairs := map[string][2]version{"next": {this, build(t, ".", "-tags", "nextformat")}}
	release, missing := lastRelease(t)
	if missing == nil {
		pairs["last"] = [2]version{release, this}
	}
	t.Run("last release", func(t *testing.T) {
		if missing != nil {
			t.Skip(missing)
		}
	})
	if pairs["next"][0].format == pairs["next"][1].format {
		t.Fatal("two versions of the same format: the test shows nothing")
	}
	test := func(t *testing.T, place func(name string) string) {
		for name, pair := range pairs {
			for i := range pair {
				m := mixture{t, place(fmt.Sprintf("%s%d", name, i)), filepath.Join(t.TempDir(), "secret"), map[string]bool{}}
				m.mix(pair[0], pair[1], pair[i], pair[1-i])
			}
		}
	}
	dir := t.TempDir()
	t.Run("file", func(t *testing.T) { test(t, func(name string) string { return filepath.Join(dir, name) }) })
	eachEngine(t, func(t *testing.T, url string) {
		separator := map[bool]string{true: "&", false: "?"}[strings.Contains(url, "?")]
		test(t, func(name string) string { return url + separator + "space=" + name })
	})
}

// A mixture is of processes of two versions on one store.
type mixture struct {
	*testing.T
	store, secret string
	given         map[string]bool // IDs and numbers
}

func (m mixture) do(v version, command string) string {
	m.Helper()
	return v.succeed(m.T, append(strings.Fields(command), "--store", m.store)...)
}

func (m mixture) give(what string, all ...string) {
	m.Helper()
	for _, one := range all {
		if m.given[what+one] {
			m.Errorf("%s %s was given twice", what, one)
		}
		m.given[what+one] = true
	}
}

// use makes IDs and takes numbers.
func (m mixture) use(v version) {
	m.Helper()
	m.give("ID", strings.Fields(m.do(v, "new -n 100 --secret-file "+m.secret))...)
	m.give("number", strings.Fields(m.do(v, "next orders --create -n 3"))...)
}

func (m mixture) acquire(v version) (held view) {
	m.Helper()
	if err := json.Unmarshal([]byte(m.do(v, "lease acquire")), &held); err != nil {
		m.Fatal(err)
	}
	return held
}

// pass has one version acquire a lease that the other one sees, and gives back.
func (m mixture) pass(from, to version) {
	m.Helper()
	m.use(from)
	held := m.acquire(from)
	to.with(func() {
		if !slices.Contains(views(m.T, m.store), held) {
			m.Errorf("the other version does not see %+v", held)
		}
	})
	m.do(to, "lease release --last-used unused --owner "+held.Owner)
	m.use(to)
}

func (m mixture) mix(older, newer, first, second version) {
	m.Helper()
	creator := first
	if older.format != newer.format {
		creator = older // as who has the format of the newer one only
	}
	m.do(creator, "lease init --new-secret --secret-file "+m.secret)
	m.pass(first, second)
	m.pass(second, first)
	if older.format == newer.format {
		return
	}
	held := m.acquire(older)
	secret, err := local.ReadSecret(m.secret)
	if err != nil {
		m.Fatal(err)
	}
	space, err := storeurl.Open(m.Context(), m.store) // of the older version, if that is this one
	if err != nil {
		m.Fatal(err)
	}
	defer space.Close()
	k, err := lease.Keep(m.Context(), lease.On(space), secret, lease.WithTTL(3*time.Second), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		m.Fatal(err)
	}
	defer k.Close()
	m.do(newer, "lease upgrade")
	for range 5000 {
		var id randflake.ID
		if id, err = k.Generator().Generate(); errors.Is(err, randflake.ErrLeaseEnded) {
			break
		} else if err == nil {
			m.give("ID", id.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
	if !errors.Is(err, randflake.ErrLeaseEnded) || !errors.Is(k.Status().Err, store.ErrFormat) {
		m.Errorf("a keeper after the upgrade: %v, %v; want its lease to end, as the format is too new", err, k.Status().Err)
	}
	before := m.do(newer, "lease list")
	older.with(func() {
		for _, command := range []string{"lease list", "lease acquire", "lease release --owner " + held.Owner, "lease report-loss", "lease upgrade",
			"new --secret-file " + m.secret, "next orders", "counter create other"} {
			fail(m.T, append(strings.Fields(command), "--store", m.store), "format is too new")
		}
	})
	if after := m.do(newer, "lease list"); after != before {
		m.Errorf("the older version changed what the newer one left: %s\n%s", before, after)
	}
	m.do(newer, "lease release --last-used unused --owner "+held.Owner)
	m.use(newer)
}
