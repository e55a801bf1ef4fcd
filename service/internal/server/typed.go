package server

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
)

// types are the content types of calls, as they begin.
var types = []string{"application/json", "application/proto", "application/grpc", "application/connect+"}

// typed refuses calls of procedures without a known content type. The answer of package connect to them is empty.
func typed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		is, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		known := func(begin string) bool { return strings.HasPrefix(is, begin) }
		if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/randflake.") && !slices.ContainsFunc(types, known) {
			connect.NewErrorWriter().Write(w, new(http.Request), connect.NewError(connect.CodeInvalidArgument,
				fmt.Errorf("Content-Type %.100q: want application/json, application/proto, or that of gRPC", r.Header.Get("Content-Type"))))
			return
		}
		next.ServeHTTP(w, r)
	})
}
