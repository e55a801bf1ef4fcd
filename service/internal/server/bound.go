package server

import (
	"net/http"
	"time"
)

const strangerTime = 5 * time.Second // for strangers to send a body and read the answer

// bounded limits the requests of each principal, and of all strangers together, that are under way: each connection may have a
// hundred, and send half a body or read no answer. More of them get only a status, so they cost little. Those of a principal wait for
// their turn, and keep their connection, if it is HTTP/2: it may be a proxy's, and a client that can't repeat calls on it makes another.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, c := s.identify(r)
		places := s.usage.Places(c.principal)
		if !places.TryAcquire(1) {
			status := http.StatusServiceUnavailable
			keep := false
			if c.unknown == nil {
				status = http.StatusTooManyRequests
				hadTurn := s.usage.Refuse(r.Context(), c.principal)
				keep = hadTurn && r.ProtoMajor > 1
			}
			if !keep {
				w.Header().Set("Connection", "close")
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
