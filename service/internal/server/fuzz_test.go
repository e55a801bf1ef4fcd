package server

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// A form is one of the ways in which a message is sent.
type form struct {
	contentType string
	framed      bool // by gRPC's prefix of five bytes
	marshal     func(proto.Message) ([]byte, error)
}

var forms = []form{
	{"application/json", false, protojson.Marshal},
	{"application/proto", false, proto.Marshal},
	{"application/grpc+proto", true, proto.Marshal},
	{"application/grpc-web+proto", true, proto.Marshal},
	{"application/grpc-web+json", true, protojson.Marshal},
}

// hit sends a body to a procedure, as it is but for the frame.
func (w *testbed) hit(procedure string, f form, body []byte) *httptest.ResponseRecorder {
	if f.framed {
		body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	}
	return w.serve(http.MethodPost, "/randflake.v1."+procedure, f.contentType, body)
}

func (w *testbed) serve(method, target, contentType string, body []byte) *httptest.ResponseRecorder {
	r := &http.Request{Method: method, URL: &url.URL{}, Proto: "HTTP/2.0", ProtoMajor: 2, Host: "localhost:8080", Header: http.Header{}}
	if u, err := url.ParseRequestURI(target); err == nil {
		r.URL = u
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Te", "trailers")
	r.Body, r.ContentLength = http.NoBody, int64(len(body))
	if len(body) > 0 {
		r.Body = readCloser{bytes.NewReader(body)}
	}
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	return recorder
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// inner is what no answer may have: where data is, and how the program is made. The spaces of testbeds are in "memory".
var inner = []string{"in memory", "db-7", "goroutine", "panic", "runtime error", ".go:", "nil pointer", "nobody asked", "reflect"}

// wantSound checks that an answer is one that clients are to get: a success, or an error of a type of its own.
func (w *testbed) wantSound(t *testing.T, what string, a *httptest.ResponseRecorder) {
	t.Helper()
	text := fmt.Sprint(a.Body, a.Header(), a.Result().Trailer)
	for _, hidden := range append(inner, w.secret.Hex()) {
		if strings.Contains(text, hidden) && !strings.Contains(what, "/Fetch") {
			t.Errorf("%s: %d %.300s: shows %q", what, a.Code, text, hidden)
		}
	}
	var failed struct{ Code string }
	grpcStatus := a.Header().Get("Grpc-Status") + a.Result().Trailer.Get("Grpc-Status")
	switch json.Unmarshal(a.Body.Bytes(), &failed); {
	case slices.Contains([]string{"internal", "unknown", "unimplemented", "data_loss"}, failed.Code) || slices.Contains([]string{"2", "12", "13", "15"}, grpcStatus):
		t.Errorf("%s: %d %.300s: no error of clients", what, a.Code, text)
	case a.Code >= 500 && failed.Code != "unavailable" && failed.Code != "deadline_exceeded":
		t.Errorf("%s: %d %.300s: without a code", what, a.Code, text)
	}
}

// FuzzBytes: whatever bytes a procedure gets, in whichever form, it answers, and shows nothing of what is inside.
func FuzzBytes(f *testing.F) {
	for i := range procedures() {
		for k := range forms {
			f.Add(uint8(i), uint8(k), []byte([]string{`{"space":"none"}`, "\n\x04none", "\x0a\xff\xff\xff\xff\xff", `{"space":"none","counter":"orders","count":-1}`}[(i+k)%4]))
		}
	}
	all := procedures()
	f.Fuzz(func(t *testing.T, i, k uint8, body []byte) {
		w, procedure, form := newTestbed(t, spaces), all[int(i)%len(all)], forms[int(k)%len(forms)]
		w.wantSound(t, procedure+" as "+form.contentType, w.hit(procedure, form, body))
	})
}

// FuzzMessages: whatever the fields of a message hold, a procedure answers, and shows nothing of what is inside.
func FuzzMessages(f *testing.F) {
	for i := range procedures() {
		for k := range byte(10) {
			f.Add(uint8(i), k, bytes.Repeat([]byte{3 + 7*k, 11 * k, 255 - k, 1, 0}, 40))
		}
	}
	all := procedures()
	f.Fuzz(func(t *testing.T, i, k uint8, choices []byte) {
		w, procedure, form := newTestbed(t, spaces), all[int(i)%len(all)], forms[int(k)%len(forms)]
		message := dynamicpb.NewMessage(input(t, procedure))
		maker := &maker{choices}
		maker.fill(message)
		body, err := form.marshal(message)
		if err != nil {
			return // not UTF-8, which FuzzBytes sends
		}
		w.wantSound(t, fmt.Sprintf("%s as %s: %v", procedure, form.contentType, message), w.hit(procedure, form, body))
	})
}

// input returns what messages a procedure takes.
func input(t *testing.T, procedure string) protoreflect.MessageDescriptor {
	service, method, _ := strings.Cut(procedure, "/")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("randflake.v1." + service))
	if err != nil {
		t.Fatal(err)
	}
	return d.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(method)).Input()
}

// A maker fills messages as bytes say, with values that are more or less what they may be.
type maker struct{ choices []byte }

func (m *maker) next() int {
	if len(m.choices) == 0 {
		return 0
	}
	n := m.choices[0]
	m.choices = m.choices[1:]
	return int(n)
}

func (m *maker) fill(message protoreflect.Message) {
	fields := message.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		choice := m.next()
		if choice%4 == 0 { // left out, or as it is
			continue
		}
		switch {
		case field.IsList() || field.IsMap():
		case field.Kind() == protoreflect.MessageKind:
			m.fill(message.Mutable(field).Message())
		default:
			message.Set(field, m.value(field, choice))
		}
	}
}

func (m *maker) value(field protoreflect.FieldDescriptor, choice int) protoreflect.Value {
	numbers := []uint64{0, 1, 2, 60, 1000, 65536, 65537, 131071, 131072, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1, uint64(time.Now().Unix())}
	texts := []string{"", "mint", "given", "none", "sorted", "ulid", "orders", "few", "others", "*", "0123456789abcdef",
		strings.Repeat("0", 32), strings.Repeat("x", 300), "../meta", "1", "01JD0000000000000000000000", "\x00"}
	n := numbers[choice%len(numbers)]
	switch field.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(texts[choice%len(texts)])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(bytes.Repeat([]byte{byte(choice)}, choice%40))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(choice%2 == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(choice%5 - 1))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(n)
	case protoreflect.Int64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(n))
	}
	panic("no value for fields of kind " + field.Kind().String())
}
