package server

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/randflake/randflake/service/api/randflake/v1/randflakev1connect"
)

// newShortPaths returns a handler of the paths that the protocol's annotations give to procedures, for use with curl.
func newShortPaths(calls http.Handler) http.Handler {
	asJSON := vanguard.WithTargetCodecs(vanguard.CodecJSON) // which is passed on as it is
	paths, err := vanguard.NewTranscoder([]*vanguard.Service{
		vanguard.NewService(randflakev1connect.IDServiceName, calls, asJSON),
		vanguard.NewService(randflakev1connect.CounterServiceName, calls, asJSON),
	}, vanguard.WithCodec(func(vanguard.TypeResolver) vanguard.Codec { return shortCodec{} }))
	if err != nil {
		panic(err) // the annotations are wrong
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkShort(r); err != nil {
			refuse(w, err)
			return
		}
		short := r.WithContext(r.Context())                                       // a copy
		short.URL = &url.URL{Path: r.URL.EscapedPath(), RawQuery: r.URL.RawQuery} // the transcoder decodes parts of the path
		short.Header = maps.Clone(r.Header)
		short.Header.Del("Content-Type") // which curl -d sets, even without a body
		if r.Method == http.MethodPost && strings.HasPrefix(r.Header.Get("Accept"), "text/plain") {
			w = lines{w}
		}
		paths.ServeHTTP(w, short)
	})
}

// checkShort refuses what the transcoder would report as an internal error, or would take in place of a name in the path.
func checkShort(r *http.Request) error {
	want := []string{"count", "form"}
	switch {
	case r.Method != http.MethodPost:
		want = []string{"number"}
	case strings.HasPrefix(r.URL.Path, "/v1/counters/"):
		want = want[:1]
	}
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	for name := range parameters {
		if !slices.Contains(want, name) {
			return fmt.Errorf("parameter %.100q: want one of %q", name, want)
		}
	}
	if n, _ := io.Copy(io.Discard, r.Body); n > 0 {
		return errors.New("a body: want none, and parameters in the URL")
	}
	if !utf8.ValidString(r.URL.Path) {
		return errors.New("path: want UTF-8")
	}
	return nil
}

// refuse answers in the way in which a procedure answers to an invalid argument.
func refuse(w http.ResponseWriter, err error) {
	connect.NewErrorWriter().Write(w, new(http.Request), connect.NewError(connect.CodeInvalidArgument, err))
}

// A shortCodec writes errors in the same form as package connect.
type shortCodec struct{ vanguard.JSONCodec }

func (c shortCodec) MarshalAppend(b []byte, message proto.Message) ([]byte, error) {
	failed, ok := message.(*status.Status)
	if !ok {
		return c.JSONCodec.MarshalAppend(b, message)
	}
	sent := connect.NewError(connect.Code(failed.Code), errors.New(failed.Message))
	for _, one := range failed.Details {
		if detail, err := connect.NewErrorDetail(one); err == nil {
			sent.AddDetail(detail)
		}
	}
	body := bodyWriter{bytes.NewBuffer(b), http.Header{}}
	err := connect.NewErrorWriter().Write(body, new(http.Request), sent)
	return body.Bytes(), err
}

// A bodyWriter keeps the body of an answer alone.
type bodyWriter struct {
	*bytes.Buffer
	header http.Header
}

func (b bodyWriter) Header() http.Header { return b.header }
func (b bodyWriter) WriteHeader(int)     {}

// lines writes the IDs or numbers of an answer as lines of text. It gets the answer in one piece.
type lines struct{ http.ResponseWriter }

func (l lines) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func (l lines) WriteHeader(status int) {
	if status == http.StatusOK {
		l.Header().Set("Content-Type", "text/plain; charset=utf-8")
		l.Header().Del("Content-Length")
	}
	l.ResponseWriter.WriteHeader(status)
}

func (l lines) Write(body []byte) (int, error) {
	var answer struct{ IDs, Numbers []string }
	if json.Unmarshal(body, &answer); len(answer.IDs)+len(answer.Numbers) == 0 { // an error
		return l.ResponseWriter.Write(body)
	}
	_, err := io.WriteString(l.ResponseWriter, strings.Join(append(answer.IDs, answer.Numbers...), "\n")+"\n")
	return len(body), err
}

// wellFormed refuses requests that package connect would report as an internal error.
func wellFormed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); r.Method == http.MethodGet && q.Get("base64") == "1" {
			if _, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(q.Get("message"), "=")); err != nil {
				refuse(w, errors.New("message: want base64url"))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
