package engine

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// An echo answers each line with its name and the line, and notes it.
type echo struct {
	name  string
	lines chan string
	net.Listener
}

func startEcho(t *testing.T, name string) *echo {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	e := &echo{name, make(chan string, 10), listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go e.serve(conn)
		}
	}()
	return e
}

func (e *echo) serve(conn net.Conn) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		e.lines <- lines.Text()
		fmt.Fprintln(conn, e.name, lines.Text())
	}
}

// ask sends a line and returns the answer, or an error if there is none for a second.
func ask(conn net.Conn, line string) (string, error) { return askFor(conn, line, time.Second) }

func askFor(conn net.Conn, line string, timeout time.Duration) (string, error) {
	fmt.Fprintln(conn, line)
	conn.SetReadDeadline(time.Now().Add(timeout))
	return bufio.NewReader(conn).ReadString('\n')
}

func wantAnswer(t *testing.T, l *Link, line, want string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", l.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if got, err := askFor(conn, line, time.Minute); got != want+"\n" {
		t.Fatalf("answer %q, %v; want %q", got, err, want)
	}
	return conn
}

func TestLink(t *testing.T) {
	server := startEcho(t, "first")
	l, err := newLink(server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.close)
	conn := wantAnswer(t, l, "a", "first a")
	<-server.lines

	t.Run("Lose requests", func(t *testing.T) {
		must(t, l.Lose(Requests))
		if got, err := ask(conn, "b"); err == nil {
			t.Errorf("answer %q, want none", got)
		}
		must(t, l.Heal())
		wantAnswer(t, l, "c", "first c")
		if got := <-server.lines; got != "c" {
			t.Errorf("the server got %q first, want c: b must be lost", got)
		}
	})
	t.Run("Lose replies", func(t *testing.T) {
		conn := wantAnswer(t, l, "d", "first d")
		<-server.lines
		must(t, l.Lose(Replies))
		if got, err := ask(conn, "e"); err == nil {
			t.Errorf("answer %q, want none", got)
		}
		if got := <-server.lines; got != "e" {
			t.Errorf("the server got %q, want e", got)
		}
		must(t, l.Heal())
		conn.SetReadDeadline(time.Time{})
		if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the connection that lost a reply: %v, want EOF", err)
		}
		wantAnswer(t, l, "f", "first f")
		<-server.lines
	})
	t.Run("Delay", func(t *testing.T) {
		must(t, l.Delay(Replies, 300*time.Millisecond))
		began := time.Now()
		wantAnswer(t, l, "g", "first g")
		if took := time.Since(began); took < 300*time.Millisecond {
			t.Errorf("answer after %v, want 300ms or more", took)
		}
		must(t, l.Heal())
		<-server.lines
	})
	t.Run("Lead", func(t *testing.T) {
		conn := wantAnswer(t, l, "h", "first h")
		must(t, l.Lead(startEcho(t, "second").Addr().String()))
		if _, err := ask(conn, "i"); err == nil {
			t.Error("a connection to the first server still works")
		}
		wantAnswer(t, l, "j", "second j")
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
