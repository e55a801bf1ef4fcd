package server

import (
	"net/http"
	"time"
)

const strangerTime = 5 * time.Second // for strangers to send a body and read the answer

// bounded limits the requests of each principal, and of all strangers together, that are under way: each connection may have a
// hundred, and send half a body or read no answer. More of them get
// only a status and lose their connection, so they cost nothing.
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
