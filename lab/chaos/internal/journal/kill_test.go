package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/randflake/randflake"
)

const killedEnv = "JOURNAL_OF_KILLED"

// TestKilled kills a process again and again while it makes IDs, and finds each of them that got
// out, and each that was made.
func TestKilled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "worker")
			cmd := exec.Command(exe, "-test.run=^TestKilledProcess$")
			cmd.Env = append(os.Environ(), killedEnv+"="+dir)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// After so many bytes the process is somewhere: anywhere.
			head := make([]byte, 1000+i*300_001)
			if _, err := out.Read(head[:1]); err != nil {
				t.Fatal(err)
			}
			n := 1
			for n < len(head) {
				m, err := out.Read(head[n:])
				if err != nil {
					t.Fatal(err)
				}
				n += m
			}
			cmd.Process.Kill()
			var rest bytes.Buffer
			rest.ReadFrom(out)
			cmd.Wait()
			checkKilled(t, dir, append(head, rest.Bytes()...))
		})
	}
}

// checkKilled compares the journal of a killed process with what it had passed on.
func checkKilled(t *testing.T, dir string, output []byte) {
	r := NewReader(dir)
	r.Dead()
	ids, written := readAll(t, r)
	wantNumbered(t, ids, len(ids))
	passedOn := (len(output) + 7) / 8 // the last one maybe in part
	for i := range len(output) / 8 {
		if got := binary.LittleEndian.Uint64(output[8*i:]); got != uint64(i) {
			t.Fatalf("output %d is %d", i, got)
		}
	}
	if written > len(output)/8 || passedOn > len(ids) {
		t.Errorf("%d IDs made, %d passed on, %d written: want made >= passed on >= written", len(ids), passedOn, written)
	}
	if len(ids)-written > 2*killedBatch {
		t.Errorf("%d IDs made, %d written: want no more than two batches between", len(ids), written)
	}
	events, err := r.Events()
	if err != nil || len(events) != 1 || events[0].Kind != Start || events[0].Worker != "killed" {
		t.Errorf("events %+v, error %v, want a start and no stop", events, err)
	}
}

const killedBatch = 100

// TestKilledProcess is what TestKilled runs in another process.
func TestKilledProcess(t *testing.T) {
	dir := os.Getenv(killedEnv)
	if dir == "" {
		return // it runs in a process of its own
	}
	w, err := Create(dir, "killed")
	if err != nil {
		t.Fatal(err)
	}
	s := w.Stream()
	for next := 0; ; {
		ids, err := s.Space(killedBatch)
		if err != nil {
			t.Fatal(err)
		}
		var output []byte
		for i := range ids {
			ids[i] = randflake.ID(next)
			output = binary.LittleEndian.AppendUint64(output, uint64(next))
			next++
		}
		s.Commit(len(ids))
		if _, err := os.Stdout.Write(output); err != nil {
			t.Fatal(err)
		}
		s.Written(len(ids))
	}
}
