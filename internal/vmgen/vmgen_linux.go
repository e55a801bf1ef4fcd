package vmgen

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/randflake/randflake/internal/coarse"
)

// find returns the counter of this machine, or nil.
func find() *atomic.Uint64 {
	if c := mapped("/dev/vmclock0"); c != nil {
		return c
	}
	found, _ := filepath.Glob("/sys/bus/*/drivers/vmgenid/*[:.]*")
	if len(found) == 0 {
		return nil
	}
	socket := dial()
	if socket == nil {
		return nil // as no copy would be noticed
	}
	socket.Close()
	return &uevents
}

// uevents counts what the driver of VMGENID announces.
var uevents atomic.Uint64

// listen counts uevents, where VMGENID is what tells of copies. In a testing/synctest bubble it
// does nothing, as time would stand still there while a goroutine waits for the kernel.
func listen() (stop func()) {
	if counter() != &uevents || coarse.InBubble(time.Now()) {
		return func() {}
	}
	return kernel.listen()
}

var kernel = listener{dial: dial, copies: &uevents}

// A listener has a socket while somebody listens.
type listener struct {
	dial   func() *os.File // returns nil where that is not allowed
	copies *atomic.Uint64

	mu      sync.Mutex
	callers int // how many have called listen and not yet stop
	socket  *os.File
}

func (l *listener) listen() (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.callers++
	if l.callers == 1 {
		l.socket = l.dial()
		if l.socket != nil {
			go count(l.socket, l.copies)
		}
	}
	return l.stop
}

func (l *listener) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.callers--
	if l.callers == 0 && l.socket != nil {
		l.socket.Close()
	}
}

// dial opens a socket for uevents of the kernel, or returns nil where that is not allowed.
func dial() *os.File {
	const kind = unix.SOCK_RAW | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	fd, err := unix.Socket(unix.AF_NETLINK, kind, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1}); err != nil {
		unix.Close(fd)
		return nil
	}
	return os.NewFile(uintptr(fd), "uevents")
}

// count counts copies until the socket is closed. Messages that were lost, as the socket's buffer was
// full, may have told of one.
func count(socket io.Reader, copies *atomic.Uint64) {
	message := make([]byte, 16<<10)
	for {
		n, err := socket.Read(message)
		lost := errors.Is(err, unix.ENOBUFS)
		if err != nil && !lost {
			return
		}
		if lost || bytes.Contains(message[:n], []byte("\x00NEW_VMGENID=1\x00")) {
			copies.Add(1)
		}
	}
}
