package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/lab/chaos/internal/broken"
	"github.com/randflake/randflake/lab/chaos/internal/fault"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/simulation"
)

// TestMain makes this program what main would be where it is run again: a worker, or a member of etcd.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "worker" || os.Getenv("ETCDTEST_MEMBER") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestSmoke runs real processes, on a directory and on a server.
func TestSmoke(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	results := filepath.Join(t.TempDir(), "results.md")
	var out strings.Builder
	err := run(t.Context(), []string{"-store", "file,memory", "-fault", "kill,count-storm", "-short", "-seed", "1", "-parallel", "2", "-results", results}, &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	table, err := os.ReadFile(results)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"seed 1", "| file | kill | 1 | ", "| memory | kill | 1 | ", " 0 | 0 | yes | yes |\n",
		"| memory | count-storm | "} {
		if !strings.Contains(string(table), want) {
			t.Errorf("results lack %q:\n%s", want, table)
		}
	}
	wantNothingLeft(t)
}

// TestPatience: what came too late once is done again, and no more than once; IDs that are made twice are not.
func TestPatience(t *testing.T) {
	late := func(w *simulation.Simulation) { w.Fail("late") }
	inTime := func(w *simulation.Simulation) { w.Close(w.Start(1)...) }
	twice := func(w *simulation.Simulation) { // as the journal of another worker with the same IDs says
		inTime(w)
		w.Must(os.CopyFS(w.JournalDir()+"-copy", os.DirFS(w.JournalDir())))
		w.Must(os.Rename(filepath.Join(w.JournalDir()+"-copy", "worker-1"), filepath.Join(w.JournalDir(), "worker-2")))
		late(w)
	}
	for _, tt := range []struct {
		name    string
		scripts []func(*simulation.Simulation)
		wrong   bool
	}{
		{"in time", []func(*simulation.Simulation){inTime}, false},
		{"late once", []func(*simulation.Simulation){late, inTime}, false},
		{"late twice", []func(*simulation.Simulation){late, late}, true},
		{"late, and IDs made twice", []func(*simulation.Simulation){twice}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, played := filepath.Join(t.TempDir(), "job"), 0
			j := job{store: fault.Memory, fault: fault.Fault{Name: "none", Script: func(w *simulation.Simulation) {
				played++
				tt.scripts[played-1](w)
			}, May: []page.Kind{page.NotStarted}}}
			o := patiently(t.Context(), flags{short: true}, j, dir, shortRate)
			if (o.err != nil) != tt.wrong || played != len(tt.scripts) {
				t.Errorf("played %d times: %v", played, o)
			}
		})
	}
}

// TestPlantedBugs is the negative control: what must not happen is found when it does. Some bugs show only when two
// processes meet, so there are three tries.
func TestPlantedBugs(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	slots := make(chan bool, 3) // not all at once, as the leases of the sound must not end meanwhile
	known := make(map[broken.Bug]bool)
	for _, one := range bugsAndFaults {
		known[one.bug] = true
		t.Run(string(one.bug), func(t *testing.T) {
			t.Parallel()
			slots <- true
			defer func() { <-slots }()
			var out strings.Builder
			for range 3 {
				err := run(t.Context(), append(strings.Fields(one.args), "-bug", string(one.bug), "-short"), &out)
				if err == nil {
					return
				}
				fmt.Fprintln(&out, err)
			}
			t.Error(&out)
		})
	}
	for _, bug := range broken.Bugs {
		if !known[bug] {
			t.Errorf("no run is to find the bug %s", bug)
		}
	}
	// These faults find nothing where there is nothing to be found: the bugs have no effect there.
	for _, args := range []string{
		"-bug late-sync -fault storm,old-copy,restart,stale-release,pause",
		"-bug late-sync -store file -fault clone,restored",
		"-bug release-anyway -fault store-kill",
	} {
		t.Run("none", func(t *testing.T) {
			t.Parallel()
			slots <- true
			defer func() { <-slots }()
			var out strings.Builder
			err := run(t.Context(), append(strings.Fields(args), "-short"), &out)
			if err == nil || !strings.Contains(err.Error(), "was not found") {
				t.Errorf("error %v, want that the bug was not found\n%s", err, &out)
			}
		})
	}
}

