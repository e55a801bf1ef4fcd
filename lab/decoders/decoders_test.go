// Package decoders reads IDs by the libraries that people have already. Its rows are those of the table in docs/ids.md.
package decoders

import (
	"encoding"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/caarlos0/env/v11"
	"github.com/gin-gonic/gin/binding"
	"github.com/go-chi/chi/v5"
	"github.com/go-playground/form/v4"
	"github.com/gofiber/fiber/v3"
	"github.com/google/uuid"
	"github.com/gorilla/schema"
	"github.com/labstack/echo/v4"
	"github.com/oapi-codegen/runtime"
	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/link"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A request has an ID in the three ways that people write a field.
type request[T any] struct {
	ID    T   `uri:"id" form:"id" param:"id" query:"id" schema:"id" mapstructure:"id" env:"ID" name:"id"`
	Maybe *T  `uri:"maybe" form:"maybe" param:"maybe" query:"maybe" schema:"maybe" mapstructure:"maybe" env:"MAYBE" name:"maybe"`
	Many  []T `uri:"many" form:"many" query:"many" schema:"many" mapstructure:"many" env:"MANY" name:"many"`
}

// An id is a pointer to an ID of any kind.
type id[T any] interface {
	*T
	encoding.TextMarshaler
	encoding.TextUnmarshaler
}

// A decoder is a row of the table.
type decoder[T any] struct {
	name string
	one  bool // reads no pointer and no slice
	read func(text string, to *request[T]) error
}

func decoders[T any, P id[T]]() []decoder[T] {
	return []decoder[T]{
		{name: "gin, uri", read: func(text string, to *request[T]) error { return binding.Uri.BindUri(values(text), to) }},
		{name: "gin, query", read: func(text string, to *request[T]) error { return binding.Query.Bind(queried(text), to) }},
		{name: "gin, form", read: func(text string, to *request[T]) error { return binding.Form.Bind(posted(text), to) }},
		{name: "echo, path", read: func(text string, to *request[T]) error {
			c := echo.New().NewContext(queried(text), nil)
			c.SetParamNames("id")
			c.SetParamValues(text)
			return c.Bind(to)
		}},
		{name: "echo, form", read: func(text string, to *request[T]) error {
			return echo.New().NewContext(posted(text), nil).Bind(to)
		}},
		{name: "oapi-codegen, path", one: true, read: func(text string, to *request[T]) error {
			return runtime.BindStyledParameterWithOptions("simple", "id", url.PathEscape(text), &to.ID,
				runtime.BindStyledParameterOptions{ParamLocation: runtime.ParamLocationPath, Required: true})
		}},
		{name: "oapi-codegen, query", read: func(text string, to *request[T]) error {
			err := runtime.BindRawQueryParameter("form", true, true, "id", values(text).Encode(), &to.ID)
			if err == nil {
				err = runtime.BindRawQueryParameter("form", true, false, "maybe", values(text).Encode(), &to.Maybe)
			}
			if err == nil {
				err = runtime.BindRawQueryParameter("form", true, true, "many", values(text).Encode(), &to.Many)
			}
			return err
		}},
		{name: "chi", one: true, read: func(text string, to *request[T]) (err error) {
			router := chi.NewRouter()
			router.Get("/{id}", func(_ http.ResponseWriter, r *http.Request) {
				err = P(&to.ID).UnmarshalText([]byte(chi.URLParam(r, "id")))
			})
			w := httptest.NewRecorder()
			router.ServeHTTP(w, httptest.NewRequest("GET", "/"+url.PathEscape(text), nil))
			if w.Code != http.StatusOK {
				return errors.New(w.Body.String())
			}
			return err
		}},
		{name: "fiber", one: !integer[T](), read: func(text string, to *request[T]) (err error) {
			app := fiber.New()
			app.Get("/", func(c fiber.Ctx) error {
				err = c.Bind().Query(to)
				return err
			})
			_, failed := app.Test(httptest.NewRequest("GET", "/?"+listed[T](text).Encode(), nil))
			return errors.Join(err, failed)
		}},
		{name: "gorilla/schema", one: !integer[T](), read: func(text string, to *request[T]) error { return schema.NewDecoder().Decode(to, listed[T](text)) }},
		{name: "go-playground/form", read: func(text string, to *request[T]) error {
			decoder := form.NewDecoder()
			decoder.RegisterCustomTypeFunc(func(texts []string) (any, error) {
				var id T
				err := P(&id).UnmarshalText([]byte(texts[0]))
				return id, err
			}, *new(T))
			return decoder.Decode(to, values(text))
		}},
		{name: "mapstructure", read: func(text string, to *request[T]) error { return decodeMap(settings(text), to, textsOnly) }},
		{name: "viper", read: func(text string, to *request[T]) error {
			return configured(text).Unmarshal(to, viper.DecodeHook(textsOnly))
		}},
		{name: "huma, body", one: true, read: func(text string, to *request[T]) (err error) {
			type body struct{ Body struct{ ID T } }
			return served("/", `{"ID":"`+text+`"}`, func(in *body) { to.ID = in.Body.ID })
		}},
		{name: "caarlos0/env", read: func(text string, to *request[T]) error {
			return env.ParseWithOptions(to, env.Options{Environment: map[string]string{"ID": text, "MAYBE": text, "MANY": text + "," + text}})
		}},
		{name: "kong", read: func(text string, to *request[T]) error {
			parser, err := kong.New(to, kong.Exit(func(int) { panic("kong exits") }))
			if err != nil {
				return err
			}
			_, err = parser.Parse([]string{"--id=" + text, "--maybe=" + text, "--many=" + text, "--many=" + text})
			return err
		}},
		{name: "flag", one: true, read: func(text string, to *request[T]) error {
			flags := flag.NewFlagSet("", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			flags.TextVar(P(&to.ID), "id", P(&to.ID), "")
			return flags.Parse([]string{"-id=" + text})
		}},
		{name: "cobra", one: true, read: func(text string, to *request[T]) error {
			cmd := &cobra.Command{Run: func(*cobra.Command, []string) {}, SilenceErrors: true, SilenceUsage: true}
			cmd.Flags().TextVar(P(&to.ID), "id", P(&to.ID), "")
			cmd.SetArgs([]string{"--id=" + text})
			return cmd.Execute()
		}},
	}
}

// integer reports whether an ID is one, and no array or struct.
func integer[T any]() bool { return reflect.TypeFor[T]().ConvertibleTo(reflect.TypeFor[int64]()) }

func values(text string) url.Values {
	return url.Values{"id": {text}, "maybe": {text}, "many": {text, text}}
}

// listed is values for gorilla/schema, which has no lists of arrays.
func listed[T any](text string) url.Values {
	if integer[T]() {
		return values(text)
	}
	return url.Values{"id": {text}}
}

func queried(text string) *http.Request {
	return httptest.NewRequest("GET", "/?"+values(text).Encode(), nil)
}

func posted(text string) *http.Request {
	r := httptest.NewRequest("POST", "/", strings.NewReader(values(text).Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func settings(text string) map[string]any {
	return map[string]any{"id": text, "maybe": text, "many": []string{text, text}}
}

func configured(text string) *viper.Viper {
	v := viper.New()
	for name, value := range settings(text) {
		v.Set(name, value)
	}
	return v
}

// test reads texts whose IDs are known, and refuses the others.
func test[T comparable, P id[T]](t *testing.T, known map[string]T, refused ...string) {
	for _, d := range decoders[T, P]() {
		for text, want := range known {
			var got request[T]
			err := d.read(text, &got)
			require.That(t, err == nil && got.ID == want, "%s: %s is read as the %T %v, %v, want %v", d.name, text, got.ID, got.ID, err, want)
			hasAll := got.Maybe != nil && *got.Maybe == want && slices.Equal(got.Many, []T{want, want})
			require.That(t, hasAll || d.one, "%s: %s is read as %v and %v, want %v", d.name, text, got.Maybe, got.Many, want)
		}
		for _, text := range refused {
			var got request[T]
			err := d.read(text, &got)
			require.That(t, err != nil, "%s: %s is read as the %T %v", d.name, text, got.ID, got.ID)
		}
	}
}

// TestDecoders: a text is read as its ID, and a decimal number never.
func TestDecoders(t *testing.T) {
	bad := []string{"", "5", "-1", "0x10", "32", "3vgoe12ccb8gh", "JVGOE12CCB8GH", "4594531474933654033"}
	test(t, known, bad...)

	texts := map[string]randflake.TextID{}
	typed := map[string]randflake.Typed[order]{}
	for text, id := range known {
		texts[text] = randflake.TextID(id)
		typed["ord_"+text] = randflake.Typed[order](id)
	}
	test(t, texts, bad...)
	test(t, typed, append(bad, "jvgoe12ccb8gh", "cus_jvgoe12ccb8gh")...)

	snowflakes := map[string]snowflake.ID{}
	masked := map[string]orderID{}
	for _, n := range []snowflake.ID{0, 10, 12345, 9007199254740993, 1541815603606036480} {
		snowflakes[fmt.Sprint(uint64(n))] = n
		shown, err := orderMasker.Mask(n)
		require.NoError(t, err)
		masked["ord_"+shown.String()] = mask.Of[order](n)
	}
	snowflakes["18446744073709551615"] = 1<<64 - 1
	test(t, snowflakes, "", "-1", "0x10", "1e3", "18446744073709551616")
	test(t, masked, append(bad, "jvgoe12ccb8gh", "ord_5", "ord_3vgoe12ccb8gh")...)

	// The 16 bytes are Python's uuid.UUID(...).bytes of 01563e3a-b5d3-d676-4c61-efb99302bd5b, which
	// the specification's text is of.
	ulids := map[string]ulid.ID{
		"00000000000000000000000010": {15: 32},
		"00000000000000000012345678": {11: 0x08, 0x86, 0x42, 0x98, 0xe8},
		"01ARZ3NDEKTSV4RRFFQ69G5FAV": {0x01, 0x56, 0x3e, 0x3a, 0xb5, 0xd3, 0xd6, 0x76, 0x4c, 0x61, 0xef, 0xb9, 0x93, 0x02, 0xbd, 0x5b},
	}
	asText := map[string]ulid.TextID{}
	for text, id := range ulids {
		asText[text] = ulid.TextID(id)
	}
	test(t, ulids, "", "10", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ")
	test(t, asText, "", "10", "8ZZZZZZZZZZZZZZZZZZZZZZZZZ")

	uuids := map[string]documentID{}
	for _, text := range []string{"017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "01890a5d-ac96-774b-bcce-b302099a8057"} {
		id := mask.OfUUID[document](uuid.MustParse(text))
		uuids[id.String()] = id
	}
	test(t, uuids, "", "5", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
}

// A needed is a request that has to have an ID.
type needed[T any] struct {
	ID T `binding:"required"`
}

// TestRequired: gin finds that an ID is missing.
func TestRequired(t *testing.T) {
	for _, missing := range []any{
		needed[randflake.ID]{},
		needed[ulid.ID]{},
		needed[orderID]{},
		needed[documentID]{},
	} {
		err := binding.Validator.ValidateStruct(missing)
		require.That(t, err != nil, "%T is missing and not found", missing)
	}
}

// TestPatterns: what docs/ids.md has for OpenAPI says what parses.
func TestPatterns(t *testing.T) {
	ids := regexp.MustCompile("^[g-v][0-9a-v]{12}$")
	typed := regexp.MustCompile("^tkt_[g-v][0-9a-v]{12}$")
	links := regexp.MustCompile("^[g-v][0-9a-v]{12}[0-9a-f][0-9a-v]{12}$")
	texts := []string{"", "5", "3vgoe12ccb8gh", "w000000000000", "g00000000000", "g0000000000000", "JVGOE12CCB8GH", "g00000000000w"}
	for text := range known {
		texts = append(texts, text)
	}
	receipts := link.New(secret, "receipt")
	for _, text := range texts {
		id, err := randflake.Parse(text)
		_, typedErr := randflake.ParseTyped[ticket]("tkt_" + text)
		require.That(t, ids.MatchString(text) == (err == nil) && typed.MatchString("tkt_"+text) == (typedErr == nil),
			"%q is read as %v: %v, %v", text, id, err, typedErr)
		require.That(t, links.MatchString(receipts.Text(id)), "%s is no link", receipts.Text(id))
	}
}

type ticket struct{}

func (ticket) IDPrefix() string { return "tkt" }
