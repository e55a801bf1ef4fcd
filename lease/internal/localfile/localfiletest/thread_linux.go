// Package localfiletest makes a test's system calls fail, or another user's.
package localfiletest

import (
	"os"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Fail makes a system call on a file fail with EIO whenever the calling test makes it from now on,
// SYS_FSYNC as on a broken disk. The kernel has a filter for that which it keeps for this goroutine's
// thread, and so until the test ends. Other goroutines call as ever.
func Fail(t *testing.T, call uint32) {
	t.Helper()
	runtime.LockOSThread() // never unlocked, so that no other goroutine gets the thread
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Skipf("can't filter system calls: %v", err)
	}
	_, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if failed != 0 {
		t.Skipf("can't filter system calls: %v", failed)
	}
	const noFile = ^uintptr(0)
	if _, _, failed := unix.Syscall(uintptr(call), noFile, 0, 0); failed != unix.EIO {
		t.Fatalf("a call that has to fail: %v, want EIO", failed)
	}
}

// Become makes the calling test another user's from now on, in a group besides the one with the
// user's number. It does so for this goroutine's thread, which ends with the test. 0 is root, and
// changes nothing.
func Become(t *testing.T, user, group int) {
	t.Helper()
	if user == 0 {
		return
	}
	runtime.LockOSThread() // never unlocked, so that no other goroutine gets the thread
	groups := []uint32{uint32(group)}
	id := uintptr(user)
	_, _, failed := unix.RawSyscall(unix.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&groups[0])), 0)
	if failed == 0 {
		_, _, failed = unix.RawSyscall(unix.SYS_SETRESGID, id, id, id)
	}
	if failed == 0 {
		_, _, failed = unix.RawSyscall(unix.SYS_SETRESUID, id, id, id)
	}
	if failed != 0 {
		t.Skipf("can't become another user: %v", failed)
	}
}

// TempDir is the test's TempDir, but in directories that are open to every user.
func TempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
