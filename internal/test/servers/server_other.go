//go:build unix && !linux

package servers

import "syscall"

func diesWithParent(*syscall.SysProcAttr) {}

func waitStopped(int) error { return nil }
