package child

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestMain is a parent that has a child and waits to be killed, where a test asks for one.
func TestMain(m *testing.M) {
	if os.Getenv("CHILD_TEST_PARENT") != "" {
		c, err := Start(exec.Command("cat"))
		if err == nil {
			fmt.Println(c.Pid)
		}
		select {}
	}
	os.Exit(m.Run())
}

func TestChildDiesWithParent(t *testing.T) {
	parent := exec.Command("/proc/self/exe")
	parent.Env = append(os.Environ(), "CHILD_TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	parent.Process.Kill()
	parent.Wait()
	for running(strings.TrimSpace(pid)) {
		runtime.Gosched() // the test's own time limit says when that has taken too long
	}
}

// running reports whether a process runs; one that has ended may wait for somebody to notice.
func running(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestChild(t *testing.T) {
	c, err := Start(exec.Command("false"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Err(); err == nil || err.Error() != "exit status 1" || !c.Gone() {
		t.Errorf("error %v, gone %v; want exit status 1, gone", err, c.Gone())
	}
	c.Kill()

	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Start(cmd); err != nil {
		t.Fatal(err)
	}
	if c.Gone() {
		t.Error("gone at once")
	}
	c.Kill()
	if err := c.Err(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("error %v, want that it was killed", err)
	}
	if _, err := io.WriteString(in, "x"); err == nil {
		t.Error("it still reads")
	}
	if _, err := Start(exec.Command("/nonexistent")); err == nil {
		t.Error("no error for a program that does not exist")
	}
}
