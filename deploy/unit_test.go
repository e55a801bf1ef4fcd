package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnit: systemd knows everything in the unit, and finds its sandbox tight; what it does not know it tells.
func TestUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("make systemd installs it: ", err)
	}
	text, err := os.ReadFile("systemd/randflaked.service")
	if err != nil {
		t.Fatal(err)
	}
	analyze := func(text string, args ...string) (string, error) {
		unit := filepath.Join(t.TempDir(), "randflaked.service")
		if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("systemd-analyze", append(args, unit)...).CombinedOutput()
		return string(out), err
	}
	const place = "/usr/local/bin/randflaked"
	if strings.Count(string(text), place+" ") != 1 {
		t.Fatalf("the unit does not start %s", place)
	}
	if !strings.Contains(string(text), "\nLimitCORE=0\n") {
		t.Error("the unit lets the process dump its memory, with the secrets in it")
	}
	here := strings.Replace(string(text), place, executable(t), 1)
	if out, err := analyze(here, "verify", "--man=no"); err != nil || strings.Contains(out, "randflaked.service") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if out, _ := analyze(strings.Replace(here, "ProtectClock", "ProtectClocks", 1), "verify", "--man=no"); !strings.Contains(out, "ProtectClocks") {
		t.Errorf("verify does not find a key that there is not:\n%s", out)
	}
	const threshold = "--threshold=15" // of 100, which is no sandbox
	if out, err := analyze(here, "security", "--no-pager", "--offline=yes", threshold); err != nil {
		t.Errorf("security: %v\n%s", err, out)
	}
	if out, err := analyze(strings.Replace(here, "CapabilityBoundingSet", "#", 1), "security", "--no-pager", "--offline=yes", threshold); err == nil {
		t.Errorf("security does not find what is missing:\n%s", out)
	}
}
