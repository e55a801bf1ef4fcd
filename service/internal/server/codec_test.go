package server

import (
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	api "github.com/randflake/randflake/service/client/api/randflake/v1"
)

// TestCodec: protobuf's own JSON reads what is written, and what it writes is read.
func TestCodec(t *testing.T) {
	for _, m := range []proto.Message{
		&api.MintResponse{}, &api.MintResponse{Ids: []string{"3vgoe12ccb8gh"}}, &api.MintResponse{Ids: []string{"0", "1", "zz"}},
		&api.MintResponse{Numbers: []int64{math.MinInt64, -1, 0, math.MaxInt64}}, &api.NextResponse{}, &api.NextResponse{Numbers: []int64{7}},
		&api.MintRequest{Space: "a\"b", Count: 3}, &api.GetResponse{Counter: &api.Counter{Next: math.MaxInt64}},
	} {
		before := "before"
		written, err := jsonCodec{}.MarshalAppend([]byte(before), m)
		if err != nil || string(written[:len(before)]) != before {
			t.Fatalf("%v: wrote %q, error %v", m, written, err)
		}
		read := m.ProtoReflect().New().Interface()
		if err := protojson.Unmarshal(written[len(before):], read); err != nil || !proto.Equal(read, m) {
			t.Errorf("%v: %s is read as %v, error %v", m, written[len(before):], read, err)
		}
		read = m.ProtoReflect().New().Interface()
		if err := (jsonCodec{}).Unmarshal(written[len(before):], read); err != nil || !proto.Equal(read, m) {
			t.Errorf("%v: %s is read as %v by the codec, error %v", m, written[len(before):], read, err)
		}
	}
	if err := (jsonCodec{}).Unmarshal([]byte(`{"space":"a","newer":1}`), new(api.MintRequest)); err != nil {
		t.Errorf("a newer client: %v", err)
	}
	if _, err := (jsonCodec{}).Marshal(7); err == nil || (jsonCodec{}).Unmarshal([]byte("{}"), new(int)) == nil {
		t.Error("a number is taken for a message")
	}
	if (jsonCodec{}).Unmarshal([]byte(`{"space":7}`), new(api.MintRequest)) == nil {
		t.Error("a number is taken for a name")
	}
	if (jsonCodec{}).Unmarshal(nil, new(api.MintRequest)) == nil {
		t.Error("no body is taken for a message")
	}
}
