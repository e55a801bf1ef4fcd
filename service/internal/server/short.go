package server

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	api "github.com/randflake/randflake/service/api/randflake/v1"
	"github.com/randflake/randflake/service/api/randflake/v1/randflakev1connect"
)

// A shortCodec reads protobuf and writes JSON, so that a short path need not write JSON only for the procedure to parse
// it.
type shortCodec struct{ jsonCodec }

func (shortCodec) Name() string { return "proto-to-json" }

func (shortCodec) Unmarshal(data []byte, message any) error {
	return proto.Unmarshal(data, message.(proto.Message))
}

// inJSON sets the content type of what a shortCodec writes.
type inJSON struct{ http.ResponseWriter }

func (w inJSON) Write(body []byte) (int, error) {
	w.Header().Set("Content-Type", "application/json")
	return w.ResponseWriter.Write(body)
}

// addShortPaths adds paths for use with curl. Each calls a procedure and answers with the same JSON.
func addShortPaths(calls *http.ServeMux) {
	short := func(pattern, procedure string, message func(r *http.Request, count uint32) proto.Message) {
		calls.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			count := uint64(1)
			if text := r.URL.Query().Get("n"); text != "" {
				var err error
				if count, err = strconv.ParseUint(text, 10, 32); err != nil {
					refuse(w, "n: want a number from 1 to 65536")
					return
				}
			}
			body, err := proto.Marshal(message(r, uint32(count)))
			if err != nil {
				refuse(w, "path: want UTF-8")
				return
			}
			inner := r.WithContext(r.Context()) // a copy
			inner.Method, inner.URL = http.MethodPost, &url.URL{Path: procedure}
			inner.Header = http.Header{"Content-Type": {"application/" + shortCodec{}.Name()}}
			inner.Body, inner.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			calls.ServeHTTP(inJSON{w}, inner)
		})
	}
	short("POST /v1/spaces/{space}/ids", randflakev1connect.IDServiceMintProcedure, func(r *http.Request, count uint32) proto.Message {
		return &api.MintRequest{Space: r.PathValue("space"), Count: count}
	})
	short("GET /v1/spaces/{space}/ids/{id}", randflakev1connect.IDServiceInspectProcedure, func(r *http.Request, _ uint32) proto.Message {
		return &api.InspectRequest{Space: r.PathValue("space"), Id: &api.InspectRequest_Text{Text: r.PathValue("id")}}
	})
	short("POST /v1/counters/{name}/next", randflakev1connect.CounterServiceNextProcedure, func(r *http.Request, count uint32) proto.Message {
		return &api.NextRequest{Counter: r.PathValue("name"), Count: count}
	})
}

// refuse answers as a procedure does to an invalid argument.
func refuse(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"code":"invalid_argument","message":%q}`, message)
}

// wellFormed refuses requests that package connect would report as an internal error.
func wellFormed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); r.Method == http.MethodGet && q.Get("base64") == "1" {
			if _, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(q.Get("message"), "=")); err != nil {
				refuse(w, "message: want base64url")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
