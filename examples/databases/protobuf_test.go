package databases

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/randflake/randflake"
)

// TestProtoJSONTrap: protojson writes an int64 in quotes, where an ID has its text form and not the decimal one.
func TestProtoJSONTrap(t *testing.T) {
	const anError, anotherID = "an error", "another ID"
	for value, want := range map[int64]string{12345: anotherID, 999999999999: anotherID, -1: anError, math.MinInt64: anError, math.MaxInt64: anError} {
		msg := wrapperspb.Int64(value) // as any message with such a field
		shown, err := protojson.Marshal(msg)
		must(t, err)
		var id randflake.ID
		got := anotherID
		switch err := json.Unmarshal(shown, &id); {
		case errors.Is(err, randflake.ErrInvalidID):
			got = anError
		case err != nil || id == randflake.ID(value):
			got = fmt.Sprint(int64(id), err)
		}
		if got != want {
			t.Errorf("%s reads as %s, want %s", shown, got, want)
		}
		var back wrapperspb.Int64Value
		if err := protojson.Unmarshal(shown, &back); err != nil || randflake.ID(back.GetValue()) != randflake.ID(value) {
			t.Errorf("%s came back as %v: %v", shown, back.GetValue(), err)
		}
	}
}

// TestProtoField: the message of order.proto carries IDs as it says, in both forms of protobuf.
func TestProtoField(t *testing.T) {
	files, err := (&protocompile.Compiler{Resolver: &protocompile.SourceResolver{}}).Compile(t.Context(), "order.proto")
	must(t, err)
	order := files[0].Messages().ByName("Order")
	number, text := order.Fields().ByName("id"), order.Fields().ByName("shown")
	for _, id := range append(randomIDs(100), ids...) {
		msg := dynamicpb.NewMessage(order)
		msg.Set(number, protoreflect.ValueOfInt64(int64(id)))
		wire, err := proto.Marshal(msg)
		must(t, err)
		if len(wire) != 1+8 && id != 0 {
			t.Errorf("%v takes %d bytes, its tag included", id, len(wire))
		}
		msg.Set(text, protoreflect.ValueOfString(id.String()))
		shown, err := protojson.Marshal(msg)
		must(t, err)
		back := dynamicpb.NewMessage(order)
		must(t, protojson.Unmarshal(shown, back))
		if got := randflake.ID(back.Get(number).Int()); got != id {
			t.Errorf("%s came back as %v", shown, got)
		}
		if got, err := randflake.Parse(back.Get(text).String()); err != nil || got != id {
			t.Errorf("%s came back as %v: %v", shown, got, err)
		}
	}
}

// TestVarints: an ID as an int64 takes nine and a half bytes.
func TestVarints(t *testing.T) {
	sum := 0
	for range 1000 {
		id, err := generator.Generate()
		must(t, err)
		sum += protowire.SizeVarint(uint64(id))
	}
	if sum < 9_300 || sum > 9_700 {
		t.Errorf("%d bytes for 1,000 IDs", sum)
	}
}
