package service

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// A connection makes the same call again and again. The request is written once, and of answers nobody looks at more than
// he must, so that callers take little of the processors that they share with what is measured.
type connection struct {
	conn    net.Conn
	request []byte
	answers *bufio.Reader
	read    func(answers *bufio.Reader, body io.Writer) error
}

// dial returns a connection, which is closed when ctx ends.
func dial(ctx context.Context, address string, request []byte, read func(*bufio.Reader, io.Writer) error) (*connection, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	return &connection{conn, request, bufio.NewReaderSize(conn, 64<<10), read}, nil
}

// call makes the call, and writes the body of the answer to body.
func (c *connection) call(body io.Writer) error {
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	return c.read(c.answers, body)
}

// post returns a request.
func post(address, path, contentType, token string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", path, address, contentType, token, len(body))
	b.Write(body)
	return b.Bytes()
}

// readHTTP reads an answer, which is to be 200.
func readHTTP(answers *bufio.Reader, body io.Writer) error {
	response, err := http.ReadResponse(answers, nil)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(response.Body)
		return fmt.Errorf("%s: %.200s", response.Status, why)
	}
	_, err = io.Copy(body, response.Body)
	return err
}

// readRESP reads a number as Redis answers with.
func readRESP(answers *bufio.Reader, body io.Writer) error {
	line, err := answers.ReadString('\n')
	if err != nil {
		return err
	}
	number, ok := strings.CutPrefix(line, ":")
	if !ok {
		return fmt.Errorf("redis: %.200q", line)
	}
	_, err = io.WriteString(body, number)
	return err
}
