package filestore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// The environment of a child process: what it does, and in which directory.
const (
	childEnv = "FILESTORE_TEST_CHILD"
	dirEnv   = "FILESTORE_TEST_DIR"
)

// children are what the test binary does when it runs as a child process.
var children = map[string]func(dir string) error{
	"holder":  holder,
	"nothing": func(string) error { return nil },
}

func TestMain(m *testing.M) {
	child := children[os.Getenv(childEnv)]
	if child == nil {
		os.Exit(m.Run())
	}
	if err := child(os.Getenv(dirEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// command returns the command of a child process.
func command(t *testing.T, exe, child, dir string) *exec.Cmd {
	if exe == "" {
		var err error
		if exe, err = os.Executable(); err != nil {
			t.Skip(err)
		}
		try := exec.CommandContext(t.Context(), exe)
		try.Env = append(os.Environ(), childEnv+"=nothing")
		if err := try.Run(); errors.Is(err, syscall.ENOEXEC) {
			t.Skipf("an emulated test can't start itself: %v", err)
		}
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+child, dirEnv+"="+dir)
	return cmd
}

// An event is what a holder tells about itself, one JSON object a line.
type event struct {
	Record   lease.Record
	Released bool
	LastUsed int64
}

// holder acquires, renews and releases at random, by a clock of its own that is wrong by up to
// half a minute and passes fast.
func holder(dir string) error {
	io.ReadAll(os.Stdin) // until the parent says go
	clock := leasetest.NewClock(noon.Add(time.Duration(rand.IntN(60)-30) * time.Second))
	s, err := Open(dir, WithClock(clock.Now))
	if err != nil {
		return err
	}
	tell := json.NewEncoder(os.Stdout)
	var held []lease.Record
	for range 25 {
		clock.Advance(time.Duration(rand.IntN(3)) * time.Second)
		i := rand.IntN(len(held) + 1)
		switch {
		case i == len(held):
			rec, err := s.Acquire(context.Background(), lease.Request{Nodes: (randflake.MaxNode + 1) / 8, TTL: time.Duration(1+rand.IntN(20)) * time.Second})
			if err == nil {
				held = append(held, rec)
				tell.Encode(event{Record: rec})
			} else if !errors.Is(err, lease.ErrNoRange) {
				return err
			}
		case rand.IntN(2) == 0:
			rec, err := s.Renew(context.Background(), held[i], 20*time.Second)
			if err == nil {
				held[i] = rec
				tell.Encode(event{Record: rec})
			} else if !errors.Is(err, lease.ErrLost) {
				return err
			}
		default:
			lastUsed := held[i].Start + rand.Int64N(held[i].HighWater-held[i].Start+1)
			tell.Encode(event{held[i], true, lastUsed})
			if err := s.Release(context.Background(), held[i], time.Unix(lastUsed, 0)); err != nil && !errors.Is(err, lease.ErrLost) {
				return err
			}
			held = append(held[:i], held[i+1:]...)
		}
	}
	return nil
}

// TestManyProcesses lets 16 processes share a directory and kills half of them at work. No second
// of a node is granted twice, and the store is sound afterwards.
func TestManyProcesses(t *testing.T) {
	dir := newDir(t)
	_, clock := create(t, dir)
	var history leasetest.History
	var readers sync.WaitGroup
	var start []io.Closer
	for i := range 16 {
		cmd := command(t, "", "holder", dir)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Skip(err)
		}
		start = append(start, stdin)
		readers.Go(func() {
			lines := bufio.NewScanner(stdout)
			for n := 0; lines.Scan(); n++ {
				if i%2 == 0 && n == i/2 {
					cmd.Process.Kill()
				}
				var e event
				if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
					continue // cut short by the kill
				}
				if e.Released {
					history.Released(e.Record, time.Unix(e.LastUsed, 0))
				} else {
					history.Granted(e.Record)
				}
			}
			if err := cmd.Wait(); err != nil && i%2 == 1 {
				t.Errorf("child %d: %v: %s", i, err, stderr.String())
			}
		})
	}
	for _, c := range start {
		c.Close()
	}
	readers.Wait()
	if err := history.Check(); err != nil {
		t.Error(err)
	}
	if history.Len() < 16 {
		t.Errorf("only %d leases were granted", history.Len())
	}
	clock.Advance(10 * time.Minute)
	acquire(t, open(t, dir, clock), oneMinute)
}

// racing are files without a lock, on which somebody else acts between a read and a write.
type racing struct {
	osFiles
	act func()
}

func (r racing) lock(context.Context, string, bool) (func(), error) { return func() {}, nil }

func (r racing) create(path string) (file, error) {
	r.act()
	return r.osFiles.create(path)
}

// TestHistoryFindsMissingLock is the negative control of TestManyProcesses.
func TestHistoryFindsMissingLock(t *testing.T) {
	dir := newDir(t)
	second, clock := create(t, dir)
	var history leasetest.History
	first, err := openOn(racing{act: func() {
		history.Granted(acquire(t, second, oneMinute))
	}}, dir, []Option{WithClock(clock.Now)})
	if err != nil {
		t.Fatal(err)
	}
	history.Granted(acquire(t, first, oneMinute))
	if err := history.Check(); err == nil {
		t.Error("two handles without a lock between them: nothing found")
	}
}
