package vmgen

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/randflake/randflake/internal/test/require"
)

// page returns a file with a page as a device has it, changed by change.
func page(t *testing.T, change func(page []byte)) (path string) {
	p := make([]byte, os.Getpagesize())
	word := binary.LittleEndian
	word.PutUint32(p, pageMagic)
	word.PutUint32(p[atSize:], atCounter+sizeOfCounter)
	word.PutUint64(p[atFlags:], counterThere)
	word.PutUint64(p[atCounter:], 7)
	change(p)
	path = filepath.Join(t.TempDir(), "vmclock0")
	require.NoError(t, os.WriteFile(path, p, 0o600))
	return path
}

// TestMapped: the counter is seen to change through the mapping, and what is not such a page is no counter.
func TestMapped(t *testing.T) {
	path := page(t, func([]byte) {})
	c := mapped(path)
	require.Must(t, c != nil, "no counter")
	m := Of(c)
	require.That(t, !m.Stale() && m.Detects(), "stale before any change, or not detected")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	require.Done(t)(f.WriteAt([]byte{8}, atCounter))
	require.That(t, m.Stale(), "not stale after the counter has changed")
	for name, change := range map[string]func([]byte){
		"another magic": func(p []byte) { p[0]++ },
		"shorter":       func(p []byte) { binary.LittleEndian.PutUint32(p[atSize:], atCounter+sizeOfCounter-1) },
		"no counter":    func(p []byte) { p[atFlags+1] = 0 },
	} {
		require.That(t, mapped(page(t, change)) == nil, "%s: there is a counter", name)
	}
	require.That(t, mapped(filepath.Join(t.TempDir(), "missing")) == nil, "a counter without a device")
}

// TestGeneration: a generation is stale once its counter has changed, and without a counter never.
func TestGeneration(t *testing.T) {
	var machine atomic.Uint64
	undo := Pretend(&machine)
	before := Now()
	machine.Add(1)
	after := Now()
	undo()
	require.That(t, before.Stale() && !after.Stale() && before.Detects(),
		"stale %v before, %v after, detected %v", before.Stale(), after.Stale(), before.Detects())
	require.That(t, counter() != &machine, "still pretended after undo")
	if none := Of(nil); none.Stale() || none.Detects() {
		t.Errorf("without a counter: stale %v, detected %v", none.Stale(), none.Detects())
	}
}

// TestListenInBubble: time goes on in a bubble with a listener, on every machine.
func TestListenInBubble(t *testing.T) {
	defer Pretend(&uevents)()
	synctest.Test(t, func(t *testing.T) {
		defer Listen()()
		time.Sleep(time.Hour)
	})
	stop := Listen()
	require.That(t, kernel.callers == 1 && Listeners() == 1, "no listener outside of a bubble")
	stop()
	stop()
	require.That(t, kernel.callers == 0 && Listeners() == 0, "a listener after stop")
}

const changed = "change@/devices/platform/VMGENCTR:00\x00ACTION=change\x00"

// sent are messages and errors in the order in which a socket returns them.
type sent []any

func (s *sent) Read(to []byte) (n int, err error) {
	next := (*s)[0]
	*s = (*s)[1:]
	if err, ok := next.(error); ok {
		return 0, err
	}
	return copy(to, next.(string)), nil
}

// TestCount tells what announces a copy from what has nothing to do with it.
func TestCount(t *testing.T) {
	for _, c := range []struct {
		message any
		copies  uint64
	}{
		{changed, 0},
		{changed + "NEW_VMGENID=1\x00SEQNUM=1\x00", 1},
		{changed + "SYNTH_ARG_NEW_VMGENID=1\x00", 0},
		{"add@/devices/x\x00", 0},
		{unix.ENOBUFS, 1},
	} {
		var copies atomic.Uint64
		count(&sent{c.message, "add@/devices/x\x00", io.EOF}, &copies)
		require.Equal(t, copies.Load(), c.copies, "%q: copies", c.message)
	}
}

// TestListener has one socket while anyone listens.
func TestListener(t *testing.T) {
	var copies atomic.Uint64
	var kernel *os.File
	dialed := 0
	l := listener{copies: &copies, dial: func() *os.File {
		dialed++
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0)
		require.NoError(t, err)
		kernel = os.NewFile(uintptr(fds[0]), "kernel")
		return os.NewFile(uintptr(fds[1]), "uevents")
	}}
	announce := func(want uint64) {
		fmt.Fprint(kernel, changed+"NEW_VMGENID=1\x00")
		for copies.Load() != want {
			time.Sleep(time.Millisecond)
		}
	}
	for round := range 2 {
		first, second := l.listen(), l.listen()
		require.Must(t, dialed == round+1, "%d sockets in round %d", dialed, round)
		announce(copies.Load() + 1)
		first()
		announce(copies.Load() + 1)
		second()
		for {
			_, err := fmt.Fprint(kernel, "x")
			if err != nil { // the other end is closed
				break
			}
			time.Sleep(time.Millisecond)
		}
		kernel.Close()
	}
	l.dial = func() *os.File { return nil } // as in a container that may not
	l.listen()()
	require.Equal(t, copies.Load(), 4, "copies")
}

// TestDial: the socket gets what the kernel announces, and no program that this one starts inherits it.
func TestDial(t *testing.T) {
	socket := dial()
	if socket == nil {
		t.Skip("no socket for uevents here")
	}
	defer socket.Close()
	raw, err := socket.SyscallConn()
	require.NoError(t, err)
	raw.Control(func(fd uintptr) {
		protocol, _ := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PROTOCOL)
		address, err := unix.Getsockname(int(fd))
		netlink, ok := address.(*unix.SockaddrNetlink)
		require.That(t, protocol == unix.NETLINK_KOBJECT_UEVENT && ok && netlink.Groups == 1,
			"protocol %d, %+v, %v", protocol, address, err)
		flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0)
		require.That(t, flags == unix.FD_CLOEXEC && err == nil, "flags %d, %v", flags, err)
	})
}
