package server

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/service/client/wire"
	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/config"
)

// Bounds of one call.
const (
	maxMessage   = 4 << 10          // bytes; the largest has some names and a label
	maxBatch     = 1 << 16          // IDs or numbers that are made
	maxRun       = 1_000_000_000    // numbers that are taken, and not made
	callTimeout  = 10 * time.Second // for a call to be answered
	strangerTime = 5 * time.Second  // for strangers to send a body and read the answer
)

// bounded limits the requests of each principal, and of all strangers together, that are under way: each connection may have a
// hundred, and send half a body or read no answer. More of them get a header alone, which waits for no reader, and lose their
// connection: what it holds needs no room, and who comes back has to connect first.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, c := s.identify(r)
		places := s.usage.Places(c.principal)
		if !places.TryAcquire(1) {
			w.Header().Set("Connection", "close")
			status := http.StatusTooManyRequests
			if c.unknown != nil {
				status = http.StatusServiceUnavailable
			}
			w.WriteHeader(status)
			return
		}
		defer places.Release(1)
		if c.unknown != nil {
			answer := http.NewResponseController(w)
			end := time.Now().Add(strangerTime)
			answer.SetReadDeadline(end)
			answer.SetWriteDeadline(end)
			defer answer.Flush()
		}
		next.ServeHTTP(w, r)
	})
}

// contentType is one of the protocol's. To another one, such as that of curl -d, connect's answer would be empty.
var contentType = regexp.MustCompile(`(?i)^application/(json|proto$|grpc)`)

// readMessage reads the body of a call, which is one message, before connect does: for connect a large one would be a limit that is
// reached, and a broken one a fault of the service.
func readMessage(r *http.Request) error {
	if sent := r.Header.Get("Content-Type"); r.Method == http.MethodPost && !contentType.MatchString(sent) {
		return invalid("Content-Type %.100q: want application/json, application/proto, or that of gRPC", sent)
	}
	if !isCall(r) {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return invalid("the body can't be read: %v: want a message of at most %d bytes", err, maxMessage)
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

// counted counts a call in a space, or in none, and returns an error if there were too many within a second.
func (s *Server) counted(c *call, name string, limits config.Limits) error {
	perSecond := cmp.Or(limits.Rate, config.DefaultRate)
	if s.usage.Call(c.principal, name, perSecond, max(1, int(perSecond))) {
		return nil
	}
	return fmt.Errorf("more than %v calls a second: slow down, or raise the limit called rate", perSecond)
}

// batch returns how many IDs or numbers a call asks for, once there is room for them in answers that were not written yet.
func (s *Server) batch(ctx context.Context, c *call, asked uint32) (uint64, error) {
	count := uint64(max(asked, 1))
	if count > maxBatch {
		return 0, invalid("count %d: want 1 to %d", count, maxBatch)
	}
	if limit := cmp.Or(c.limits.Batch, config.DefaultBatch); count > limit {
		return 0, s.over(c, "count", count, limit)
	}
	written, err := s.usage.Answer(ctx, c.principal, int64(count))
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, connect.NewError(connect.CodeResourceExhausted, errors.New("too many answers were not read yet: read them, ask for fewer IDs or numbers at a time, or try again"))
	}
	if err == nil {
		c.written = written
	}
	return count, err
}

// over is the error of a call that asks for more than a rule allows.
func (s *Server) over(c *call, what string, asked, most uint64) error {
	err := fmt.Errorf("%w: %w", access.ErrDenied, &wire.LimitError{What: what, Asked: asked, Limit: most})
	s.deny(c.caller, c.in.Name, "why", err.Error())
	return connect.NewError(connect.CodePermissionDenied, err)
}

func invalid(format string, args ...any) error {
	return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf(format, args...))
}
