//go:build unix

package servers

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// An Etcd is etcd with one member, in a process of its own: the program of lab/etcd/etcd, which StartEtcd builds, so that
// only lab requires etcd's server.
type Etcd struct {
	Addr string // host and port
	cmd  *exec.Cmd
	stop io.Closer
}

// StartEtcd starts etcd with its data in dir, and waits until it answers.
func StartEtcd(dir string) (*Etcd, error) {
	_, file, _, _ := runtime.Caller(0)
	program := filepath.Clean(dir) + "-program"
	build := exec.Command("go", "build", "-o", program, "./etcd/etcd")
	build.Dir = filepath.Join(filepath.Dir(file), "../../lab")
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build of etcd: %w\n%s", err, out)
	}
	e := &Etcd{cmd: exec.Command(program, dir)}
	e.cmd.Stderr = os.Stderr
	stdin, err := e.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	e.stop = stdin
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	e.Addr = strings.TrimSpace(addr)
	return e, err
}

// Kill ends etcd. It does nothing where e is nil.
func (e *Etcd) Kill() error {
	if e == nil {
		return nil
	}
	e.stop.Close()
	return e.cmd.Wait()
}
