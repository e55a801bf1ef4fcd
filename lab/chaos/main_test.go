package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain makes this program what main would be where it is run again: a worker, or a member of etcd.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "worker" || os.Getenv("ETCDTEST_MEMBER") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestShort runs real processes on a directory, and leaves nothing behind.
func TestShort(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out strings.Builder
	err := run(t.Context(), strings.Fields("-short -engine file -fault killed,restored,count-killed -seed 1"), &out)
	if err != nil || !strings.Contains(out.String(), "count-killed  1     0  ") {
		t.Errorf("error %v\n%s", err, &out)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
	threads, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(threads) == 0 {
		t.Fatalf("can't list processes: %v", err)
	}
	for _, path := range threads {
		if children, _ := os.ReadFile(path); len(strings.TrimSpace(string(children))) > 0 { // no error: the thread may have ended
			t.Errorf("processes left: %s", children)
		}
	}
}

// TestPlantedBugs is the negative control: what must not happen is found when it does.
func TestPlantedBugs(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, args := range []string{
		"-bug forget -fault killed,count-killed",
		"-bug outlive -fault stopped",
		"-bug repeat -fault count-killed",
	} {
		t.Run(args, func(t *testing.T) {
			var out strings.Builder
			if err := run(t.Context(), strings.Fields(args+" -short -engine file"), &out); err != nil {
				t.Errorf("%v\n%s", err, &out)
			}
		})
	}
}
