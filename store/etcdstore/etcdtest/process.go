package etcdtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// variable is the environment variable that makes Main run the member which it describes.
const variable = "ETCDTEST_MEMBER"

// readyLine is what a process says when its member serves clients.
const readyLine = "ready"

// A Process is a process that runs a member.
type Process struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// StartProcess runs this program again, as a process in which [Main] runs the member, and returns
// when that serves clients. It must not run already. The process ends when this one does.
func (m *Member) StartProcess() (*Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("etcdtest: %w", err)
	}
	description, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("etcdtest: %w", err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), variable+"="+string(description))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("etcdtest: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("etcdtest: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("etcdtest: %w", err)
	}
	p := &Process{cmd, stdin}
	if line, _ := bufio.NewReader(stdout).ReadString('\n'); line != readyLine+"\n" {
		p.Kill()
		return nil, fmt.Errorf("etcdtest: %s: the process does not run the member, which is said above: does it call Main first?", m.Name)
	}
	return p, nil
}

// Pid returns the id of the process, for signals of other kinds.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Kill ends the process as kill -9 does.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// Stop ends the process in good order.
func (p *Process) Stop() error {
	p.stdin.Close()
	return p.cmd.Wait()
}

// Main must be the first thing that a program which uses StartProcess does, in main or TestMain.
// In a process that StartProcess made it runs the member in the foreground until standard input
// ends, and does not return. In any other it returns at once.
func Main() {
	description, ok := os.LookupEnv(variable)
	if !ok {
		return
	}
	if err := foreground(description); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func foreground(description string) error {
	var m Member
	if err := json.Unmarshal([]byte(description), &m); err != nil {
		return fmt.Errorf("etcdtest: environment variable %s: %w", variable, err)
	}
	if err := m.Start(); err != nil {
		return err
	}
	defer m.Stop()
	fmt.Println(readyLine)
	over := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	select {
	case <-over:
		return nil
	case err := <-m.server.Err():
		return fmt.Errorf("etcdtest: %s: %w", m.Name, err)
	}
}
