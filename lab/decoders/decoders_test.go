// Package decoders reads IDs by the libraries that people have already. Its rows are those of the
// table in docs/ids.md.
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
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/caarlos0/env/v11"
	"github.com/gin-gonic/gin/binding"
	"github.com/go-chi/chi/v5"
	"github.com/go-playground/form/v4"
	"github.com/go-viper/mapstructure/v2"
	"github.com/gorilla/schema"
	"github.com/labstack/echo/v4"
	"github.com/oapi-codegen/runtime"
	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/randflake/randflake"
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

// A decoder is a row of the table. Without what the table says to set, bare misreads or refuses.
type decoder[T any] struct {
	name string
	one  bool // reads no pointer and no slice
	read func(text string, to *request[T]) error
	bare func(text string, to *request[T]) error
}

func decoders[T any, P id[T]]() []decoder[T] {
	return []decoder[T]{
		{name: "gin, uri", read: func(text string, to *request[T]) error {
			return binding.Uri.BindUri(values(text), to)
		}},
		{name: "gin, query", read: func(text string, to *request[T]) error {
			return binding.Query.Bind(query(text), to)
		}},
		{name: "gin, form", read: func(text string, to *request[T]) error {
			return binding.Form.Bind(posted(text), to)
		}},
		{name: "echo, path", read: func(text string, to *request[T]) error {
			c := echo.New().NewContext(query(text), nil)
			c.SetParamNames("id")
			c.SetParamValues(text)
			return c.Bind(to)
		}},
		{name: "echo, form", read: func(text string, to *request[T]) error {
			return echo.New().NewContext(posted(text), nil).Bind(to)
		}},
		{name: "oapi-codegen, path", one: true, read: func(text string, to *request[T]) error {
			return runtime.BindStyledParameterWithOptions("simple", "id", url.PathEscape(text), &to.ID, runtime.BindStyledParameterOptions{ParamLocation: runtime.ParamLocationPath, Required: true})
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
		{name: "gorilla/schema", one: !integer[T](), read: func(text string, to *request[T]) error {
			if integer[T]() {
				return schema.NewDecoder().Decode(to, values(text))
			}
			return schema.NewDecoder().Decode(to, url.Values{"id": {text}})
		}},
		{
			name: "go-playground/form",
			read: func(text string, to *request[T]) error {
				decoder := form.NewDecoder()
				decoder.RegisterCustomTypeFunc(func(texts []string) (any, error) {
					var id T
					err := P(&id).UnmarshalText([]byte(texts[0]))
					return id, err
				}, *new(T))
				return decoder.Decode(to, values(text))
			},
			bare: func(text string, to *request[T]) error { return form.NewDecoder().Decode(to, values(text)) },
		},
		{
			name: "mapstructure",
			read: func(text string, to *request[T]) error {
				decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{Result: to, DecodeHook: mapstructure.TextUnmarshallerHookFunc()})
				if err != nil {
					return err
				}
				return decoder.Decode(settings(text))
			},
			bare: func(text string, to *request[T]) error { return mapstructure.WeakDecode(settings(text), to) },
		},
		{
			name: "viper",
			read: func(text string, to *request[T]) error {
				return configured(text).Unmarshal(to, viper.DecodeHook(mapstructure.TextUnmarshallerHookFunc()))
			},
			bare: func(text string, to *request[T]) error { return configured(text).Unmarshal(to) },
		},
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

func query(text string) *http.Request {
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
			if err != nil || got.ID != want {
				t.Errorf("%s: %s is read as the %T %v, %v, want %v", d.name, text, got.ID, got.ID, err, want)
				continue
			}
			if !d.one && (got.Maybe == nil || *got.Maybe != want || !slices.Equal(got.Many, []T{want, want})) {
				t.Errorf("%s: %s is read as %v and %v, want %v", d.name, text, got.Maybe, got.Many, want)
			}
		}
		for _, text := range refused {
			var got request[T]
			if err := d.read(text, &got); err == nil {
				t.Errorf("%s: %s is read as the %T %v", d.name, text, got.ID, got.ID)
			}
		}
	}
}

// order is a kind of things that masks its IDs.
type order struct{}

var orderMasker = func() *mask.Masker[snowflake.ID] {
	secret, err := randflake.SecretFromBytes([]byte("sixteen decoders"))
	if err != nil {
		panic(err)
	}
	return &mask.Masker[snowflake.ID]{Cipher: randflake.NewCipher(secret)}
}()

func (order) IDPrefix() string                   { return "ord" }
func (order) Masker() *mask.Masker[snowflake.ID] { return orderMasker }

// document is a kind of things that masks its UUIDs.
type document struct{}

var documentMasker = mask.NewUUIDMasker[ulid.ID](randflake.NewSecret(), nil)

func (document) Masker() *mask.UUIDMasker[ulid.ID] { return documentMasker }

// The numbers are Python's int(text, 32).
var known = map[string]randflake.ID{
	"jvgoe12ccb8gh": 4594531474933654033,
	"b0bb8nt7619tu": -5751825978219255874,
	"fvvvvvvvvvvvv": -1,
	"8000000000000": -9223372036854775808,
	"7":             7,
	"10":            32,
	"99":            297,
	"12345":         1117317,
	"90210":         9439264,
	"1000000":       1073741824,
	"20261127":      68792910919,
	"1e3":           1475,
}

// TestDecoders: no library reads a text as a decimal number.
func TestDecoders(t *testing.T) {
	bad := []string{"", "-1", "0x10", "010", "JVGOE12CCB8GH", "4594531474933654033"}
	test(t, known, bad...)

	texts := map[string]randflake.TextID{}
	typed := map[string]randflake.Typed[order]{}
	for text, id := range known {
		texts[text] = randflake.TextID(id)
		typed["ord_"+text] = randflake.Typed[order](id)
	}
	test(t, texts, bad...)
	test(t, typed, append(bad, "10", "jvgoe12ccb8gh", "cus_10")...)

	snowflakes := map[string]snowflake.ID{}
	masked := map[string]mask.ID[order, snowflake.ID]{}
	for _, n := range []snowflake.ID{0, 10, 12345, 9007199254740993, 1541815603606036480} {
		snowflakes[fmt.Sprint(uint64(n))] = n
		shown, err := orderMasker.Mask(n)
		if err != nil {
			t.Fatal(err)
		}
		masked["ord_"+shown.String()] = mask.Of[order](n)
	}
	snowflakes["18446744073709551615"] = 1<<64 - 1
	test(t, snowflakes, "", "-1", "0x10", "010", "1e3", "18446744073709551616")
	test(t, masked, "", "10", "12345", "ord_010", "1541815603606036480")

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

	uuids := map[string]mask.UUID[document, ulid.ID]{}
	for _, text := range []string{"017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "01890a5d-ac96-774b-bcce-b302099a8057"} {
		inner, err := ulid.ParseUUID(text)
		if err != nil {
			t.Fatal(err)
		}
		uuids[mask.OfUUID[document](inner).String()] = mask.OfUUID[document](inner)
	}
	test(t, uuids, "", "10", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
}

// TestBareDecoders: those which the table has a setting for read 10 as ten without it, or nothing at all.
func TestBareDecoders(t *testing.T) {
	// A number in a file is no text: docs/ids.md says so too.
	v := viper.New()
	v.SetConfigType("yaml")
	var quoted, number request[randflake.ID]
	hook := viper.DecodeHook(mapstructure.TextUnmarshallerHookFunc())
	for text, to := range map[string]*request[randflake.ID]{`id: "10"`: &quoted, `id: 10`: &number} {
		if err := errors.Join(v.ReadConfig(strings.NewReader(text)), v.Unmarshal(to, hook)); err != nil {
			t.Error(err)
		}
	}
	if quoted.ID != 32 || number.ID != 10 {
		t.Errorf("in quotes 10 is %d, without %d", int64(quoted.ID), int64(number.ID))
	}

	for _, d := range decoders[randflake.ID]() {
		if d.bare == nil {
			continue
		}
		var got, long request[randflake.ID]
		if err := d.bare("10", &got); err == nil && got.ID == known["10"] {
			t.Errorf("%s needs no setting: 10 is %v", d.name, got.ID)
		}
		if err := d.bare("jvgoe12ccb8gh", &long); err == nil {
			t.Errorf("%s: jvgoe12ccb8gh is %v without a setting", d.name, long.ID)
		}
	}
}

// A needed is a request that has to have an ID.
type needed[T any] struct {
	ID T `binding:"required"`
}

// TestRequired: gin finds that an ID is missing, but not a masked one in place of a pointer to it.
func TestRequired(t *testing.T) {
	for _, tt := range []struct {
		missing any
		finds   bool
	}{
		{needed[randflake.ID]{}, true},
		{needed[ulid.ID]{}, true},
		{needed[mask.ID[order, snowflake.ID]]{}, false},
		{needed[mask.UUID[document, ulid.ID]]{}, false},
		{needed[*mask.ID[order, snowflake.ID]]{}, true},
		{needed[*mask.UUID[document, ulid.ID]]{}, true},
	} {
		if err := binding.Validator.ValidateStruct(tt.missing); (err != nil) != tt.finds {
			t.Errorf("%T: %v", tt.missing, err)
		}
	}
}

// TestByNumber: what docs/ids.md says of libraries that have no way to set it. They take 10 for
// ten, and write 32 for the ID 10.
func TestByNumber(t *testing.T) {
	var object struct {
		ID randflake.ID `json:"id"`
	}
	if err := runtime.BindRawQueryParameter("deepObject", true, true, "f", "f[id]=10", &object); err != nil || object.ID != 10 {
		t.Errorf("deepObject: %v, %v", object.ID, err)
	}
	var scanned randflake.ID
	if _, err := fmt.Sscan("jvgoe12ccb8gh", &scanned); err != nil || scanned != 3 {
		t.Errorf("fmt.Sscan: %v, %v", scanned, err)
	}

	id := known["10"]
	list, err := runtime.StyleParamWithLocation("form", false, "many", runtime.ParamLocationQuery, []randflake.ID{id})
	if err != nil || list != "many=32" {
		t.Errorf("oapi-codegen's client: %s, %v", list, err)
	}
	encoded := url.Values{}
	if err := schema.NewEncoder().Encode(struct{ ID randflake.ID }{id}, encoded); err != nil || encoded.Get("ID") != "32" {
		t.Errorf("gorilla/schema: %v, %v", encoded, err)
	}
	encoded, err = form.NewEncoder().Encode(struct{ ID randflake.ID }{id})
	if err != nil || encoded.Get("ID") != "32" {
		t.Errorf("go-playground/form: %v, %v", encoded, err)
	}

	one, err := runtime.StyleParamWithLocation("simple", false, "id", runtime.ParamLocationPath, id)
	if err != nil || one != "10" {
		t.Errorf("one ID of oapi-codegen's client: %s, %v", one, err)
	}
}
