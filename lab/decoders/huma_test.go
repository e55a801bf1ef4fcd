package decoders

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
)

// served has huma read a request with a body, or with a query if there is none.
func served[T any](target, body string, read func(*T)) error {
	mux := http.NewServeMux()
	api := humago.New(mux, huma.DefaultConfig("orders", "1"))
	huma.Post(api, "/", func(_ context.Context, in *T) (*struct{}, error) {
		read(in)
		return nil, nil
	})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("POST", target, strings.NewReader(body)))
	if w.Code != http.StatusNoContent {
		return errors.New(w.Body.String())
	}
	return nil
}

// TestHuma: parameters go by Go's kind, and then by a schema that wants a text, so no ID is read.
func TestHuma(t *testing.T) {
	type parameters[T any] struct {
		ID T `query:"id"`
	}
	for _, target := range []string{"/?id=5", "/?id=jvgoe12ccb8gh"} {
		err := served(target, "", func(*parameters[randflake.ID]) {})
		require.That(t, err != nil, "%s is read", target)
		err = served(target, "", func(*parameters[orderID]) {})
		require.That(t, err != nil, "%s is read as an inner value", target)
	}
}
