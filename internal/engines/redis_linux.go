package engines

import (
	"os/exec"
	"syscall"
)

// diesWithParent makes the system kill cmd when the thread that starts it ends.
func diesWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
