package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/url"
)

// TestVersions runs this version and one that knows the next format on one store. They share it until it is upgraded. From
// then on the older one can do nothing there, and changes nothing.
func TestVersions(t *testing.T) {
	older, newer := programs, t.TempDir()
	out, err := exec.Command("go", "build", "-tags", "nextformat", "-o", newer+"/", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { programs = older })
	dir, secretFile := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "secret")
	args := func(command string) []string { return append(strings.Fields(command), "--store", dir) }
	do := func(version, command string) string {
		t.Helper()
		programs = version
		return succeed(t, args(command)...)
	}
	given := map[string]bool{}
	give := func(all ...string) {
		t.Helper()
		for _, one := range all {
			if given[one] {
				t.Errorf("%s was given twice", one)
			}
			given[one] = true
		}
	}
	use := func(version string) {
		t.Helper()
		give(strings.Fields(do(version, "new -n 100 --secret-file "+secretFile))...)
		give(strings.Fields(do(version, "next orders --create -n 3"))...)
	}
	acquire := func(version string) (owner string) {
		t.Helper()
		var held struct{ Owner string }
		check(t, json.Unmarshal([]byte(do(version, "lease acquire")), &held))
		return held.Owner
	}
	do(older, "lease init --new-secret --secret-file "+secretFile)
	for _, pair := range [][2]string{{older, newer}, {newer, older}} {
		use(pair[0])
		do(pair[1], "lease release --last-used unused --owner "+acquire(pair[0]))
		use(pair[1])
	}
	owner := acquire(older)
	secret, err := local.ReadSecret(secretFile)
	check(t, err)
	space, err := url.Open(t.Context(), dir) // of the older version, which this program is
	check(t, err)
	defer space.Close()
	k, err := lease.Keep(t.Context(), lease.On(space), secret, lease.WithTTL(3*time.Second), lease.WithLogger(slog.New(slog.DiscardHandler)))
	check(t, err)
	defer k.Close()
	do(newer, "lease upgrade")
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		var id randflake.ID
		if id, err = k.Generator().Generate(); errors.Is(err, randflake.ErrLeaseEnded) {
			break
		} else if err == nil {
			give(id.String())
		}
	}
	if !errors.Is(err, randflake.ErrLeaseEnded) || !errors.Is(k.Status().Err, store.ErrFormat) {
		t.Errorf("a keeper after the upgrade: %v, %v; want its lease to end, as the format is too new", err, k.Status().Err)
	}
	before := do(newer, "lease list")
	programs = older
	for _, command := range []string{"lease list", "lease acquire", "lease release --owner " + owner, "lease report-loss", "lease upgrade",
		"new --secret-file " + secretFile, "next orders", "counter create other"} {
		fail(t, args(command), "format is too new")
	}
	if after := do(newer, "lease list"); after != before {
		t.Errorf("the older version changed what the newer one left: %s\n%s", before, after)
	}
	do(newer, "lease release --last-used unused --owner "+owner)
	use(newer)
}
