package vmgen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// page returns a page as a device has it, with what change makes of it.
func page(t *testing.T, change func(page []byte)) (path string) {
	p := make([]byte, os.Getpagesize())
	word := binary.LittleEndian
	word.PutUint32(p, pageMagic)
	word.PutUint32(p[atSize:], uint32(len(p)))
	word.PutUint64(p[atFlags:], counterThere)
	word.PutUint64(p[atCounter:], 7)
	change(p)
	path = filepath.Join(t.TempDir(), "vmclock0")
	if err := os.WriteFile(path, p, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMapped: the counter is seen to change through the mapping, and what is not such a page is no counter.
func TestMapped(t *testing.T) {
	path := page(t, func([]byte) {})
	c := mapped(path)
	if c == nil {
		t.Fatal("no counter")
	}
	m := Of(c)
	if m.Stale() || !m.Detects() {
		t.Error("stale before any change, or not detected")
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{8}, atCounter); err != nil {
		t.Fatal(err)
	}
	if !m.Stale() {
		t.Error("not stale after the counter has changed")
	}
	for name, change := range map[string]func([]byte){
		"another magic": func(p []byte) { p[0]++ },
		"shorter":       func(p []byte) { binary.LittleEndian.PutUint32(p[atSize:], atCounter) },
		"no counter":    func(p []byte) { p[atFlags+1] = 0 },
	} {
		if mapped(page(t, change)) != nil {
			t.Errorf("%s: there is a counter", name)
		}
	}
	if mapped(filepath.Join(t.TempDir(), "missing")) != nil {
		t.Error("a counter without a device")
	}
}

// TestListenInBubble: time goes on in a bubble with a listener, on every machine.
func TestListenInBubble(t *testing.T) {
	defer Pretend(&uevents)()
	synctest.Test(t, func(t *testing.T) {
		defer Listen()()
		time.Sleep(time.Hour)
	})
}

// TestListenWhileAsked: there is one socket while at least one caller wants to know, what arrives there is counted, and it is closed when
// the last one is through. Each stop counts once.
func TestListenWhileAsked(t *testing.T) {
	defer Pretend(&uevents)()
	l := &listening
	for range 2 {
		first, second := Listen(), Listen()
		if l.callers != 2 {
			t.Errorf("%d callers, want 2", l.callers)
		}
		socket := l.socket
		if socket == nil {
			t.Skip("no socket for uevents here")
		}

		first()
		first()
		if l.callers != 1 {
			t.Errorf("%d callers after one has stopped, want 1", l.callers)
		}
		before := uevents.Load()
		if err := announce(socket); err != nil {
			t.Log("can't send uevents here:", err)
		} else {
			for uevents.Load() == before {
				time.Sleep(time.Millisecond)
			}
		}

		second()
		if _, err := socket.Read(make([]byte, 1)); l.callers != 0 || !errors.Is(err, os.ErrClosed) {
			t.Errorf("all have stopped: %d callers, and the socket: %v", l.callers, err)
		}
	}
}

// announce sends a socket what the kernel sends in a copy.
func announce(to *os.File) error {
	raw, err := to.SyscallConn()
	if err != nil {
		return err
	}
	var address unix.Sockaddr
	var named error
	err = raw.Control(func(fd uintptr) { address, named = unix.Getsockname(int(fd)) })
	if err = errors.Join(err, named); err != nil {
		return err
	}
	receiver := address.(*unix.SockaddrNetlink).Pid

	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	message := []byte("change@/devices/x\x00NEW_VMGENID=1\x00")
	return unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: receiver})
}

// TestListenElsewhere: where uevents don't tell of copies, nobody listens.
func TestListenElsewhere(t *testing.T) {
	var counter atomic.Uint64
	defer Pretend(&counter)()
	if Listen()(); listening.callers != 0 {
		t.Error("somebody listened")
	}
	stop := Listen()
	defer stop()
	if listening.callers != 0 {
		t.Error("somebody listens")
	}
}

// A machine without a device is never copied, and Pretend ends with undo.
func TestNever(t *testing.T) {
	never := Of(nil)
	if never.Detects() || never.Stale() {
		t.Error("a machine without a device detects copies, or is one")
	}
	var counter atomic.Uint64
	undo := Pretend(&counter)
	now := Now()
	undo()
	if counter.Add(1); !now.Stale() || !now.Detects() || Now().Stale() {
		t.Error("the pretended machine was not copied, or the real one was")
	}
}

// TestListen sends itself what the kernel sends, and gets from the kernel what has nothing to do with copies.
func TestListen(t *testing.T) {
	if socket := dial(); socket == nil {
		t.Log("no socket for uevents here")
	} else {
		socket.Close()
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	in, out := os.NewFile(uintptr(fds[0]), "in"), os.NewFile(uintptr(fds[1]), "out")
	var copies atomic.Uint64
	done := make(chan bool)
	go func() { listen(out, &copies); close(done) }()
	const device = "change@/devices/platform/VMGENCTR:00\x00ACTION=change\x00"
	for _, message := range []string{device, device + "NEW_VMGENID=1\x00SEQNUM=1\x00", device + "SYNTH_ARG_NEW_VMGENID=1\x00", "add@/devices/x\x00"} {
		fmt.Fprint(in, message)
	}
	for copies.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	in.Close()
	out.Close()
	if <-done; copies.Load() != 1 {
		t.Errorf("%d copies counted, want 1", copies.Load())
	}
}
