package server

import (
	"context"
	"net/http"
	"time"
)

type ageKey struct{}

// Aging returns the context of a connection that is old at a time. The connection ends after the calls that are under way then, and the
// client connects to any of the replicas, with the certificate that it has by then.
func Aging(ctx context.Context, old time.Time) context.Context {
	return context.WithValue(ctx, ageKey{}, old)
}

// isLast reports whether the connection of a request should take no more. In HTTP/2 a shutdown ends it, and cuts no call.
func (s *Server) isLast(r *http.Request) bool {
	old, aging := r.Context().Value(ageKey{}).(time.Time)
	return aging && time.Now().After(old) || s.draining.Load() && r.ProtoMajor == 1
}
