package servers

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// diesWithParent makes the system kill the process when the thread that starts it ends.
func diesWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// waitStopped waits until a child has stopped, with all its threads.
func waitStopped(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err
		}
	}
}
