package decoders

import (
	"strconv"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

type tagged[T any] struct {
	//lint:ignore SA5008 people leave the tag there
	ID T `json:"id,string"`
	//lint:ignore SA5008 people leave the tag there
	Empty T `json:"empty,string,omitempty"`
	//lint:ignore SA5008 people leave the tag there
	Zero  T  `json:"zero,string,omitzero"`
	Maybe *T `json:"maybe,string"`
}

// testTags has an ID come back through fields with ",string" in a tag: as it was, or else as an error.
func testTags[T comparable](t *testing.T, id T, errors bool) {
	for _, l := range jsons {
		var back tagged[T]
		data, err := l.write(tagged[T]{id, id, id, &id})
		require.Must(t, err == nil, "%s: the %T %v can't be written: %v", l.name, id, id, err)
		err = l.read(data, &back)
		asItWas := err == nil && back.ID == id && back.Empty == id && back.Zero == id && *back.Maybe == id
		require.That(t, asItWas || err != nil && errors, "%s: the %T %v is %s, and that %v, %v", l.name, id, id, data, back, err)
	}
}

func TestTags(t *testing.T) {
	for _, id := range known {
		testTags(t, id, true)
		testTags(t, randflake.TextID(id), true)
		testTags(t, randflake.Typed[order](id), true)
		testTags(t, snowflake.ID(id), false)
		testTags(t, mask.Of[order](snowflake.ID(id)), false)
	}
	testTags(t, ulid.ID{15: 32}, false)
	testTags(t, mask.OfUUID[document](inner), false)
}

// TestIntegers: a Snowflake ID is read from an integer, of up to 64 bits.
func TestIntegers(t *testing.T) {
	for _, number := range []uint64{0, 7, 12345, 1<<53 + 1, 175928847299117063, 1541815603606036480, 7102577116159582209, 1<<64 - 1} {
		for _, l := range jsons {
			var got record[snowflake.ID]
			data := `{"id": ` + strconv.FormatUint(number, 10) + `}`
			err := l.read([]byte(data), &got)
			require.That(t, err == nil && got.ID == snowflake.ID(number), "%s: %s is read as %v, %v", l.name, data, got.ID, err)
		}
	}
}
