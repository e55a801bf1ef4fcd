//go:build unix && !linux

package engines

import "syscall"

func diesWithParent(*syscall.SysProcAttr) {}
