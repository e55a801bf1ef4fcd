package decoders

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/bytedance/sonic"
	"github.com/fxamacker/cbor/v2"
	experiment "github.com/go-json-experiment/json"
	goccyjson "github.com/goccy/go-json"
	goccyyaml "github.com/goccy/go-yaml"
	"github.com/google/uuid"
	jsoniter "github.com/json-iterator/go"
	pelletier "github.com/pelletier/go-toml/v2"
	"github.com/ugorji/go/codec"
	"github.com/vmihailenco/msgpack/v5"
	"go.yaml.in/yaml/v3"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A format is a library that writes and reads records.
type format struct {
	name   string
	text   bool // writes texts, and not bytes or numbers
	byKind bool // reads numbers as IDs and as inner values, whatever their methods are
	write  func(any) ([]byte, error)
	read   func([]byte, any) error
}

// formats have those of jsons too.
var formats = append(jsons,
	format{name: "yaml.v3", text: true, write: yaml.Marshal, read: yaml.Unmarshal},
	format{name: "goccy/go-yaml", text: true, write: goccyyaml.Marshal, read: goccyyaml.Unmarshal},
	format{name: "BurntSushi/toml", text: true, write: toml.Marshal, read: toml.Unmarshal},
	format{name: "pelletier/go-toml", text: true, byKind: true, write: pelletier.Marshal, read: pelletier.Unmarshal},
	format{name: "encoding/xml", text: true, write: xml.Marshal, read: xml.Unmarshal},
	format{name: "encoding/gob", write: writeGob, read: readGob},
	format{name: "fxamacker/cbor", write: cbor.Marshal, read: cbor.Unmarshal},
	format{name: "vmihailenco/msgpack", write: msgpack.Marshal, read: msgpack.Unmarshal},
	ugorji("JSON", true, &codec.JsonHandle{}),
	ugorji("CBOR", false, &codec.CborHandle{}),
	ugorji("msgpack", false, &codec.MsgpackHandle{}),
)

var jsons = []format{
	{name: "encoding/json", text: true, write: json.Marshal, read: json.Unmarshal},
	{
		name:  "encoding/json/v2",
		text:  true,
		write: func(v any) ([]byte, error) { return experiment.Marshal(v) },
		read:  func(b []byte, v any) error { return experiment.Unmarshal(b, v) },
	},
	{name: "jsoniter", text: true, write: compatible.Marshal, read: compatible.Unmarshal},
	{name: "goccy/go-json", text: true, write: goccyjson.Marshal, read: goccyjson.Unmarshal},
	{name: "sonic", text: true, write: sonic.Marshal, read: sonic.Unmarshal},
}

// pass writes a value, and reads that as another one.
func (f format) pass(from, to any) (data []byte, err error) {
	data, err = f.write(from)
	if err == nil {
		err = f.read(data, to)
	}
	return data, err
}

var compatible = jsoniter.ConfigCompatibleWithStandardLibrary

