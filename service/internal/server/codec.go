package server

import (
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	api "github.com/randflake/randflake/service/client/api/randflake/v1"
)

// A jsonCodec is connect's JSON codec, except that answers with IDs or numbers are written by a loop: reflection would
// take ten times as long for each.
type jsonCodec struct{}

func (jsonCodec) Name() string { return "json" }

func (c jsonCodec) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend is an optional method of connect's codecs that saves a copy.
func (jsonCodec) MarshalAppend(b []byte, message any) ([]byte, error) {
	switch m := message.(type) {
	case *api.MintResponse:
		if len(m.Ids) > 0 { // which have digits and letters alone
			return appendList(b, "ids", m.Ids, func(b []byte, id string) []byte { return append(b, id...) }), nil
		}
		return appendList(b, "numbers", m.Numbers, appendNumber), nil
	case *api.NextResponse:
		if m.Period == "" {
			return appendList(b, "numbers", m.Numbers, appendNumber), nil
		}
		return protojson.MarshalOptions{}.MarshalAppend(b, m)
	case proto.Message:
		return protojson.MarshalOptions{}.MarshalAppend(b, m)
	}
	return nil, fmt.Errorf("%T is no message", message)
}

func appendNumber(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

// appendList appends an object with a list of strings.
func appendList[T any](b []byte, name string, list []T, appendItem func([]byte, T) []byte) []byte {
	b = append(b, `{"`+name+`":[`...)
	for i, item := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendItem(append(b, '"'), item), '"')
	}
	return append(b, "]}"...)
}

// Unmarshal ignores unknown fields, as connect does, so that clients may be newer.
func (jsonCodec) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", message)
	}
	if len(data) == 0 {
		return errors.New("there is no body: want a JSON object")
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, m)
}
