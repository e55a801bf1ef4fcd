//go:build unix

package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
)

// A Process is one that dies with the process that started it, however that ends, as far as the system can see to that.
type Process struct {
	*os.Process
	ended chan struct{} // closed when it has ended
	err   error         // how it ended, then
}

// StartProcess starts cmd. It adds to cmd.SysProcAttr what makes the process die with this one.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	diesWithParent(cmd.SysProcAttr)
	p := &Process{ended: make(chan struct{})}
	started := make(chan error)
	// The signal is sent when the thread ends that started the process, so that thread must last as long.
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		p.Process = cmd.Process
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Kill ends the process with SIGKILL if it runs, and returns when it has ended.
func (p *Process) Kill() {
	p.Process.Kill()
	<-p.ended
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Err waits until the process has ended, and returns what exec.Cmd.Wait said.
func (p *Process) Err() error {
	<-p.ended
	return p.err
}

// Ports for servers lie below those that systems give to outgoing connections, so that a server which is down for a while
// finds its own free again.
const firstPort, ports = 20000, 12000

var nextPort atomic.Uint32

func init() { nextPort.Store(rand.Uint32N(ports)) }

// FreePort returns a TCP port of 127.0.0.1 where nothing listens, and another one each time.
func FreePort() (int, error) {
	for range 1000 {
		port := firstPort + int(nextPort.Add(1)%ports)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("servers: no free port found")
}
