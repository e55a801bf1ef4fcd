package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// TestRetiring: an old connection ends with its next call.
func TestRetiring(t *testing.T) {
	handler := tended(http.NotFoundHandler())
	for age, closed := range map[time.Duration]bool{-time.Minute: false, time.Second: true} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		answer := httptest.NewRecorder()
		c := &connection{old: time.Now().Add(-age)}
		handler.ServeHTTP(answer, r.WithContext(context.WithValue(r.Context(), connectionKey{}, c)))
		require.Equal(t, answer.Header().Get("Connection") == "close", closed, "old since %v: closed", age)
	}
}
