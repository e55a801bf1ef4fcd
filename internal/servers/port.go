package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
)

// Ports for servers lie below those that systems give to outgoing connections, so that a server which is down for a while
// finds its own free again.
const firstPort, ports = 20000, 12000

var nextPort atomic.Uint32

func init() { nextPort.Store(rand.Uint32N(ports)) }

// FreePort returns a TCP port of 127.0.0.1 where nothing listens, and another one each time.
func FreePort() (int, error) {
	for range 1000 {
		port := firstPort + int(nextPort.Add(1)%ports)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("servers: no free port found")
}
