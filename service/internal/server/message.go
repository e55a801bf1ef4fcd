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

const maxMessage = 4 << 10 // bytes; the largest has some names and a label

// contentType is one of the protocol's. To another one, such as that of curl -d, connect's answer would be empty.
var contentType = regexp.MustCompile(`(?i)^application/(json|proto$|grpc)`)

// readMessage reads the body of a call, which is one message, before connect does: for connect a large one would be a limit that is
// reached, and a broken one a fault of the service.
func readMessage(r *http.Request, _ *call) error {
	if sent := r.Header.Get("Content-Type"); r.Method == http.MethodPost && !contentType.MatchString(sent) {
		return coded(connect.CodeInvalidArgument, "Content-Type %.100q: want application/json, application/proto, or that of gRPC", sent)
	}
	if rights[r.URL.Path] == "" {
		return nil // the description of the protocol has a stream of messages
	}
	body, err := io.ReadAll(r.Body)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return coded(connect.CodeInvalidArgument, "the body is too large: want a message of at most %d bytes", maxMessage)
	}
	if err != nil {
		return coded(connect.CodeInvalidArgument, "the body can't be read: %v", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// A gunzip decompresses a message, which has no more room than one that is sent as it is.
type gunzip struct {
	gzip.Reader
	left int
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

// compression lets calls have compressed messages. Answers are not compressed.
var compression = connect.WithCompression("gzip",
	func() connect.Decompressor { return new(gunzip) },
	func() connect.Compressor { return gzip.NewWriter(io.Discard) })
