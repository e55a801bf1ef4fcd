package broken

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Transport returns what makes calls of the service, with the bug if it is one of those on the way.
func (b Bug) Transport(calls http.RoundTripper) http.RoundTripper {
	if b == StaleAnswer {
		return &stale{calls: calls}
	}
	return calls
}

// stale is a cache that goes by the path alone: it answers each Acquire with what the first one was answered.
type stale struct {
	calls http.RoundTripper

	mu     sync.Mutex
	answer *http.Response
	body   []byte
}

func (s *stale) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/Acquire") {
		return s.calls.RoundTrip(r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer == nil {
		answer, err := s.calls.RoundTrip(r)
		if err != nil || answer.StatusCode != http.StatusOK {
			return answer, err
		}
		defer answer.Body.Close()
		if s.body, err = io.ReadAll(answer.Body); err != nil {
			return nil, err
		}
		s.answer = answer
	}
	again := *s.answer
	again.Body, again.Request = io.NopCloser(bytes.NewReader(s.body)), r
	return &again, nil
}
