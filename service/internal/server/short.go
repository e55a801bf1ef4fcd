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
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// addShortPaths adds the paths that the protocol's annotations give to procedures of a service, for use with curl. The
// templates of google.api.http that the protocol has are patterns of net/http, too.
func addShortPaths(handle func(path string, calls http.Handler), service string, calls http.Handler) {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		panic(err) // it is not in the protocol
	}
	for methods, i := found.(protoreflect.ServiceDescriptor).Methods(), 0; i < methods.Len(); i++ {
		short := &short{calls, "/" + service + "/" + string(methods.Get(i).Name()), methods.Get(i).Input().Fields()}
		handle(short.procedure, calls) // found faster than by the path of the service
		rule := proto.GetExtension(methods.Get(i).Options(), annotations.E_Http).(*annotations.HttpRule)
		if path := rule.GetPost(); path != "" {
			handle("POST "+path, short)
		}
		if path := rule.GetGet(); path != "" {
			handle("GET "+path, short)
		}
	}
}

// A short is a short path of a procedure.
type short struct {
	calls     http.Handler
	procedure string
	fields    protoreflect.FieldDescriptors
}

func (s *short) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	message, err := s.message(r)
	if err != nil {
		connect.NewErrorWriter().Write(w, new(http.Request), connect.NewError(connect.CodeInvalidArgument, err))
		return
	}
	if r.Method == http.MethodPost && strings.HasPrefix(r.Header.Get("Accept"), "text/plain") {
		w = lines{w}
	}
	call := r.WithContext(r.Context()) // a copy
	call.Method, call.URL, call.Header = http.MethodPost, &url.URL{Path: s.procedure}, maps.Clone(r.Header)
	call.Header.Set("Content-Type", "application/json")
	call.Body, call.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
	s.calls.ServeHTTP(w, call)
}

// message returns the fields that the path and the query have, as JSON, in which a number may be a string.
func (s *short) message(r *http.Request) ([]byte, error) {
	message := map[string]string{}
	for i := range s.fields.Len() {
		if value := r.PathValue(string(s.fields.Get(i).Name())); value != "" {
			message[s.fields.Get(i).JSONName()] = value
		}
	}
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	for name, values := range parameters {
		if s.fields.ByJSONName(name) == nil || message[name] != "" || len(values) > 1 {
			return nil, fmt.Errorf("parameter %.100q: want those in openapi.yaml, such as count, each once", name)
		}
		message[name] = values[0]
	}
	if n, _ := io.Copy(io.Discard, r.Body); n > 0 {
		return nil, errors.New("a body: want none, and parameters in the URL")
	}
	if !utf8.ValidString(r.URL.Path) {
		return nil, errors.New("path: want UTF-8")
	}
	return json.Marshal(message)
}

// lines writes the IDs or numbers of an answer as lines of text. It gets the answer in one piece.
type lines struct{ http.ResponseWriter }

func (l lines) Write(body []byte) (int, error) {
	var answer struct{ IDs, Numbers []string }
	if json.Unmarshal(body, &answer); len(answer.IDs)+len(answer.Numbers) == 0 { // an error
		return l.ResponseWriter.Write(body)
	}
	l.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := io.WriteString(l.ResponseWriter, strings.Join(append(answer.IDs, answer.Numbers...), "\n")+"\n")
	return len(body), err
}

// types are the content types of calls.
var types = []string{"application/json", "application/proto", "application/json; charset=utf-8", "application/json;charset=utf-8", "application/grpc",
	"application/grpc+proto", "application/grpc+json", "application/grpc-web", "application/grpc-web+proto", "application/grpc-web+json"}

// wellFormed refuses requests that package connect would report as an internal error, or with an empty answer.
func wellFormed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var wrong error
		switch r.Method {
		case http.MethodGet:
			q := r.URL.Query()
			if _, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(q.Get("message"), "=")); err != nil && q.Get("base64") == "1" {
				wrong = errors.New("message: want base64url")
			}
		case http.MethodPost:
			if is := r.Header.Get("Content-Type"); strings.HasPrefix(r.URL.Path, "/randflake.") && !slices.Contains(types, strings.ToLower(is)) {
				wrong = fmt.Errorf("Content-Type %.100q: want application/json, application/proto, or that of gRPC", is)
			}
		}
		if wrong != nil {
			connect.NewErrorWriter().Write(w, new(http.Request), connect.NewError(connect.CodeInvalidArgument, wrong))
			return
		}
		next.ServeHTTP(w, r)
	})
}
