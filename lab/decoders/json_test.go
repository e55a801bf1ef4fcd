package decoders

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	experiment "github.com/go-json-experiment/json"
	goccy "github.com/goccy/go-json"
	jsoniter "github.com/json-iterator/go"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.yaml.in/yaml/v3"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// jsons are the libraries that read and write JSON. The methods of IDs are those that encoding/json asks for.
var jsons = []struct {
	name  string
	write func(any) ([]byte, error)
	read  func([]byte, any) error
}{
	{"encoding/json", json.Marshal, json.Unmarshal},
	{"version 2", func(v any) ([]byte, error) { return experiment.Marshal(v) }, func(b []byte, v any) error { return experiment.Unmarshal(b, v) }},
	{"jsoniter", jsoniter.ConfigCompatibleWithStandardLibrary.Marshal, jsoniter.ConfigCompatibleWithStandardLibrary.Unmarshal},
	{"goccy", goccy.Marshal, goccy.Unmarshal},
}

type plain[T any] struct {
	ID    T   `json:"id"`
	Empty *T  `json:"empty,omitempty"`
	Zero  T   `json:"zero,omitzero"`
	Many  []T `json:"many"`
}

type tagged[T any] struct {
	//lint:ignore SA5008 people leave the tag there
	ID T `json:"id,string"`
	//lint:ignore SA5008 people leave the tag there
	Empty T `json:"empty,string,omitempty"`
	//lint:ignore SA5008 people leave the tag there
	Zero  T  `json:"zero,string,omitzero"`
	Maybe *T `json:"maybe,string"`
}

// testJSON has IDs come back through each library: as they were, or, with ",string" in a tag, as an error.
func testJSON[T comparable](t *testing.T, ids []T) {
	for _, l := range jsons {
		for _, id := range ids {
			text := fmt.Sprintf("%q", fmt.Sprint(id))
			var back plain[T]
			data, err := l.write(plain[T]{id, &id, id, []T{id}})
			if err == nil {
				err = l.read(data, &back)
			}
			if err != nil || back.ID != id || *back.Empty != id || back.Zero != id || back.Many[0] != id {
				t.Errorf("%s: %s is %s, and that %v: %v", l.name, text, data, back, err)
			}

			var again tagged[T]
			data, err = l.write(tagged[T]{id, id, id, &id})
			if err != nil {
				t.Errorf("%s: %s can't be written: %v", l.name, text, err)
				continue
			}
			err = l.read(data, &again)
			if err == nil && (again.ID != id || again.Empty != id || again.Zero != id || *again.Maybe != id) {
				t.Errorf("%s: %s is %s, and that %v", l.name, text, data, again)
			}
		}
	}
}

// testNumber reads an integer as the ID that is wanted, or refuses it if there is none.
func testNumber[T comparable](t *testing.T, number string, want *T) {
	for _, l := range jsons {
		var got plain[T]
		err := l.read([]byte(`{"id": `+number+`}`), &got)
		if (err == nil) != (want != nil) || want != nil && got.ID != *want {
			t.Errorf("%s: %s is read as the %T %v, %v", l.name, number, got.ID, got.ID, err)
		}
	}
}

func TestJSON(t *testing.T) {
	var ids []randflake.ID
	var texts []randflake.TextID
	var typed []randflake.Typed[order]
	var snowflakes []snowflake.ID
	for _, id := range known {
		ids = append(ids, id)
		texts = append(texts, randflake.TextID(id))
		typed = append(typed, randflake.Typed[order](id))
		snowflakes = append(snowflakes, snowflake.ID(id))
	}
	testJSON(t, ids)
	testJSON(t, texts)
	testJSON(t, typed)
	testJSON(t, snowflakes)
	testJSON(t, []ulid.ID{{15: 32}})

	for _, number := range []uint64{0, 7, 12345, 1<<53 + 1, 175928847299117063, 1541815603606036480, 7102577116159582209, 1<<64 - 1} {
		text := strconv.FormatUint(number, 10)
		exact := snowflake.ID(number)
		testNumber(t, text, &exact)
		testNumber[randflake.ID](t, text, nil)
		testNumber[randflake.TextID](t, text, nil)
		testNumber[randflake.Typed[order]](t, text, nil)
		testNumber[ulid.ID](t, text, nil)
	}
}

// testYAML has an ID, which is not zero, come back through fields with omitempty.
func testYAML[T comparable](t *testing.T, id T) {
	type row struct {
		ID    T  `yaml:"id,omitempty"`
		Maybe *T `yaml:"maybe,omitempty"`
		None  T  `yaml:"none,omitempty"`
	}
	var back row
	data, err := yaml.Marshal(row{ID: id, Maybe: &id})
	if err == nil {
		err = yaml.Unmarshal(data, &back)
	}
	if err != nil || back.ID != id || back.Maybe == nil || *back.Maybe != id || back.None != *new(T) {
		t.Errorf("the %T %v is %q, and that %v: %v", id, id, data, back, err)
	}
}

func TestYAML(t *testing.T) {
	for _, id := range known {
		testYAML(t, id)
		testYAML(t, randflake.TextID(id))
		testYAML(t, randflake.Typed[order](id))
		testYAML(t, snowflake.ID(id))
		testYAML(t, mask.Of[order](snowflake.ID(id)))
	}
	testYAML(t, ulid.ID{15: 32})
	testYAML(t, mask.OfUUID[document](ulid.ID{6: 0x70, 8: 0x80}))
}

// testBSON has an ID come back. If it can't be written, the error says what to do instead.
func testBSON[T comparable](t *testing.T, id T, written bool) {
	type row struct {
		ID   T  `bson:"_id"`
		None *T `bson:"none"`
	}
	var back row
	data, err := bson.Marshal(row{ID: id})
	if !written {
		if err == nil || !strings.Contains(err.Error(), "Inner") {
			t.Errorf("the %T %v is %x, %v", id, id, data, err)
		}
		return
	}
	if err == nil {
		err = bson.Unmarshal(data, &back)
	}
	if err != nil || back.ID != id || back.None != nil {
		t.Errorf("the %T %v is %x, and that %v: %v", id, id, data, back, err)
	}
}

func TestBSON(t *testing.T) {
	for _, id := range known {
		testBSON(t, id, true)
		testBSON(t, randflake.TextID(id), true)
		testBSON(t, randflake.Typed[order](id), true)
		testBSON(t, snowflake.ID(id)>>1, true)
	}
	testBSON(t, ulid.ID{15: 32}, true)
	testBSON(t, mask.Of[order](snowflake.ID(32)), false)
	testBSON(t, mask.OfUUID[document](ulid.ID{6: 0x70, 8: 0x80}), false)

	none, err := bson.Marshal(struct{ None *mask.ID[order, snowflake.ID] }{})
	if err != nil {
		t.Errorf("a pointer to no ID is %x, %v", none, err)
	}
}
