package clock

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// offset is read by this process for good.
var offset atomic.Int64

func TestShift(t *testing.T) {
	before := time.Now()
	if err := Shift(&offset); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	for _, off := range []time.Duration{0, time.Hour, -time.Hour, 365 * 24 * time.Hour, 0} {
		offset.Store(int64(off / time.Second))
		now := time.Now()
		if got := now.Round(0).Sub(before.Round(0)) - off; got < 0 || got > time.Minute {
			t.Errorf("with the clock %v off it is %v, and was %v", off, now, before)
		}
		if passed := now.Sub(before); passed < 0 || passed > time.Minute {
			t.Errorf("with the clock %v off %v have passed by the monotonic clock", off, passed)
		}
	}
}

// TestShiftOther asks another process for the time, before and after.
func TestShiftOther(t *testing.T) {
	if os.Getenv("TELL_TIME") != "" {
		for scanner := bufio.NewScanner(os.Stdin); scanner.Scan(); {
			fmt.Println(time.Now().Unix())
		}
		os.Exit(0)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestShiftOther$")
	cmd.Env = append(os.Environ(), "TELL_TIME=yes")
	ask, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	told, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer ask.Close()
	answers := bufio.NewScanner(told)
	for _, off := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour} {
		if off != 0 {
			if err := ShiftOther(cmd.Process.Pid, off); errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintln(ask)
		if !answers.Scan() {
			t.Fatal("the process does not answer:", answers.Err())
		}
		second, err := strconv.ParseInt(answers.Text(), 10, 64)
		if got := time.Until(time.Unix(second, 0)) - off; err != nil || got.Abs() > time.Minute {
			t.Errorf("with the clock %v off it says %q, error %v", off, answers.Text(), err)
		}
	}
}
