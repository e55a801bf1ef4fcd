package server

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"connectrpc.com/connect"
)

const maxMessage = 4 << 10 // bytes; the largest message has some names and a label

// contentType is Content-Type of the protocol. Connect's answer to any other one, such as that of
// curl -d, would be empty.
var contentType = regexp.MustCompile(`(?i)^application/(json|proto|grpc(-web)?(\+json|\+proto)?) *(;|$)`)

// readMessage reads the body of a call, which is one message, before connect does. Of a large body
// connect would say that a limit is reached, and of a broken one that the service is at fault.
func readMessage(r *http.Request, _ *call) error {
	sent := r.Header.Get("Content-Type")
	if r.Method == http.MethodPost && !contentType.MatchString(sent) {
		return coded(connect.CodeInvalidArgument,
			"Content-Type %.100q: want application/json, application/proto, or that of gRPC", sent)
	}
	_, isProcedure := needs[r.URL.Path]
	if !isProcedure { // it is a stream, which describes the protocol
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return coded(connect.CodeInvalidArgument, "the body is too large: want a message of at most %d bytes", maxMessage)
	}
	if err != nil {
		return coded(connect.CodeInvalidArgument, "the body can't be read: %v", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// compression lets calls have compressed messages. Answers are not compressed.
var compression = connect.WithCompression("gzip",
	func() connect.Decompressor { return new(gunzip) },
	func() connect.Compressor { return gzip.NewWriter(io.Discard) })

// A gunzip decompresses one message, to at most maxMessage bytes.
type gunzip struct {
	gzip.Reader
	left int // bytes that the message may still have
}

func (g *gunzip) Reset(message io.Reader) error {
	g.left = maxMessage
	return g.Reader.Reset(message)
}

func (g *gunzip) Read(into []byte) (int, error) {
	n, err := g.Reader.Read(into)
	g.left -= n
	if g.left < 0 {
		return 0, fmt.Errorf("want a message of at most %d bytes", maxMessage)
	}
	return n, err
}
