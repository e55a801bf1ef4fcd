package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// heldBy has the tests and the faults of chaos that hold each row of the tables of what can go wrong in leases.md.
var heldBy = map[string]string{
	"the server or the machine restarts or crashes":                        "store-kill redis-kill redis-trusted TestRestart TestCrash TestCrashInTheMiddle TestCrashes",
	"a backup or a copy takes the place of the data":                       "restored hard-linked-backup TestCopy TestLinkedCopy TestRestoredDump TestCopiedDatabase",
	"older files are put back, or a snapshot of the volume":                "old-copy old-aof old-backup-timeline old-backup-cold TestOlderFiles TestOlderCopy TestPosition TestTrustRecovery",
	"older rows or keys are put into the running server":                   "older-rows TestOlderKeys TestRollbackBelowAnother TestHolderKnowsMore",
	"a replica is promoted":                                                "promote failover-and-back leader-kill synchronous-standby TestFailover TestThereAndBack",
	"a copy of the data is used beside the original":                       "",
	"two histories, each with a floor of its own, take each other's place": "fork TestFork TestForkOfMeta",
	"all data are gone":                                                    "delete flushall TestGone TestFlushed TestNoStore",
	"the data are damaged":                                                 "truncate bitflip TestDamage TestCorrupt TestCorruptData",
	"the store is down, cut off, slow, silent or full":                     "partition-before partition-after slow stall disk-full TestOutageIsRiddenOutUntilTheLeaseEnds TestSilentServer TestSilent",
	"a reply is lost":                                                      "lost-grant answers-lost TestLostRepliesLeakNothing TestLostRepliesOfManyLeakNothing TestRenewReplyLost",
	"a process is killed":                                                  "kill",
	"a process is stopped, paused or swapped out past its lease":           "pause TestPausedPastTheEnd",
	"a process is copied while it runs":                                    "clone clone-closes clone-stale-clock clone-pending TestCopies TestClonesPart",
	"a process has a slow clock":                                           "clock-back-1s clock-back-1h TestSlowProcessStopsNobody TestClockBackAnHour TestClocksApart",
	"a process has a fast clock":                                           "fast-clock fast-clock-crash-loop TestFastClockInACrashLoop TestFastClocks TestForgiveClock",
	"the server's clock is wrong":                                          "fast-clock clock-back-1h TestFloorBesideSlowServer",
	"a wrong clock meets a loss":                                           "old-copy-and-slow-clock slow-clock-and-loss TestSlowClockSetsNoFloor TestLowFloor TestFastPast",
	"another environment's secret, or a second space for a secret":         "wrong-secret TestOneSpaceForASecret",
	"the secret is used with another store":                                "",
	"the nodes of a lease are too few":                                     "exhausted TestStrangerIsExhausted",
}

// TestWhatCanGoWrong: each row of the tables names something that a test causes, or that no library can notice.
func TestWhatCanGoWrong(t *testing.T) {
	page, err := os.ReadFile("leases.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, table := range strings.Split(string(page), "<!-- what can go wrong")[1:] {
		table, _, _ = strings.Cut(table, "\n\n")
		lines := strings.Split(table, "\n")[1:]
		for _, line := range lines[2:] {
			row, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			if rows = append(rows, row); strings.Count(line, " | ") != strings.Count(lines[0], " | ") {
				t.Errorf("%s has not the columns of %s", line, lines[0])
			}
		}
	}
	there := testsAndFaults(t)
	for _, row := range rows {
		names, ok := heldBy[row]
		if !ok {
			t.Errorf("no test holds %q", row)
		}
		for _, name := range strings.Fields(names) {
			if !slices.Contains(there, name) {
				t.Errorf("%s, which holds %q, is no test, nor a fault of chaos", name, row)
			}
		}
	}
	if len(rows) != len(heldBy) {
		t.Errorf("%d rows, and tests for %d", len(rows), len(heldBy))
	}
}

// testsAndFaults returns the names of all tests and of the faults of chaos.
func testsAndFaults(t *testing.T) (names []string) {
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(|^\t\tName: +"([a-z0-9-]+)",$`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, filepath.Join("chaos", "internal", "fault")) {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1]+found[2])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