func writeGob(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

func readGob(b []byte, v any) error { return gob.NewDecoder(bytes.NewReader(b)).Decode(v) }

func ugorji(name string, text bool, handle codec.Handle) format {
	return format{
		name: "ugorji/go, " + name,
		text: text,
		write: func(v any) (b []byte, err error) {
			err = codec.NewEncoderBytes(&b, handle).Encode(v)
			return b, err
		},
		read: func(b []byte, v any) error { return codec.NewDecoderBytes(b, handle).Decode(v) },
	}
}

// A record has an ID in the three ways that people write a field.
type record[T any] struct {
	ID    T   `json:"id" yaml:"id" toml:"id" xml:"id" bson:"_id" url:"id" schema:"id" form:"id"`
	Maybe *T  `json:"maybe" yaml:"maybe" toml:"maybe" xml:"maybe" bson:"maybe" url:"maybe" schema:"maybe" form:"maybe"`
	Many  []T `json:"many" yaml:"many" toml:"many" xml:"many" bson:"many" url:"many" schema:"many" form:"many"`
}

func recordOf[T any](id T) record[T] { return record[T]{id, &id, []T{id}} }

// is reports whether all IDs of a record are id.
func (r record[T]) is(id any) bool {
	return any(r.ID) == id && r.Maybe != nil && any(*r.Maybe) == id && len(r.Many) == 1 && any(r.Many[0]) == id
}

// testFormats has an ID come back through all formats, as its text if they write texts.
func testFormats[T comparable](t *testing.T, id T) {
	for _, f := range formats {
		var back record[T]
		data, err := f.pass(recordOf(id), &back)
		require.That(t, err == nil && back.is(id),
			"%s: the %T %v is %q, and that %v: %v", f.name, id, id, data, back, err)
		hasText := strings.Count(string(data), fmt.Sprint(id)) == 3
		require.That(t, hasText || !f.text, "%s: the %T %v is %q", f.name, id, id, data)
	}
}

// testStrangers: what others write is not read as an ID, except for numbers by formats that go by kind.
func testStrangers[T comparable](t *testing.T, formats []format, strangers ...any) {
	for _, f := range formats {
		for _, stranger := range strangers {
			var got record[T]
			data, err := f.write(stranger)
			require.Must(t, err == nil, "%s: %v: %v", f.name, stranger, err)
			err = f.read(data, &got)
			require.That(t, err != nil || f.byKind, "%s: %q is read as the %T %v", f.name, data, got.ID, got.ID)
		}
	}
}

// testHidden: no format writes an inner value.
func testHidden[T, I comparable](t *testing.T, id T, inner I) {
	for _, f := range formats {
		var got record[I]
		data, err := f.write(recordOf(id))
		require.That(t, err == nil, "%s: %v", f.name, err)
		err = f.read(data, &got)
		hasInner := err == nil && (got.ID == inner || *got.Maybe == inner || got.Many[0] == inner)
		require.That(t, !hasInner, "%s: the %T %v is %q, which has its inner value", f.name, id, id, data)
	}
}

func TestFormats(t *testing.T) {
	for _, id := range known {
		if id == 0 {
			continue // which gob leaves out, as it does with an integer
		}
		testFormats(t, id)
		testFormats(t, randflake.TextID(id))
		testFormats(t, randflake.Typed[order](id))
		testFormats(t, snowflake.ID(id))
		testFormats(t, mask.Of[order](snowflake.ID(id)))
	}
	testFormats(t, ulid.ID{15: 32})
	testFormats(t, ulid.TextID{15: 32})
	testFormats(t, mask.OfUUID[document](inner))
}

var inner = uuid.UUID{6: 0x70, 8: 0x80, 15: 7}

func TestStrangers(t *testing.T) {
	numbers := []any{recordOf(int64(5)), recordOf(uint64(5)), recordOf("5")}
	var texts []format
	for _, f := range formats {
		if f.text {
			texts = append(texts, f)
		}
	}
	testStrangers[randflake.ID](t, texts, numbers...)
	testStrangers[randflake.TextID](t, texts, numbers...)
	testStrangers[randflake.Typed[order]](t, texts, numbers...)
	testStrangers[ulid.ID](t, texts, numbers...)

	testStrangers[orderID](t, formats, numbers...)
	testHidden(t, mask.Of[order](snowflake.ID(5)), int64(5))

	testStrangers[documentID](t, formats, append(numbers,
		recordOf([16]int{6: 0x70, 8: 0x80, 15: 7}),
		recordOf([16]byte(inner)),
		recordOf(inner[:]),
		recordOf(inner),
		recordOf(inner.String()),
	)...)
	testHidden(t, mask.OfUUID[document](inner), inner)
	testHidden(t, mask.OfUUID[document](inner), [16]byte(inner))
}

// TestOmitted: YAML leaves a zero UUID out, which has no text.
func TestOmitted(t *testing.T) {
	for _, f := range formats {
		if !strings.Contains(f.name, "yaml") {
			continue
		}
		data, err := f.write(struct {
			ID documentID `yaml:"id,omitempty"`
		}{})
		require.That(t, err == nil && string(data) == "{}\n", "%s: a zero UUID is %q, %v", f.name, data, err)
	}
}
