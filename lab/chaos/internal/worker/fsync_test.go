package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain is a process whose syncs fail, where a test asks for one: nothing can undo that.
func TestMain(m *testing.M) {
	if path := os.Getenv("FAIL_SYNCS_OF"); path != "" {
		if err := syncAfterFailSyncs(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// syncAfterFailSyncs syncs a file from several threads.
func syncAfterFailSyncs(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return err
	}
	if err := failSyncs(); err != nil {
		return err
	}
	var syncs sync.WaitGroup
	errs := make(chan error, 20)
	for range cap(errs) / 2 {
		syncs.Go(func() {
			errs <- f.Sync()
			errs <- unix.Fdatasync(int(f.Fd()))
		})
	}
	syncs.Wait()
	for range cap(errs) {
		if err := <-errs; !errors.Is(err, unix.EIO) {
			return fmt.Errorf("sync: %v, want EIO", err)
		}
	}
	_, err = f.WriteString("all else works")
	return err
}

func TestFailSyncs(t *testing.T) {
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), "FAIL_SYNCS_OF="+filepath.Join(t.TempDir(), "file"))
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
