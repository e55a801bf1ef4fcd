package leasetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
)

const killedEnv = "RANDFLAKE_LEASETEST_KILLED"

// Main is the TestMain of an engine without a server. A process that [RunKilled] started raises a counter until it is killed, and
// prints what was acknowledged.
func Main[E lease.Engine](m *testing.M, connect func(where string) (E, error)) {
	if where := os.Getenv(killedEnv); where != "" {
		e, err := connect(where)
		for number := 0; err == nil; {
			expect := Entry("counter", "")
			if number > 0 {
				expect = Entry("counter", fmt.Sprint(number))
			}
			var a lease.Answer
			if a, err = e.Swap(context.Background(), expect, Entry("counter", fmt.Sprint(number+1))); a.Swapped {
				number++
				fmt.Println(number)
			} else if err == nil {
				fmt.Sscan(string(a.Entries[0].Value), &number)
			}
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// RunKilled has two processes on one store at any time, each killed at some moment. e is a handle on it that has put one entry.
func RunKilled(t *testing.T, e lease.Engine, where string) {
	const processes = 16
	var outputs []string
	end := func() {}
	for i := range processes {
		name := filepath.Join(t.TempDir(), "output")
		output, err := os.Create(name)
		wantErr(t, "Create", err, nil)
		defer output.Close()
		outputs = append(outputs, name)
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), killedEnv+"="+where), output, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Skip("tests can't start themselves here: ", err)
		}
		for text := []byte(nil); len(text) == 0; time.Sleep(time.Millisecond) { // until it has made a number
			text, _ = os.ReadFile(name)
		}
		time.Sleep(time.Duration(5*i) * time.Millisecond)
		end()
		end = func() { cmd.Process.Kill(); cmd.Wait() }
	}
	end()
	seen := map[string]bool{}
	for _, name := range outputs {
		text, err := os.ReadFile(name)
		wantErr(t, "ReadFile", err, nil)
		for number := range strings.Lines(string(text)) {
			if seen[number] {
				t.Errorf("%s was acknowledged twice", number)
			}
			seen[number] = true
		}
	}
	value, found := Get(t, e, "counter")
	number := 0
	if fmt.Sscan(value, &number); number < len(seen) || number > len(seen)+processes || found.Position != uint64(number+1) {
		t.Errorf("the counter is at %d, position %d, after %d numbers", number, found.Position, len(seen))
	}
}
