package decoders

import (
	"encoding"
	"fmt"
	"reflect"
	"testing"

	"github.com/go-viper/mapstructure/v2"
	"github.com/google/uuid"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
)

// textsOnly reads what has a text from a text, and from nothing else: mapstructure's own hook leaves
// numbers to it, which it takes for IDs and for inner values.
func textsOnly(from, to reflect.Type, data any) (any, error) {
	target := reflect.New(to).Interface()
	reader, readsText := target.(encoding.TextUnmarshaler)
	if !readsText || from == to {
		return data, nil
	}
	text, isText := data.(string)
	if !isText {
		return nil, fmt.Errorf("%v for %v: want a text", from, to)
	}
	return target, reader.UnmarshalText([]byte(text))
}

func decodeMap(from, to any, hook mapstructure.DecodeHookFunc) error {
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{Result: to, DecodeHook: hook})
	if err != nil {
		return err
	}
	return decoder.Decode(from)
}

// TestTextsOnly: a map has numbers too, which are no IDs.
func TestTextsOnly(t *testing.T) {
	testTextsOnly[randflake.ID](t, 5)
	testTextsOnly[orderID](t, 5.0)
	testTextsOnly[documentID](t, []any{0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 0})
	testTextsOnly[documentID](t, uuid.UUID{6: 0x70, 8: 0x80})
}

func testTextsOnly[T comparable](t *testing.T, inner any) {
	var without, with request[T]
	record := map[string]any{"id": inner}
	err := decodeMap(record, &without, mapstructure.TextUnmarshallerHookFunc())
	require.That(t, err == nil && without.ID != *new(T), "%v is the %T %v, %v: what is textsOnly for?", inner, without.ID, without.ID, err)
	err = decodeMap(record, &with, textsOnly)
	require.That(t, err != nil, "%v is read as the %T %v", inner, with.ID, with.ID)
}
