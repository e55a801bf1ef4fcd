package servers

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"
)

// startEcho starts a server that answers each line by itself, and returns its address.
func startEcho(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go each(conn, conn, func(line []byte) bool {
				_, err := conn.Write(line)
				return err == nil
			})
		}
	}()
	return listener.Addr().String()
}

func TestProxy(t *testing.T) {
	p, err := StartProxy(startEcho(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var conn net.Conn
	var in *bufio.Reader
	dial := func() {
		if conn, err = net.Dial("tcp", p.Addr()); err != nil {
			t.Fatal(err)
		}
		in = bufio.NewReader(conn)
	}
	ask := func(line string) (string, error) {
		fmt.Fprintln(conn, line)
		return in.ReadString('\n')
	}
	want := func(line string) {
		t.Helper()
		if got, err := ask(line); got != line+"\n" || err != nil {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
	dial()
	p.LoseReply("two")
	want("one")
	if p.Lost() || p.Requests() != 1 {
		t.Errorf("lost %v, %d requests; want none lost of one", p.Lost(), p.Requests())
	}
	if got, err := ask("two"); err == nil || !p.Lost() || p.Requests() != 2 {
		t.Errorf("%q, %v, lost %v, %d requests; want the reply to the second lost", got, err, p.Lost(), p.Requests())
	}
	dial()
	want("two")
	p.Mute(true)
	conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if got, err := ask("three"); err == nil {
		t.Errorf("muted: %q", got)
	}
	p.Mute(false)
	p.Cut()
	conn.SetReadDeadline(time.Time{})
	if got, err := ask("four"); err == nil {
		t.Errorf("cut: %q", got)
	}
	dial()
	want("five")
	p.Close()
	if got, err := ask("six"); err == nil {
		t.Errorf("closed: %q", got)
	}
}
