// Package child starts processes that die when this one does, however that happens.
package child

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// A Child is a process.
type Child struct {
	*os.Process
	exited chan struct{} // closed when it is gone
	err    error         // how it went, then
}

// Start starts cmd. It adds to cmd.SysProcAttr what makes the child die with this process.
func Start(cmd *exec.Cmd) (*Child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	c := &Child{exited: make(chan struct{})}
	started := make(chan error)
	// The signal is sent when the thread ends that started the child, so that one must last as long.
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		c.Process = cmd.Process
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// Kill ends the child with SIGKILL if it runs, and returns when it is gone.
func (c *Child) Kill() {
	c.Process.Kill()
	<-c.exited
}

// Gone reports whether the child is gone.
func (c *Child) Gone() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// Err returns what exec.Cmd.Wait said of a child that is gone.
func (c *Child) Err() error {
	<-c.exited
	return c.err
}
