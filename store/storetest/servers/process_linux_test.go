package servers

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const parentVariable = "SERVERS_TEST_PARENT"

// TestDiesWithParent kills a process that started another one, which dies too, also as one of another user.
func TestDiesWithParent(t *testing.T) {
	if user := os.Getenv(parentVariable); user != "" {
		cmd := exec.Command("sleep", "1000")
		if user != "same" {
			owner, err := credential([]string{user})
			if err != nil {
				t.Fatal(err)
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
		}
		p, err := StartProcess(cmd)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(p.Pid)
		select {}
	}
	for _, user := range []string{"same", "nobody"} {
		if user != "same" && os.Geteuid() != 0 {
			t.Skip("only root starts processes of other users")
		}
		parent := exec.Command("/proc/self/exe", "-test.run=^TestDiesWithParent$")
		parent.Env = append(os.Environ(), parentVariable+"="+user)
		out, err := parent.StdoutPipe()
		if err == nil {
			err = parent.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		pid, err := bufio.NewReader(out).ReadString('\n')
		parent.Process.Kill()
		parent.Wait()
		if _, invalid := strconv.Atoi(strings.TrimSpace(pid)); err != nil || invalid != nil {
			t.Fatalf("%s: process %q, %v", user, pid, err)
		}
		for state := "S"; state != "" && state != "Z"; state, _ = statOf("/proc/" + strings.TrimSpace(pid) + "/stat") {
			runtime.Gosched() // the test's own time limit says when that has taken too long
		}
	}
}

func TestProcess(t *testing.T) {
	p, err := StartProcess(exec.Command("false"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Err(); err == nil || err.Error() != "exit status 1" || !p.Ended() {
		t.Errorf("error %v, ended %v; want exit status 1, ended", err, p.Ended())
	}
	p.Kill()

	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = StartProcess(cmd); err != nil {
		t.Fatal(err)
	}
	if p.Ended() {
		t.Error("ended at once")
	}
	p.Kill()
	if err := p.Err(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("error %v, want that it was killed", err)
	}
	if _, err := io.WriteString(in, "x"); err == nil {
		t.Error("it still reads")
	}
	if _, err := StartProcess(exec.Command("/nonexistent")); err == nil {
		t.Error("no error for a program that does not exist")
	}
}
