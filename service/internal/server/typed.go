package server

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"connectrpc.com/connect"
)

// types are the content types of calls.
var types = regexp.MustCompile(`^application/(json|proto|grpc|connect\+)`)

// typed refuses calls of procedures without one of types. The answer of package connect to them is empty.
func typed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if is := r.Header.Get("Content-Type"); r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/randflake.") && !types.MatchString(is) {
			wrong := fmt.Errorf("Content-Type %.100q: want application/json, application/proto, or that of gRPC", is)
			connect.NewErrorWriter().Write(w, new(http.Request), connect.NewError(connect.CodeInvalidArgument, wrong))
			return
		}
		next.ServeHTTP(w, r)
	})
}
