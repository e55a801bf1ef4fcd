package decoders

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/go-playground/form/v4"
	"github.com/gofiber/fiber/v3/client"
	"github.com/google/go-querystring/query"
	"github.com/gorilla/schema"
	"github.com/oapi-codegen/runtime"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A urlEncoder writes a part of a URL.
type urlEncoder[T any] struct {
	name  string
	write func(id T) (string, error)
}

// urlEncoders write texts.
func urlEncoders[T any]() []urlEncoder[T] {
	return []urlEncoder[T]{
		{"go-querystring", func(id T) (string, error) {
			values, err := query.Values(recordOf(id))
			return values.Encode(), err
		}},
		{"gorilla/schema", func(id T) (string, error) {
			encoder := schema.NewEncoder()
			encoder.RegisterEncoder(id, func(id reflect.Value) string { return fmt.Sprint(id) })
			values := url.Values{}
			err := encoder.Encode(recordOf(id), values)
			return values.Encode(), err
		}},
		{"go-playground/form", func(id T) (string, error) {
			encoder := form.NewEncoder()
			encoder.RegisterCustomTypeFunc(func(id any) ([]string, error) { return []string{fmt.Sprint(id)}, nil }, id)
			values, err := encoder.Encode(recordOf(id))
			return values.Encode(), err
		}},
		{"fiber's client", func(id T) (string, error) {
			request := client.AcquireRequest()
			request.SetParamsWithStruct(struct{ ID string }{fmt.Sprint(id)})
			return fmt.Sprint(request.Param("ID")), nil
		}},
		{"oapi-codegen, one", func(id T) (string, error) {
			return runtime.StyleParamWithLocation("simple", false, "id", runtime.ParamLocationPath, id)
		}},
		{"oapi-codegen, list", func(id T) (string, error) {
			return runtime.StyleParamWithLocation("form", false, "many", runtime.ParamLocationQuery, []string{fmt.Sprint(id)})
		}},
		{"oapi-codegen, deepObject", func(id T) (string, error) {
			return runtime.StyleParamWithLocation("deepObject", true, "f", runtime.ParamLocationQuery, recordOf(id))
		}},
	}
}

// urlsByKind are those that write numbers, or an inner UUID's text.
func urlsByKind[T any]() []urlEncoder[T] {
	return []urlEncoder[T]{
		{"gorilla/schema", func(id T) (string, error) {
			values := url.Values{}
			err := schema.NewEncoder().Encode(struct{ ID T }{id}, values)
			return values.Encode(), err
		}},
		{"go-playground/form", func(id T) (string, error) {
			values, err := form.NewEncoder().Encode(struct{ ID T }{id})
			return values.Encode(), err
		}},
		{"fiber's client", func(id T) (string, error) {
			request := client.AcquireRequest()
			request.SetParamsWithStruct(struct{ ID T }{id})
			return fmt.Sprint(request.Param("ID")), nil
		}},
		{"oapi-codegen, list", func(id T) (string, error) {
			return runtime.StyleParamWithLocation("form", false, "many", runtime.ParamLocationQuery, []T{id})
		}},
		{"oapi-codegen, object", func(id T) (string, error) {
			return runtime.StyleParamWithLocation("form", true, "f", runtime.ParamLocationQuery, struct{ ID T }{id})
		}},
	}
}

func TestURLs(t *testing.T) {
	for _, id := range known {
		testURLs(t, id)
		testURLs(t, randflake.TextID(id))
		testURLs(t, randflake.Typed[order](id))
		testURLs(t, mask.Of[order](snowflake.ID(id)))
	}
	testURLs(t, mask.OfUUID[document](inner))
	testURLs(t, ulid.ID(inner))
	testURLs(t, ulid.TextID(inner))
	none, err := query.Values(struct{ ID *ulid.ID }{})
	require.That(t, err == nil && none.Encode() == "ID=", "no ULID is %v, %v", none, err)
}

func testURLs[T any](t *testing.T, id T) {
	text := fmt.Sprint(id)
	for _, e := range urlEncoders[T]() {
		written, err := e.write(id)
		values := max(1, strings.Count(written, "="))
		require.That(t, err == nil && strings.Count(written, text) == values,
			"%s: the %T %v is %s, %v", e.name, id, id, written, err)
	}
	for _, e := range urlsByKind[T]() {
		written, _ := e.write(id)
		require.That(t, !strings.Contains(written, text), "%s needs no setting: the %T %v is %s", e.name, id, id, written)
	}
}
