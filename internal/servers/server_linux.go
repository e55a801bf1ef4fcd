package servers

import "syscall"

// diesWithParent makes the system kill the process when the thread that starts it ends.
func diesWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