// bugsAndFaults says which run finds which bug.
var bugsAndFaults = []struct {
	bug  broken.Bug
	args string
}{
	{broken.IgnoreMeta, "-fault storm -ids 200000"}, // several runs: two splits of cells must meet
	{broken.IgnoreValues, "-fault clone -store file"},
	{broken.StandStill, "-fault old-copy"},
	{broken.LateSync, "-fault store-kill"},
	{broken.Expiry, "-fault restart"},
	{broken.TrustCopies, "-fault restored -store file"},
	{broken.TrustCopies, "-fault hard-linked-backup -store file"},
	{broken.Forgetful, "-fault fork"},
	{broken.StartNow, "-fault restart"},
	{broken.ReleaseAnyway, "-fault stale-release"},
	{broken.RenewOthers, "-fault clone-pending"},
	{broken.RenewOthers, "-fault clone-stale-clock"},
	{broken.NoReport, "-fault older-rows"},
	{broken.AnyChange, "-fault store-kill"},
	{broken.RenewAnyway, "-fault pause"},
	{broken.RenewAnyway, "-store remote-file -fault token-revoked"},
	{broken.StaleAnswer, "-store remote-file -fault answers-lost"},

	{broken.IgnoreValues, "-fault count-kill"}, // blocks are taken without compare-and-set
	{broken.ReturnAnyway, "-fault count-storm"},
	{broken.SameAgain, "-fault count-kill"},
}

// TestInterrupt stops everything in the middle.
func TestInterrupt(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(2*time.Second, cancel) // wherever that is
	var out strings.Builder
	err := run(ctx, []string{"-store", "file,memory", "-fault", "pause,disk-full,kill", "-short"}, &out)
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("error %v, want one that says interrupted", err)
	}
	if strings.Contains(out.String(), "FAIL") {
		t.Errorf("output, want no outcome:\n%s", &out)
	}
	wantNothingLeft(t)
}

// wantNothingLeft checks that there are no files and no processes any more.
func wantNothingLeft(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
	threads, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(threads) == 0 {
		t.Fatalf("can't list processes: %v", err)
	}
	for _, path := range threads {
		children, _ := os.ReadFile(path) // the thread may have ended
		if len(strings.TrimSpace(string(children))) > 0 {
			t.Errorf("processes left: %s", children)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-store nonsense", "-store nonsense: want some of etcd, file"},
		{"-fault kill,nonsense", "-fault nonsense: want some of kill"},
		{"-fault promote -store file", "can't happen"},
		{"-bug nonsense", "-bug nonsense: want one of"},
		{"-parallel 0", "-parallel 0"},
		{"nonsense", `argument "nonsense"`},
	} {
		var out strings.Builder
		err := run(t.Context(), strings.Fields(tt.args), &out)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.args, err, tt.want)
		}
	}
}

func TestList(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), []string{"-list"}, &out); err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, f := range fault.All {
		if names[f.Name] || f.Does == "" || f.Expect == "" || f.Script == nil || len(f.Stores) == 0 {
			t.Errorf("fault %q lacks something, or another one has its name", f.Name)
		}
		names[f.Name] = true
		for _, s := range f.Stores {
			if _, ok := starts[s]; !ok {
				t.Errorf("fault %s: unknown store %s", f.Name, s)
			}
		}
		if !strings.Contains(out.String(), f.Name+" (") {
			t.Errorf("-list lacks %s", f.Name)
		}
	}
}

// TestOnce: with -once each fault happens on one store, and each store has about as many of them.
func TestOnce(t *testing.T) {
	plan, err := newPlan(flags{stores: "all", faults: "all", short: true, once: true})
	if err != nil {
		t.Fatal(err)
	}
	faults, stores := make(map[string]int), make(map[string]int)
	for _, j := range plan {
		faults[j.fault.Name]++
		stores[j.store]++
	}
	for _, f := range fault.All {
		if faults[f.Name] != 1 {
			t.Errorf("%s happens %d times, want once", f.Name, faults[f.Name])
		}
	}
	for _, name := range []string{fault.File, fault.SQLite, fault.Etcd, fault.Redis, fault.Postgres, fault.MySQL, fault.RemoteEtcd} {
		if stores[name] < 5 {
			t.Errorf("%d faults happen on %s, want 5 or more of %d", stores[name], name, len(plan))
		}
	}
}

// TestSeed checks that a run's choices come from the seed and from its name.
func TestSeed(t *testing.T) {
	draw := func(seed uint64, name string) string { return strconv.FormatUint(seeded(seed, name).Uint64(), 16) }
	const name = "postgres-clock-forward-1y-and-back-0"
	if a, b := draw(1, name), draw(1, name); a != b {
		t.Errorf("the same seed and name give %s and %s", a, b)
	}
	if a, b, c := draw(1, name), draw(1, name+"1"), draw(2, name); a == b || a == c {
		t.Errorf("different seeds or names give %s, %s, %s", a, b, c)
	}
}
